//! Nothing leaves for an address that is not allowed, however it is written.

use std::{io, net::IpAddr, process::Command, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{Failure, FailureClass};
use steadfast_engine::http::{Outbound, OutboundRules, Resolver, SystemResolver};

use crate::{
    common::{DEADLINE, FakeResolver, any_address, call, post},
    target::{Target, ok},
};

fn public() -> Outbound {
    Outbound::builder(OutboundRules::default()).build().unwrap()
}

/// The test's own server stands for a public one.
fn local_is_public(resolver: &Arc<FakeResolver>) -> Outbound {
    let rules = OutboundRules::default().allow("127.0.0.1").unwrap();
    Outbound::builder(rules)
        .resolver(resolver.clone())
        .build()
        .unwrap()
}

fn assert_blocked(failure: &Failure, address: &str) {
    assert_eq!(failure.class, FailureClass::BLOCKED, "{failure}");
    assert!(failure.message.contains(address), "{failure}");
}

#[tokio::test]
async fn every_spelling_of_an_address_is_blocked() {
    let target = Target::start(|_| ok("")).await;
    let port = target.address.port();
    for (host, address) in [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("0.0.0.0", "0.0.0.0"),
        ("[::]", "::"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
        ("[::127.0.0.1]", "::127.0.0.1"),
        ("[64:ff9b::127.0.0.1]", "64:ff9b::7f00:1"),
        ("[2002:7f00:1::]", "2002:7f00:1::"),
        ("169.254.169.254", "169.254.169.254"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("10.0.0.1", "10.0.0.1"),
        ("localhost", "its address is not public"),
        ("LOCALHOST", "its address is not public"),
    ] {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}/");
            assert_blocked(&call(&public(), &url).await.unwrap_err(), address);
        }
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_name_that_leads_inside_is_blocked() {
    let target = Target::start(|_| ok("")).await;
    let url = format!("http://inside.example:{}/", target.address.port());
    for address in ["10.0.0.1", "::ffff:127.0.0.2", "64:ff9b::a00:1", "fe80::1"] {
        let resolver = FakeResolver::new(&[&[address]]);
        let outbound = local_is_public(&resolver);
        let failure = call(&outbound, &url).await.unwrap_err();
        assert_blocked(&failure, "inside.example");
        let told = failure.message.contains(address);
        assert!(!told, "the caller learns where the name leads: {failure}");
        let way_out = "the operator can allow a network with outbound.allow (--outbound-allow)";
        assert!(failure.message.ends_with(way_out), "{failure}");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn one_bad_address_among_good_ones_refuses_the_name() {
    let target = Target::start(|_| ok("")).await;
    let url = format!("http://mixed.example:{}/", target.address.port());
    for addresses in [["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"]] {
        let outbound = local_is_public(&FakeResolver::new(&[&addresses]));
        assert_blocked(&call(&outbound, &url).await.unwrap_err(), "mixed.example");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn the_checked_address_is_the_one_dialled() {
    let target = Target::start(|_| ok("")).await;
    let url = format!("http://rebound.example:{}/", target.address.port());
    let resolver = FakeResolver::new(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let outbound = local_is_public(&resolver);
    let response = outbound.call(post(&url), DEADLINE, true).await.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(
        resolver.lookups(),
        1,
        "a second lookup could give another address"
    );

    let failure = outbound.call(post(&url), DEADLINE, true).await.unwrap_err();
    assert_blocked(&failure, "rebound.example");
    assert_eq!(target.connections(), 1);
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let target = Target::start(|_| ok("")).await;
    let url = format!("http://two.example:{}/", target.address.port());
    // No server listens on the port of the target at the first address.
    let rules = OutboundRules::default().allow("127.0.0.0/8").unwrap();
    let resolver = FakeResolver::new(&[&["127.0.0.77", "127.0.0.1"]]);
    let outbound = Outbound::builder(rules).resolver(resolver).build().unwrap();
    assert_eq!(call(&outbound, &url).await.unwrap().status, 200);
}

struct FailingResolver;

#[async_trait]
impl Resolver for FailingResolver {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::Error::other("no such name"))
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_a_failure_of_dns() {
    let nothing = local_is_public(&FakeResolver::new(&[&[]]));
    let failure = call(&nothing, "http://empty.example/").await.unwrap_err();
    assert_eq!(failure.class, FailureClass::DNS);
    assert_eq!(failure.message, "empty.example has no address");

    let lost = Outbound::builder(OutboundRules::default()).resolver(Arc::new(FailingResolver));
    let failure = call(&lost.build().unwrap(), "http://lost.example/").await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.class, FailureClass::DNS);
    assert_eq!(failure.message, "cannot resolve lost.example: no such name");
}

#[tokio::test]
async fn a_lookup_without_end_takes_no_longer_than_the_call_may() {
    // The thread ends when the test does; nothing waits for it.
    let (_up, down) = std::sync::mpsc::channel::<()>();
    let down = std::sync::Mutex::new(down);
    let resolver = SystemResolver::new(move |_| {
        let _hung_up = down.lock().unwrap().recv();
        Ok(Vec::new())
    });
    let outbound = Outbound::builder(OutboundRules::default()).resolver(Arc::new(resolver));
    let outbound = outbound.build().unwrap();
    let limit = std::time::Duration::from_millis(30);
    let failure = outbound.call(post("http://dead.example/"), limit, false);
    let failure = failure.await.unwrap_err();
    assert_eq!(failure.class, FailureClass::TIMEOUT);
    let expected = "the DNS lookup of dead.example did not finish within 30ms";
    assert_eq!(failure.message, expected);
}

const PROXIED_URL: &str = "STEADFAST_PROXY_TEST_URL";

/// Runs itself again, in a process whose environment asks for a proxy.
#[tokio::test]
async fn proxies_of_the_environment_are_ignored() {
    if let Ok(url) = std::env::var(PROXIED_URL) {
        assert_eq!(call(&any_address(), &url).await.unwrap().body, "direct");
        return;
    }
    let target = Target::start(|_| ok("direct")).await;
    let proxy = Target::start(|_| ok("proxied")).await;
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "addresses::proxies_of_the_environment_are_ignored",
    ]);
    child.env(PROXIED_URL, target.url());
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        child.env(name, format!("http://{}", proxy.address));
    }
    let output = tokio::task::spawn_blocking(move || child.output());
    let output = output.await.unwrap().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((target.seen().len(), proxy.connections()), (1, 0));
}
