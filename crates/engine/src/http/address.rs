//! The addresses that may be dialled.
//!
//! A list of bad networks is never complete, so IPv6 is turned around: only what lies in the
//! global range may be public at all. IPv6 can also carry an IPv4 address inside, and a gateway
//! on the way would deliver to that one, so it is looked at as well.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use steadfast_core::Invalid;

/// Whether addresses that only this machine or its network can reach may be dialled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressPolicy {
    /// Only what anyone on the internet could reach, too.
    #[default]
    Public,
    /// Everything, for when every caller that can create jobs is trusted.
    Any,
}

impl FromStr for AddressPolicy {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "public" => Ok(Self::Public),
            "any" => Ok(Self::Any),
            _ => Err(Invalid::new(
                "outbound",
                format!("{text:?}"),
                "must be public or any",
            )),
        }
    }
}

impl fmt::Display for AddressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Any => "any",
        })
    }
}

/// A policy, and the networks that are allowed beyond it.
#[derive(Clone, Debug, Default)]
pub struct OutboundRules {
    policy: AddressPolicy,
    allow: Vec<IpNet>,
}

/// An address that may not be dialled, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is not allowed: it is {class}")]
#[non_exhaustive]
pub struct BlockedAddress {
    /// The address.
    pub address: IpAddr,
    /// The network of the address, such as "a private network".
    pub class: &'static str,
}

impl OutboundRules {
    /// A policy without exceptions.
    pub fn new(policy: AddressPolicy) -> Self {
        Self {
            policy,
            allow: Vec::new(),
        }
    }

    /// The policy.
    pub fn policy(&self) -> AddressPolicy {
        self.policy
    }

    /// Allows one network, as `10.1.0.0/16`, or one address.
    pub fn allow(mut self, network: &str) -> Result<Self, Invalid> {
        self.allow.push(parse_network(network)?);
        Ok(self)
    }

    /// Whether this address may be dialled.
    pub fn check(&self, address: IpAddr) -> Result<(), BlockedAddress> {
        // `::ffff:10.0.0.1` is another way to write 10.0.0.1: the kernel dials the same.
        let real = address.to_canonical();
        if self.policy == AddressPolicy::Any || self.allow.iter().any(|net| net.contains(&real)) {
            return Ok(());
        }
        let class = match real {
            IpAddr::V4(v4) => class_of_v4(v4),
            IpAddr::V6(v6) => class_of_v6(v6),
        };
        class.map_or(Ok(()), |class| Err(BlockedAddress { address, class }))
    }
}

fn parse_network(text: &str) -> Result<IpNet, Invalid> {
    let invalid = |expected: &str| Invalid::new("allow", format!("{text:?}"), expected);
    let form = "must be a network such as 10.1.0.0/16 or fd12::/48, or a single address";
    let Some((address, length)) = text.split_once('/') else {
        return text
            .parse::<IpAddr>()
            .map(|address| address.to_canonical().into())
            .map_err(|_| invalid(form));
    };
    let address: IpAddr = address.parse().map_err(|_| invalid(form))?;
    let length: u8 = length.parse().map_err(|_| invalid(form))?;
    let network = IpNet::new(address, length)
        .map_err(|_| invalid("must have a prefix of at most 32 bits, or 128 for IPv6"))?;
    if network.network() != address {
        // Half of such mistakes are a wrong length, and would open more than was meant.
        let expected = format!(
            "must have no bits set beyond its prefix; did you mean {}?",
            network.trunc()
        );
        return Err(invalid(&expected));
    }
    Ok(canonical(network))
}

/// Addresses are looked at in their shortest form, so networks must have it, too.
fn canonical(network: IpNet) -> IpNet {
    let mapped = |v6: Ipv6Net| {
        let address = v6.addr().to_ipv4_mapped()?;
        Ipv4Net::new(address, v6.prefix_len().checked_sub(96)?).ok()
    };
    match network {
        IpNet::V6(v6) => mapped(v6).map_or(network, IpNet::V4),
        IpNet::V4(_) => network,
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(first: u16, second: u16, third: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, third, 0, 0, 0, 0, 0), length)
}

/// The special networks of IPv4; the first that matches gives its name.
const SPECIAL_V4: &[(Ipv4Net, &str)] = &[
    (v4(0, 0, 0, 0, 8), "this host"),
    (v4(10, 0, 0, 0, 8), "a private network"),
    (v4(100, 64, 0, 0, 10), "carrier-grade NAT"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    // Within Azure this address serves the secrets of the machine.
    (v4(168, 63, 129, 16, 32), "cloud metadata"),
    (v4(169, 254, 0, 0, 16), "link-local (cloud metadata)"),
    (v4(172, 16, 0, 0, 12), "a private network"),
    (v4(192, 0, 0, 0, 24), "reserved for protocols"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 88, 99, 0, 24), "a 6to4 relay"),
    (v4(192, 168, 0, 0, 16), "a private network"),
    (v4(198, 18, 0, 0, 15), "a benchmarking network"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(255, 255, 255, 255, 32), "broadcast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

/// Names for what is not global, and what is special within the global range.
const SPECIAL_V6: &[(Ipv6Net, &str)] = &[
    (Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128), "this host"),
    (Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128), "loopback"),
    (v6(0x64, 0xff9b, 1, 48), "a translation network"),
    (v6(0x100, 0, 0, 64), "discarded"),
    (v6(0x2001, 0xdb8, 0, 32), "documentation"),
    (v6(0x2001, 0, 0, 23), "reserved for protocols"),
    (v6(0x2002, 0, 0, 16), "a 6to4 tunnel"),
    (v6(0x3fff, 0, 0, 20), "documentation"),
    (v6(0x5f00, 0, 0, 16), "segment routing"),
    (v6(0xfc00, 0, 0, 7), "a private network"),
    (v6(0xfe80, 0, 0, 10), "link-local"),
    (v6(0xfec0, 0, 0, 10), "a private network"),
    (v6(0xff00, 0, 0, 8), "multicast"),
];

/// Addresses of single hosts on the internet.
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

fn class_of_v4(address: Ipv4Addr) -> Option<&'static str> {
    let special = SPECIAL_V4.iter().find(|(net, _)| net.contains(&address));
    special.map(|(_, class)| *class)
}

fn class_of_v6(address: Ipv6Addr) -> Option<&'static str> {
    let inside = embedded_v4(address);
    if let Some(class) = inside.and_then(|(v4, _)| class_of_v4(v4)) {
        return Some(class);
    }
    // Behind NAT64 a public IPv4 host has only this address, so it must stay reachable.
    if let Some((_, Carrier::Nat64)) = inside {
        return None;
    }
    let special = SPECIAL_V6.iter().find(|(net, _)| net.contains(&address));
    match special {
        Some((_, class)) => Some(*class),
        None if GLOBAL_V6.contains(&address) => None,
        None => Some("reserved"),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Carrier {
    Nat64,
    /// Deprecated tunnels.
    Tunnel,
}

/// The IPv4 address that an IPv6 address carries, if it is of a form that does.
fn embedded_v4(address: Ipv6Addr) -> Option<(Ipv4Addr, Carrier)> {
    let octets = address.octets();
    let at = |index: usize| {
        Ipv4Addr::new(
            octets[index],
            octets[index + 1],
            octets[index + 2],
            octets[index + 3],
        )
    };
    match address.segments() {
        // `::` and `::1` are themselves, and not the IPv4 addresses 0.0.0.0 and 0.0.0.1.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // IPv4-compatible, and translated by SIIT.
        [0, 0, 0, 0, 0, 0, _, _] | [0, 0, 0, 0, 0xffff, 0, _, _] => Some((at(12), Carrier::Tunnel)),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some((at(12), Carrier::Nat64)),
        [0x2002, ..] => Some((at(2), Carrier::Tunnel)),
        // Teredo hides the client's address by turning every bit around.
        [0x2001, 0, ..] => Some((Ipv4Addr::from_bits(!at(12).to_bits()), Carrier::Tunnel)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
