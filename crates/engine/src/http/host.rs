//! The host of a URL: a name, or an address in one of its many spellings.
//!
//! `2130706433`, `0x7f.1` and `0177.0.0.1` are all 127.0.0.1 to the system's resolver. They are
//! read here, so that an address never goes where names go.

use std::net::{IpAddr, Ipv4Addr};

/// The host of a URL.
#[derive(Debug, PartialEq, Eq)]
pub enum Host<'a> {
    Address(IpAddr),
    Name(&'a str),
    /// It ends like an address and is none, as `1.2.3.400`: no name does that.
    Neither,
}

impl<'a> Host<'a> {
    pub fn read(text: &'a str) -> Self {
        if let Some(rest) = text.strip_prefix('[') {
            let inside = rest.strip_suffix(']').and_then(|v6| v6.parse().ok());
            return inside.map_or(Self::Neither, |v6| Self::Address(IpAddr::V6(v6)));
        }
        let bare = text.strip_suffix('.').unwrap_or(text);
        if bare.is_empty() {
            return Self::Neither;
        }
        let last = bare.rsplit('.').next().unwrap_or(bare);
        if !last.bytes().all(|byte| byte.is_ascii_digit()) && number(last).is_none() {
            return Self::Name(text);
        }
        spelled_v4(bare).map_or(Self::Neither, |v4| Self::Address(IpAddr::V4(v4)))
    }
}

/// One to four numbers; the last one fills all the bytes that are left.
fn spelled_v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let bits_left = 32 - 8 * first.len();
    if u64::from(*last) >> bits_left != 0 {
        return None;
    }
    let head = first
        .iter()
        .zip([24, 16, 8])
        .fold(0, |bits, (part, shift)| bits | part << shift);
    Some(Ipv4Addr::from_bits(head | last))
}

/// Decimal, octal after `0`, hexadecimal after `0x`.
fn number(text: &str) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = match (lower.strip_prefix("0x"), lower.strip_prefix('0')) {
        (Some(""), _) | (None, Some("")) => return Some(0),
        (Some(hex), _) => (hex, 16),
        (None, Some(octal)) => (octal, 8),
        (None, None) => (lower.as_str(), 10),
    };
    // A sign is not a digit, though `from_str_radix` takes one.
    let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_is_read_as_one() {
        for (text, expected) in [
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("127.0.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0X7F.1", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("0x7f.0.0x0.01", "127.0.0.1"),
            ("0", "0.0.0.0"),
            ("0x", "0.0.0.0"),
            ("169.254.43518", "169.254.169.254"),
            ("[::1]", "::1"),
            ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
            ("[0:0:0:0:0:0:0:1]", "::1"),
        ] {
            let expected = Host::Address(expected.parse().unwrap());
            assert_eq!(Host::read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_name_is_a_name() {
        for text in [
            "example.com",
            "example.com.",
            "localhost",
            "1.example.com",
            "0x7f.com",
            "127.0.0.1.nip.io",
            "a-1",
            "3com",
        ] {
            assert_eq!(Host::read(text), Host::Name(text));
        }
    }

    #[test]
    fn what_ends_like_an_address_must_be_one() {
        for text in [
            "256.0.0.1",
            "1.2.3.4.5",
            "4294967296",
            "1.2.3.256",
            "08",
            "a.1",
            "1..2",
            "",
            ".",
            "[::1",
            "[fe80::1%eth0]",
            "[127.0.0.1]",
        ] {
            assert_eq!(Host::read(text), Host::Neither, "{text}");
        }
    }
}
