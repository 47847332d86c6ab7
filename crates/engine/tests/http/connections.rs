//! Connections are kept for the next call, and no request is ever sent twice.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::FailureClass;
use steadfast_engine::http::{Outbound, OutboundRules, Resolver};
use tokio::net::TcpListener;

use crate::{
    common::{DEADLINE, any_address, call, post},
    target::{Reply, Target, answer, ok},
};

fn ok_then_closed() -> Reply {
    match ok("") {
        Reply::Send(text) => Reply::SendAndClose(text),
        other => other,
    }
}

#[tokio::test]
async fn a_connection_carries_one_call_after_the_other() {
    let target = Target::start(|_| ok("")).await;
    let outbound = any_address();
    for _ in 0..5 {
        call(&outbound, &target.url()).await.unwrap();
    }
    assert_eq!((target.seen().len(), target.connections()), (5, 1));
    let reused = call(&outbound, &target.url()).await.unwrap().timings;
    assert!(reused.dns.is_none() && reused.connect.is_none() && reused.first_byte.is_some());
}

#[tokio::test]
async fn a_fresh_call_neither_takes_nor_leaves_a_connection() {
    let target = Target::start(|_| ok("")).await;
    let outbound = any_address();
    for _ in 0..3 {
        let fresh = outbound.call(post(&target.url()), DEADLINE, true).await;
        fresh.unwrap();
    }
    assert_eq!(target.connections(), 3);
    call(&outbound, &target.url()).await.unwrap();
    call(&outbound, &target.url()).await.unwrap();
    assert_eq!(target.connections(), 4);
}

#[tokio::test]
async fn an_idle_connection_is_closed_after_a_while() {
    let target = Target::start(|_| ok("")).await;
    let outbound = any_address();
    call(&outbound, &target.url()).await.unwrap();
    // From here on time passes as soon as every task waits for it.
    tokio::time::pause();
    let idle = tokio::time::timeout(Duration::from_secs(4), target.closure());
    idle.await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_nothing() {
    let target = Target::start(|_| ok_then_closed()).await;
    let outbound = any_address();
    for calls in 1..=50 {
        call(&outbound, &target.url()).await.unwrap();
        target.closure().await;
        assert_eq!((target.seen().len(), target.connections()), (calls, calls));
    }
}

#[tokio::test]
async fn a_server_that_says_close_is_not_called_on_that_connection_again() {
    let target = Target::start(|_| answer("200 OK", "connection: close\r\n", "")).await;
    let outbound = any_address();
    call(&outbound, &target.url()).await.unwrap();
    call(&outbound, &target.url()).await.unwrap();
    assert_eq!((target.seen().len(), target.connections()), (2, 2));
}

#[tokio::test]
async fn a_request_that_was_written_is_never_written_again() {
    // The second request arrives on a connection that was kept, and gets no response.
    let target = Target::start(|number| match number {
        0 => ok(""),
        _ => Reply::SendAndClose(String::new()),
    })
    .await;
    let outbound = any_address();
    call(&outbound, &target.url()).await.unwrap();
    let failure = call(&outbound, &target.url()).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::CONNECTION, "{failure}");
    assert!(!failure.is_permanent());
    assert_eq!((target.seen().len(), target.connections()), (2, 1));
}

#[tokio::test]
async fn a_response_without_a_request_is_dropped() {
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n\
                 HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
    let target = Target::start(|number| match number {
        0 => Reply::Send(twice.to_owned()),
        _ => ok("real"),
    })
    .await;
    let outbound = any_address();
    assert_eq!(call(&outbound, &target.url()).await.unwrap().body, "");
    assert_eq!(call(&outbound, &target.url()).await.unwrap().body, "real");
    assert_eq!((target.seen().len(), target.connections()), (2, 2));
}

#[tokio::test]
async fn a_port_without_a_server_is_a_failure_of_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failure = call(&any_address(), &format!("http://{address}/")).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.class, FailureClass::CONNECTION);
    let expected = format!("cannot connect to {address}: Connection refused");
    assert!(failure.message.starts_with(&expected), "{failure}");
}

struct HangingResolver;

#[async_trait]
impl Resolver for HangingResolver {
    async fn resolve(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_lookup_counts_towards_the_time_limit() {
    let outbound = Outbound::builder(OutboundRules::default());
    let outbound = outbound
        .resolver(Arc::new(HangingResolver))
        .build()
        .unwrap();
    let limit = Duration::from_millis(20);
    let called = outbound.call(post("http://slow.example/"), limit, false);
    let failure = called.await.unwrap_err();
    assert_eq!(failure.class, FailureClass::TIMEOUT);
    assert_eq!(
        failure.message,
        "the DNS lookup of slow.example did not finish within 20ms"
    );
}
