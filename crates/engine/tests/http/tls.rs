//! TLS, with certificates of our own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use rcgen::CertifiedKey;
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use steadfast_core::FailureClass;
use steadfast_engine::http::{AddressPolicy, Outbound, OutboundBuilder, OutboundRules};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    common::{FakeResolver, any_address, call, post},
    target::{Reply, Target},
};

const NAME: &str = "secure.example";

/// A server that answers every client that trusts it, and its certificate.
async fn secure_server() -> (SocketAddr, String) {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate hangs up here.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n{}") {
                head.push(stream.read_u8().await.unwrap());
            }
            let text = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nsafe";
            stream.write_all(text).await.unwrap();
        }
    });
    (address, cert.pem())
}

fn builder() -> OutboundBuilder {
    let rules = OutboundRules::new(AddressPolicy::Any);
    Outbound::builder(rules).resolver(FakeResolver::new(&[&["127.0.0.1"]]))
}

#[tokio::test]
async fn a_trusted_certificate_is_accepted() {
    let (address, pem) = secure_server().await;
    let outbound = builder().trust(pem).build().unwrap();
    let url = format!("https://{NAME}:{}/", address.port());
    let response = call(&outbound, &url).await.unwrap();
    assert_eq!(response.body, "safe");
    assert!(response.timings.tls.is_some());
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_a_failure_of_tls() {
    let (address, pem) = secure_server().await;
    let url = format!("https://{NAME}:{}/", address.port());
    let failure = call(&builder().build().unwrap(), &url).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::TLS, "{failure}");
    assert!(!failure.is_permanent());

    // Trusted, but for another name.
    let url = format!("https://other.example:{}/", address.port());
    let trusting = builder().trust(pem).build().unwrap();
    let failure = call(&trusting, &url).await.unwrap_err();
    assert_eq!(failure.class, FailureClass::TLS, "{failure}");
    assert!(failure.message.contains("other.example"), "{failure}");
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_a_failure_of_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let text = b"HTTP/1.1 400 Bad Request\r\n\r\n";
            stream.write_all(text).await.unwrap();
        }
    });
    let failure = call(&any_address(), &format!("https://{address}/")).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.class, FailureClass::TLS, "{failure}");
}

#[tokio::test]
async fn a_handshake_counts_towards_the_time_limit() {
    // It waits for a line of HTTP that never comes.
    let target = Target::start(|_| Reply::Hang(String::new())).await;
    let url = format!("https://{}/", target.address);
    let limit = Duration::from_millis(50);
    let failure = any_address()
        .call(post(&url), limit, false)
        .await
        .unwrap_err();
    assert_eq!(failure.class, FailureClass::TIMEOUT);
    let expected = format!(
        "the TLS handshake with {} did not finish within 50ms",
        target.address
    );
    assert_eq!(failure.message, expected);
}

#[tokio::test]
async fn what_is_no_certificate_is_refused_at_once() {
    for pem in [
        "",
        "hello",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        assert!(builder().trust(pem).build().is_err(), "{pem:?}");
    }
}
