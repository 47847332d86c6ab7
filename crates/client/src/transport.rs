//! The connections to the server: TCP, TLS for `https`, HTTP/1.1, kept for the next request.

use std::{path::Path, sync::Arc, time::Duration};

use bytes::Bytes;
use http::HeaderValue;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};

use crate::{error::BuildError, limits::POOL_IDLE_MAX};

pub type Transport = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Where the server is, how it is reached, and who calls.
pub struct ServerAddress {
    /// The URL, without a slash at its end.
    pub base: String,
    pub authorization: Option<HeaderValue>,
    /// How long a whole request may take by default.
    pub timeout: Duration,
    pub transport: Transport,
}

/// A transport that trusts these certificates. They are only read for `https`: reading those of
/// the system takes longer than a request to this machine.
pub fn new(
    is_https: bool,
    ca_file: Option<&Path>,
    connect_timeout: Duration,
) -> Result<Transport, BuildError> {
    let roots = if is_https {
        trusted_roots(ca_file)?
    } else {
        RootCertStore::empty()
    };
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(connect_timeout));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls_config(roots)?)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE_MAX)
        .build(connector))
}

/// The crypto provider is named here: a program may link two, and then rustls has no default.
fn tls_config(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn trusted_roots(ca_file: Option<&Path>) -> Result<RootCertStore, BuildError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // A system without certificates, or with unreadable ones, still has the bundled ones.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let Some(path) = ca_file else {
        return Ok(roots);
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(|found| found.collect::<Result<Vec<_>, _>>())
        .map_err(|source| BuildError::Certificates {
            path: path.to_owned(),
            source,
        })?;
    if certificates.is_empty() {
        return Err(BuildError::NoCertificate {
            path: path.to_owned(),
        });
    }
    for certificate in certificates {
        roots.add(certificate)?;
    }
    Ok(roots)
}
