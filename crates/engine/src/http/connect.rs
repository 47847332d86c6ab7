//! From a URL to an open connection, through the address check.
//!
//! A name is looked up once, every address it gives is checked, and only those are dialled: a
//! resolver that changes its answer between a check and a dial finds no such gap. One address
//! that is not allowed refuses the name, because a name that points both ways is an attack.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use steadfast_core::{Failure, FailureClass};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;

use super::{
    address::OutboundRules,
    host::Host,
    origin::Origin,
    trace::{Phase, Trace},
};
use crate::limits;

/// Finds the addresses of a name.
#[async_trait]
pub trait Resolver: Send + Sync {
    /// The addresses of a name, in the order in which to try them.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// An open connection. Dropping it closes it, whatever it was doing.
pub struct Connection {
    pub sender: SendRequest<Full<Bytes>>,
    driver: AbortOnDropHandle<()>,
}

impl Connection {
    /// Whether a kept connection can carry another request. It should be ready at once: one that
    /// is still busy with its last request is out of step.
    pub async fn is_usable(&mut self) -> bool {
        let ready = timeout(limits::http::READY_MAX, self.sender.ready()).await;
        matches!(ready, Ok(Ok(())))
    }

    pub fn is_closed(&self) -> bool {
        self.sender.is_closed() || self.driver.is_finished()
    }
}

pub struct Connector {
    pub rules: OutboundRules,
    pub resolver: Arc<dyn Resolver>,
    pub tls: TlsConnector,
}

impl Connector {
    pub async fn connect(&self, origin: &Origin, trace: &mut Trace) -> Result<Connection, Failure> {
        trace.enter(Phase::Dns);
        let addresses = self.addresses(origin).await?;
        trace.enter(Phase::Connect);
        let stream = self.dial(origin, &addresses).await?;
        if !origin.is_secure() {
            return open(stream, origin).await;
        }
        trace.enter(Phase::Tls);
        let name = server_name(origin)?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| {
            let what = format!("the TLS handshake with {origin} failed");
            failure_of(FailureClass::TLS, &what, error)
        })?;
        open(stream, origin).await
    }

    /// The addresses of the host, all of them allowed.
    async fn addresses(&self, origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
        let host = origin.host();
        let found = match Host::read(host) {
            Host::Address(address) => vec![address],
            Host::Neither => {
                let message = format!("{host} is not a valid IP address");
                return Err(Failure::new(FailureClass::VALIDATION, message));
            }
            Host::Name(name) => self.resolver.resolve(name).await.map_err(|error| {
                let what = format!("cannot resolve {host}");
                failure_of(FailureClass::DNS, &what, error)
            })?,
        };
        if found.is_empty() {
            let message = format!("{host} has no address");
            return Err(Failure::new(FailureClass::DNS, message));
        }
        for address in &found {
            self.check(origin, *address)?;
        }
        let with_port = |address| SocketAddr::new(address, origin.port());
        Ok(found.into_iter().map(with_port).collect())
    }

    fn check(&self, origin: &Origin, address: IpAddr) -> Result<(), Failure> {
        self.rules.check(address).map_err(|blocked| {
            // Where a name leads to inside of a network is not the caller's to know.
            let why = match Host::read(origin.host()) {
                Host::Name(_) => "its address is not public".to_owned(),
                Host::Address(_) | Host::Neither => blocked.to_string(),
            };
            let message = format!(
                "refused to connect to {origin}: {why}; the operator can allow a network with \
                 outbound.allow (--outbound-allow)"
            );
            Failure::new(FailureClass::BLOCKED, message)
        })
    }

    /// Tries the addresses in their order until one answers.
    async fn dial(&self, origin: &Origin, addresses: &[SocketAddr]) -> Result<TcpStream, Failure> {
        let mut refusals = Vec::new();
        for (index, address) in addresses.iter().enumerate() {
            let is_last = index + 1 == addresses.len();
            // An address that never answers must leave time for those after it.
            let limit = if is_last {
                Duration::MAX
            } else {
                limits::http::DIAL_MAX
            };
            let dialled = timeout(limit, TcpStream::connect(address)).await;
            match dialled.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => return self.check_peer(origin, stream),
                Err(error) => refusals.push(format!("{address}: {error}")),
            }
        }
        let refusals = match refusals.as_slice() {
            // An origin that is an address need not be repeated.
            [refusal] => refusal
                .trim_start_matches(&format!("{origin}: "))
                .to_owned(),
            refusals => refusals.join("; "),
        };
        let message = format!("cannot connect to {origin}: {refusals}");
        Err(Failure::new(FailureClass::CONNECTION, message))
    }

    /// Checks the address that was really reached.
    fn check_peer(&self, origin: &Origin, stream: TcpStream) -> Result<TcpStream, Failure> {
        let lost = |error| {
            let what = format!("lost the connection to {origin}");
            failure_of(FailureClass::CONNECTION, &what, error)
        };
        let peer = stream.peer_addr().map_err(lost)?.ip();
        self.check(origin, peer)?;
        stream.set_nodelay(true).map_err(lost)?;
        Ok(stream)
    }
}

fn server_name(origin: &Origin) -> Result<ServerName<'static>, Failure> {
    let name = match Host::read(origin.host()) {
        Host::Address(address) => return Ok(ServerName::IpAddress(address.into())),
        Host::Name(name) => name.strip_suffix('.').unwrap_or(name),
        Host::Neither => origin.host(),
    };
    ServerName::try_from(name.to_owned()).map_err(|error| {
        let what = format!("{name} is not a valid certificate name");
        failure_of(FailureClass::VALIDATION, &what, error)
    })
}

async fn open<T>(stream: T, origin: &Origin) -> Result<Connection, Failure>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, driver) = http1::Builder::new()
        .max_buf_size(limits::http::HEAD_BYTES_MAX)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| {
            let what = format!("cannot speak HTTP with {origin}");
            failure_of(FailureClass::CONNECTION, &what, error)
        })?;
    let driver = tokio::spawn(async move {
        // The sender of a request over it gets the error, too.
        let _error = driver.await;
    });
    Ok(Connection {
        sender,
        driver: AbortOnDropHandle::new(driver),
    })
}

/// A failure of an action, with the chain of errors that ended it.
pub fn failure_of(class: FailureClass, what: &str, error: impl std::error::Error) -> Failure {
    let chain = Failure::from(error).message;
    Failure::new(class, format!("{what}: {chain}"))
}
