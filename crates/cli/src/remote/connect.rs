//! From a URL to an answer: TCP, TLS where it is https, HTTP/1.1.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header, uri::PathAndQuery};
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Sends a request to its absolute URL.
pub async fn send(
    mut request: Request<Full<Bytes>>,
    ca_file: Option<&Path>,
) -> anyhow::Result<Response<Incoming>> {
    let uri = request.uri().clone();
    let is_secure = uri.scheme_str() == Some("https");
    let host = uri.host().unwrap_or_default().to_owned();
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let path = uri.path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    let name = HeaderValue::from_str(authority)?;
    request.headers_mut().insert(header::HOST, name);

    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = timeout(CONNECT_MAX, TcpStream::connect((bare, port))).await;
    let stream = stream.context("nobody answers there")??;
    stream.set_nodelay(true)?;
    if !is_secure {
        return exchange(stream, request).await;
    }
    let tls = TlsConnector::from(Arc::new(tls(ca_file)?));
    let name = ServerName::try_from(bare.to_owned())?;
    let stream = timeout(CONNECT_MAX, tls.connect(name, stream)).await;
    let stream = stream.context("the TLS handshake takes too long")?;
    exchange(stream.context("the TLS handshake failed")?, request).await
}

async fn exchange<T>(stream: T, request: Request<Full<Bytes>>) -> anyhow::Result<Response<Incoming>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        // Whoever reads the answer is told of the error, too.
        let _error = connection.await;
    });
    Ok(sender.send_request(request).await?)
}

/// The provider is named here: two of them may be linked, and neither is the process's own.
fn tls(ca_file: Option<&Path>) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // A machine without certificates of its own, or with odd ones, is no reason to stop.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let place = || format!("--ca-file {}", path.display());
        let certificates = CertificateDer::pem_file_iter(path)
            .and_then(|found| found.collect::<Result<Vec<_>, _>>())
            .with_context(place)?;
        if certificates.is_empty() {
            bail!("{} holds no certificate", place());
        }
        for certificate in certificates {
            roots.add(certificate).with_context(place)?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use http_body_util::BodyExt as _;
    use rustls::{ServerConfig, pki_types::PrivateKeyDer};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };
    use tokio_rustls::TlsAcceptor;

    use super::*;

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

    /// A server with a certificate that only its own file vouches for.
    async fn https() -> (String, tempfile::NamedTempFile) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let mut pem = tempfile::NamedTempFile::new().unwrap();
        pem.write_all(made.cert.pem().as_bytes()).unwrap();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let acceptor = TlsAcceptor::from(Arc::new(config));
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(mut stream) = acceptor.accept(stream).await {
                    let mut request = [0; 1_024];
                    let read = stream.read(&mut request).await.unwrap();
                    assert!(read > 0);
                    stream.write_all(ANSWER).await.unwrap();
                    stream.shutdown().await.unwrap();
                }
            }
        });
        (format!("https://localhost:{port}/"), pem)
    }

    #[tokio::test]
    async fn a_certificate_is_believed_only_if_somebody_vouches_for_it() {
        let (url, pem) = https().await;
        let request = || Request::get(&url).body(Full::default()).unwrap();
        let refused = send(request(), None).await.unwrap_err();
        assert!(
            format!("{refused:#}").contains("TLS handshake"),
            "{refused:#}"
        );
        let answer = send(request(), Some(pem.path())).await.unwrap();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(&body[..], b"{}");
        let none = tempfile::NamedTempFile::new().unwrap();
        let empty = send(request(), Some(none.path())).await.unwrap_err();
        assert!(
            format!("{empty:#}").contains("holds no certificate"),
            "{empty:#}"
        );
    }
}
