//! Addresses, as a table.

use super::*;

const BLOCKED: &[(&str, &str)] = &[
    ("0.0.0.0", "this host"),
    ("0.1.2.3", "this host"),
    ("10.0.0.1", "a private network"),
    ("10.255.255.255", "a private network"),
    ("100.64.0.1", "carrier-grade NAT"),
    ("100.127.255.255", "carrier-grade NAT"),
    ("100.100.100.200", "carrier-grade NAT"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.255", "loopback"),
    ("168.63.129.16", "cloud metadata"),
    ("169.254.169.254", "link-local (cloud metadata)"),
    ("172.16.0.1", "a private network"),
    ("172.31.255.255", "a private network"),
    ("192.0.0.192", "reserved for protocols"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "a 6to4 relay"),
    ("192.168.1.1", "a private network"),
    ("198.18.0.1", "a benchmarking network"),
    ("198.19.255.255", "a benchmarking network"),
    ("198.51.100.1", "documentation"),
    ("203.0.113.1", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("::", "this host"),
    ("::1", "loopback"),
    ("fe80::1", "link-local"),
    ("fec0::1", "a private network"),
    ("fc00::1", "a private network"),
    ("fd00:ec2::254", "a private network"),
    ("ff02::1", "multicast"),
    ("2001:db8::1", "documentation"),
    ("3fff::1", "documentation"),
    ("100::1", "discarded"),
    ("5f00::1", "segment routing"),
    ("2001:20::1", "reserved for protocols"),
    ("4000::1", "reserved"),
    ("64:ff9b:1::a00:1", "a translation network"),
    // Disguises: the class is that of the address inside.
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:169.254.169.254", "link-local (cloud metadata)"),
    ("::127.0.0.1", "loopback"),
    ("::10.0.0.1", "a private network"),
    ("::ffff:0:192.168.0.1", "a private network"),
    ("64:ff9b::10.0.0.1", "a private network"),
    ("64:ff9b::169.254.169.254", "link-local (cloud metadata)"),
    ("2002:7f00:1::", "loopback"),
    ("2002:a9fe:a9fe::1", "link-local (cloud metadata)"),
    // Teredo of 127.0.0.1 and of a public client.
    ("2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"),
    (
        "2001:0:4136:e378:8000:63bf:f7f7:f7f7",
        "reserved for protocols",
    ),
    ("2002:808:808::1", "a 6to4 tunnel"),
    ("::8.8.8.8", "reserved"),
];

const OPEN: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "168.63.129.17",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
];

#[test]
fn addresses_that_are_not_public_are_blocked_by_class() {
    let rules = OutboundRules::default();
    for (text, class) in BLOCKED {
        let address = text.parse().unwrap();
        let expected = Err(BlockedAddress { address, class });
        assert_eq!(rules.check(address), expected, "{text}");
    }
}

#[test]
fn public_addresses_are_open() {
    let rules = OutboundRules::default();
    for text in OPEN {
        assert_eq!(rules.check(text.parse().unwrap()), Ok(()), "{text}");
    }
}

#[test]
fn any_opens_everything() {
    let rules = OutboundRules::new(AddressPolicy::Any);
    for (text, _) in BLOCKED {
        assert_eq!(rules.check(text.parse().unwrap()), Ok(()), "{text}");
    }
}

#[test]
fn an_ipv4_network_in_the_clothes_of_ipv6_opens_the_same_addresses() {
    let rules = OutboundRules::new(AddressPolicy::Public);
    let rules = rules.allow("::ffff:10.1.0.0/112").unwrap();
    for (address, is_open) in [
        ("10.1.2.3", true),
        ("::ffff:10.1.2.3", true),
        ("10.2.0.0", false),
        ("::ffff:10.2.0.0", false),
    ] {
        let checked = rules.check(address.parse().unwrap());
        assert_eq!(checked.is_ok(), is_open, "{address}");
    }
}

#[test]
fn an_allowed_network_opens_itself_and_nothing_else() {
    let rules = OutboundRules::default();
    let rules = rules.allow("10.1.0.0/16").unwrap().allow("::1").unwrap();
    let open = |text: &str| rules.check(text.parse().unwrap()).is_ok();
    assert!(open("10.1.2.3") && open("::ffff:10.1.2.3") && open("::1"));
    assert!(!open("10.2.0.1") && !open("127.0.0.1") && !open("::2"));
    // The same address behind a gateway is another place.
    assert!(!open("64:ff9b::10.1.2.3") && !open("2002:a01:203::"));
}

#[test]
fn an_implausible_network_is_refused_with_a_suggestion() {
    let refused = |text: &str| OutboundRules::default().allow(text).unwrap_err();
    for text in ["", "10.0.0.0/", "10.0.0.0/x", "example.com", "10.0.0/8"] {
        let error = refused(text);
        assert!(error.expected.contains("such as 10.1.0.0/16"), "{error}");
    }
    let error = refused("10.0.0.0/33");
    assert!(error.expected.contains("at most 32 bits"), "{error}");
    let error = refused("10.1.2.3/8");
    assert!(
        error.expected.contains("did you mean 10.0.0.0/8?"),
        "{error}"
    );
}

#[test]
fn a_refusal_says_which_address_and_why() {
    let rules = OutboundRules::default();
    let blocked = rules.check("169.254.169.254".parse().unwrap()).unwrap_err();
    assert_eq!(
        blocked.to_string(),
        "169.254.169.254 is not allowed: it is link-local (cloud metadata)"
    );
}
