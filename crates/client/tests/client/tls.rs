//! HTTPS: only certificates that the system or the given file vouches for.

use std::{error::Error as _, io::Write as _, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_client::{BuildError, Client, Context, ErrorKind, JobError, JobKind};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer},
};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"nodes\":[]}";

/// A server with a certificate that only its own file vouches for.
async fn start_https() -> (String, tempfile::NamedTempFile) {
    let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let mut pem = tempfile::NamedTempFile::new().unwrap();
    pem.write_all(generated.cert.pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::try_from(generated.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![generated.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((connection, _)) = listener.accept().await {
            if let Ok(mut connection) = acceptor.accept(connection).await {
                let mut request = [0; 1_024];
                let read = connection.read(&mut request).await.unwrap();
                assert!(read > 0);
                connection.write_all(RESPONSE).await.unwrap();
                connection.shutdown().await.unwrap();
            }
        }
    });
    (format!("https://localhost:{port}"), pem)
}

#[tokio::test]
async fn a_certificate_is_trusted_only_if_a_known_authority_vouches_for_it() {
    let (url, pem) = start_https().await;
    let client = Client::builder(&url).build().unwrap();
    let error = client
        .list_nodes(&steadfast_client::api::PageQuery::default())
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Connect(_)), "{error:?}");
    let mut cause = error.source().unwrap();
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    assert!(cause.to_string().contains("certificate"), "{cause}");

    let client = Client::builder(&url).ca_file(pem.path()).build().unwrap();
    assert_eq!(
        client
            .list_nodes(&steadfast_client::api::PageQuery::default())
            .await
            .unwrap()
            .nodes,
        []
    );
    let empty = tempfile::NamedTempFile::new().unwrap();
    let refused = Client::builder(&url).ca_file(empty.path()).build();
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, BuildError::NoCertificate { .. }),
        "{refused:?}"
    );
}

#[derive(Serialize, Deserialize)]
struct Order;

impl JobKind for Order {
    const KIND: &'static str = "order";
}

#[tokio::test]
async fn a_worker_whose_server_is_not_trusted_ends_at_its_start() {
    async fn fulfil(_: Order, _: Context) -> Result<(), JobError> {
        Ok(())
    }
    let (url, _pem) = start_https().await;
    let client = Client::builder(&url).build().unwrap();
    let mut worker = client.worker().handler(fulfil).start().unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(20), worker.ended()).await;
    ended
        .expect("a repeat does not help")
        .expect_err("the server is not trusted");
}
