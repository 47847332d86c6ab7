//! Small texts from other people: keys for signing, `Retry-After`, quotas, URLs, networks, times.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use steadfast_core::{
    FailureClass, RequestedWait, TargetQuota, Timestamp, limits::RETRY_AFTER_MAX,
};
use steadfast_engine::http::{AddressPolicy, HttpRequest, OutboundRules, SigningKey};

pub fn check(input: &[u8]) -> bool {
    addresses(input);
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let class = FailureClass::named(text);
    assert_eq!(FailureClass::named(class.as_str()), class, "{text:?}");
    [
        secret(text),
        retry_after(text),
        url(text),
        network(text),
        time(text),
    ]
    .contains(&true)
}

fn secret(text: &str) -> bool {
    let Ok(key) = text.parse::<SigningKey>() else {
        return false;
    };
    assert_eq!(key.reveal(), text, "another text is taken for the same key");
    assert!(!format!("{key:?}").contains(&text[10..]));
    true
}

fn retry_after(text: &str) -> bool {
    let now = Timestamp::from_millis(1_767_225_600_000);
    let wait = |header: &'static str| {
        RequestedWait::read(429, &|name| (name == header).then(|| text.to_owned()), now)
    };
    const COUNTER: [&str; 3] = ["ratelimit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    let counter = |name: &str| COUNTER.contains(&name).then(|| text.to_owned());
    if let Some(quota) = TargetQuota::read(&counter, now) {
        assert!(quota.resets_in <= RETRY_AFTER_MAX);
    }
    wait("retry-after").is_some_and(|wait| {
        // A header may ask for anything, but the time never wraps around into the past.
        assert!(now.plus(wait.delay) >= now);
        true
    })
}

fn url(text: &str) -> bool {
    let Ok(request) = HttpRequest::new(text) else {
        return false;
    };
    assert!(request.url() == text && text.is_ascii() && !text.contains(['\n', '\r', ' ']));
    let json = serde_json::to_string(&request).unwrap_or_default();
    let again = serde_json::from_str::<HttpRequest>(&json);
    assert_eq!(again.ok(), Some(request), "{json}");
    true
}

/// What is opened is open.
fn network(text: &str) -> bool {
    let Ok(rules) = OutboundRules::new(AddressPolicy::Public).allow(text) else {
        return false;
    };
    let address = text.split('/').next().unwrap_or_default();
    let Ok(address) = address.parse::<IpAddr>() else {
        panic!("{text:?} is opened and has no address");
    };
    assert_eq!(rules.check(address), Ok(()), "{text:?} is opened and shut");
    true
}

fn time(text: &str) -> bool {
    let Ok(time) = text.parse::<Timestamp>() else {
        return false;
    };
    let written = time.to_string();
    assert_eq!(written.parse::<Timestamp>().ok(), Some(time), "{text:?}");
    true
}

/// An address that may not be dialled may not be dialled in any of its disguises either.
fn addresses(input: &[u8]) {
    let rules = OutboundRules::new(AddressPolicy::Public);
    if let Some(bytes) = input.first_chunk::<16>() {
        let v6 = Ipv6Addr::from(*bytes);
        let is_open = rules.check(IpAddr::V6(v6)).is_ok();
        let canonical = rules.check(v6.to_canonical()).is_ok();
        assert_eq!(is_open, canonical, "{v6}");
        assert!(!is_open || !(v6.is_loopback() || v6.is_multicast() || v6.is_unique_local()));
    }
    let Some(bytes) = input.first_chunk::<4>() else {
        return;
    };
    let v4 = Ipv4Addr::from(*bytes);
    let is_open = rules.check(IpAddr::V4(v4)).is_ok();
    let local = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_multicast();
    assert!(!is_open || !local, "{v4}");
    let [a, b, c, d] = *bytes;
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    let mapped = v4.to_ipv6_mapped();
    assert_eq!(rules.check(IpAddr::V6(mapped)).is_ok(), is_open, "{mapped}");
    for disguise in [
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, !high, !low),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
    ] {
        let is_dialled = rules.check(IpAddr::V6(disguise)).is_ok();
        assert!(!is_dialled || is_open, "{disguise} is {v4} in disguise");
    }
}
