//! Where a job's work goes.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{invalid::Invalid, payload::Payload};
use crate::limits;

/// The system that a job calls, as an origin: `https://api.example.com`.
///
/// Two spellings of one origin are one destination: case does not count, and the usual port of
/// `http` and `https` is left out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Destination(Arc<str>);

impl Destination {
    /// Refuses what is not a scheme, a host and perhaps a port.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let refuse = || {
            let most = limits::DESTINATION_BYTES_MAX;
            let expected = format!(
                "must be an origin of at most {most} bytes, such as https://api.example.com, without a path"
            );
            Invalid::new("destination", format!("{text:?}"), expected)
        };
        if text.len() > limits::DESTINATION_BYTES_MAX {
            return Err(refuse());
        }
        let (scheme, rest) = text.split_once("://").ok_or_else(refuse)?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        Self::from_parts(scheme, authority).ok_or_else(refuse)
    }

    /// The origin of an address, whatever follows it; `None` if it has none.
    pub fn of_url(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let authority = rest.get(..end)?;
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        Self::from_parts(scheme, host)
    }

    /// Where an HTTP job with this payload calls; `None` if its address has no origin.
    pub fn of_call(payload: &Payload) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Address {
            url: String,
        }
        let Address { url } = payload.decode().ok()?;
        Self::of_url(&url)
    }

    fn from_parts(scheme: &str, authority: &str) -> Option<Self> {
        let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_lowercase());
        let (host, port) = split_port(&authority)?;
        let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        if !is_scheme || !is_host(host) {
            return None;
        }
        let usual = match scheme.as_str() {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        let text = match port {
            Some(port) if Some(port) != usual => format!("{scheme}://{host}:{port}"),
            _ => format!("{scheme}://{host}"),
        };
        (text.len() <= limits::DESTINATION_BYTES_MAX).then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_brackets = authority.rfind(']').map_or(0, |end| end + 1);
    match authority.get(after_brackets..)?.rfind(':') {
        None => Some((authority, None)),
        Some(colon) => {
            let (host, port) = authority.split_at(after_brackets + colon);
            Some((host, Some(port.get(1..)?.parse().ok()?)))
        }
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return address.parse::<std::net::Ipv6Addr>().is_ok();
    }
    !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_alphanumeric() || "-._~%".contains(c))
}

impl FromStr for Destination {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::new(text)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for Destination {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::new(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_origin_are_one_destination() {
        for url in [
            "https://api.example.com",
            "HTTPS://API.example.com:443/",
            "https://user:pw@api.example.com/orders?x=1#y",
            "https://api.example.com?x",
        ] {
            let destination = Destination::of_url(url).unwrap();
            assert_eq!(destination.as_str(), "https://api.example.com", "{url}");
        }
        let local = Destination::of_url("http://127.0.0.1:8080/a").unwrap();
        assert_eq!(local.as_str(), "http://127.0.0.1:8080");
        let six = Destination::of_url("http://[::1]:80/a").unwrap();
        assert_eq!(six.as_str(), "http://[::1]");
    }

    #[test]
    fn what_is_not_an_origin_is_refused() {
        for text in [
            "",
            "api.example.com",
            "https://",
            "https://api.example.com/orders",
            "https://user@api.example.com",
            "https://api.example.com:x",
            "https://a b",
            "://a",
            "https://[::1",
        ] {
            let error = Destination::new(text).unwrap_err();
            assert_eq!(error.field, "destination", "{text}");
        }
        assert!(Destination::new("smtp://mail.example.com:25").is_ok());
        assert!(Destination::new(&format!("https://{}", "a".repeat(300))).is_err());
    }
}
