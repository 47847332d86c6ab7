//! The connections to the server: TCP, TLS for `https`, HTTP/1.1, kept for the next request.

use std::{
    net::Shutdown,
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{self, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Uri};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{error::BuildError, limits::POOL_IDLE_MAX};

pub type Transport = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// Where the server is, how it is reached, and who calls.
pub struct ServerAddress {
    /// The URL, without a slash at its end.
    pub base: String,
    pub authorization: Option<HeaderValue>,
    /// How long a whole request may take by default.
    pub timeout: Duration,
    pub transport: Transport,
    pub settings: TransportSettings,
}

/// The shared parts of every transport to a server.
#[derive(Clone)]
pub struct TransportSettings {
    tls: ClientConfig,
    connect_timeout: Duration,
}

impl TransportSettings {
    /// Trusts these certificates. They are only read for `https`: reading those of the system takes
    /// longer than a request to this machine.
    pub fn new(
        is_https: bool,
        ca_file: Option<&Path>,
        connect_timeout: Duration,
    ) -> Result<Self, BuildError> {
        let roots = if is_https {
            trusted_roots(ca_file)?
        } else {
            RootCertStore::empty()
        };
        Ok(Self {
            tls: tls_config(roots)?,
            connect_timeout,
        })
    }
}

/// A transport without connections. The holder of `newest` can end the last that it opens.
pub fn open(settings: TransportSettings, newest: Option<NewestConnection>) -> Transport {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(settings.connect_timeout));
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(settings.tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(Connector { tcp, newest });
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE_MAX)
        .build(connector)
}

/// Opens connections, and remembers the newest for those who want to end it.
#[derive(Clone)]
pub struct Connector {
    tcp: HttpConnector,
    newest: Option<NewestConnection>,
}

/// The connection that was opened last.
#[derive(Clone, Default)]
pub struct NewestConnection {
    stream: Arc<Mutex<Option<std::net::TcpStream>>>,
}

impl NewestConnection {
    /// Closes the sending side: the server learns that the caller no longer waits, while a response that
    /// is already on its way still arrives. A closed connection would lose it.
    pub fn end_sending(&self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = stream.as_ref() {
            // One that is closed already needs no end.
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    fn set(&self, stream: Option<std::net::TcpStream>) {
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = stream;
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = <HttpConnector as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.tcp.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let newest = self.newest.clone();
        let connecting = self.tcp.call(uri);
        Box::pin(async move {
            let connection = connecting.await?;
            if let Some(newest) = newest {
                newest.set(share(connection.inner()));
            }
            Ok(connection)
        })
    }
}

/// The same connection again.
#[cfg(unix)]
fn share(stream: &TcpStream) -> Option<std::net::TcpStream> {
    use std::os::fd::AsFd as _;
    let shared = stream.as_fd().try_clone_to_owned().ok()?;
    Some(shared.into())
}

/// Elsewhere the whole connection is closed, after a wait for the answer.
#[cfg(not(unix))]
fn share(_: &TcpStream) -> Option<std::net::TcpStream> {
    None
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
