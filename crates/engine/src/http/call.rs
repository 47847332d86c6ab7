//! One request, one response, one time limit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header, uri::PathAndQuery};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use steadfast_core::{Failure, FailureClass, Invalid};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

use super::{
    address::OutboundRules,
    connect::{Connection, Connector, Resolver, failure_of},
    lookup::SystemResolver,
    origin::Origin,
    pool::Pool,
    response::{Excerpt, RecordedResponse, Timings},
    trace::{Phase, Trace},
};
use crate::limits::http::INFORMATIONAL_MAX;

/// The HTTP client through which every request of an engine leaves. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Outbound {
    connector: Arc<Connector>,
    pool: Arc<Pool>,
}

impl Outbound {
    /// A client under these rules.
    pub fn builder(rules: OutboundRules) -> OutboundBuilder {
        OutboundBuilder {
            rules,
            resolver: Arc::new(SystemResolver::default()),
            trusted: Vec::new(),
        }
    }

    /// Sends a request to its absolute URL and reads the response, all within `limit`, from the
    /// lookup of the name to the last byte of the body.
    ///
    /// The request is written at most once. A connection that was kept from an earlier call
    /// may be found closed only after the request went out, which then fails without need;
    /// `fresh` opens a new one, for requests that are not repeated.
    pub async fn call(
        &self,
        request: Request<Full<Bytes>>,
        limit: Duration,
        fresh: bool,
    ) -> Result<RecordedResponse, Failure> {
        self.call_if(request, limit, fresh, &AlwaysWanted)
            .await
            .map_err(CallError::into_failure)
    }

    /// Sends a request over a new connection and reads the whole response, which may have up to
    /// `bytes_max` bytes, all within `limit`.
    pub async fn fetch(
        &self,
        request: Request<Full<Bytes>>,
        limit: Duration,
        bytes_max: usize,
    ) -> Result<Response<Bytes>, Failure> {
        let (origin, request) = split_url(request)?;
        let mut trace = Trace::start();
        let options = SendOptions {
            fresh: true,
            wanted: &AlwaysWanted,
        };
        let fetch = async {
            let (_connection, response) = self.send(&origin, request, options, &mut trace).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, bytes_max).collect().await;
            let body = body.map_err(|error| {
                let message = format!("cannot read the response from {origin}: {error}");
                Failure::new(FailureClass::CONNECTION, message)
            })?;
            Ok(Response::from_parts(head, body.to_bytes()))
        };
        match timeout(limit, fetch).await {
            Ok(fetched) => fetched.map_err(CallError::into_failure),
            Err(_) => Err(trace.timeout_failure(&origin, limit)),
        }
    }

    /// As [`Outbound::call`], and asks whether the request is still wanted after a new connection
    /// was opened for it, which may take long.
    pub(super) async fn call_if(
        &self,
        request: Request<Full<Bytes>>,
        limit: Duration,
        fresh: bool,
        wanted: &dyn StillWanted,
    ) -> Result<RecordedResponse, CallError> {
        let (origin, request) = split_url(request)?;
        let mut trace = Trace::start();
        let options = SendOptions { fresh, wanted };
        let exchange = self.exchange(&origin, request, options, &mut trace);
        let response = match timeout(limit, exchange).await {
            Ok(response) => response,
            Err(_) => Err(trace.timeout_failure(&origin, limit).into()),
        };
        response.map_err(|error| error.after(&trace))
    }

    async fn exchange(
        &self,
        origin: &Origin,
        request: Request<Full<Bytes>>,
        options: SendOptions<'_>,
        trace: &mut Trace,
    ) -> Result<RecordedResponse, CallError> {
        let (connection, response) = self.send(origin, request, options, trace).await?;
        trace.enter(Phase::Body);
        let (head, body) = response.into_parts();
        let excerpt = Excerpt::read(body).await.map_err(|error| {
            let what = format!("the response from {origin} was cut off");
            failure_of(FailureClass::CONNECTION, &what, error)
        })?;
        if excerpt.whole && !options.fresh {
            self.pool.put(origin.clone(), connection);
        }
        Ok(RecordedResponse::new(&head, &excerpt, trace.timings()))
    }

    async fn send(
        &self,
        origin: &Origin,
        mut request: Request<Full<Bytes>>,
        options: SendOptions<'_>,
        trace: &mut Trace,
    ) -> Result<(Connection, Response<Incoming>), CallError> {
        let too_many = count_informational(&mut request);
        tokio::select! {
            biased;
            // Dropping the exchange closes its connection.
            () = too_many.cancelled() => {
                let message = format!(
                    "{origin} sent more than {INFORMATIONAL_MAX} informational responses (1xx)"
                );
                Err(Failure::new(FailureClass::CONNECTION, message).into())
            }
            sent = self.send_once(origin, request, options, trace) => sent,
        }
    }

    async fn send_once(
        &self,
        origin: &Origin,
        mut request: Request<Full<Bytes>>,
        options: SendOptions<'_>,
        trace: &mut Trace,
    ) -> Result<(Connection, Response<Incoming>), CallError> {
        let no_response = |error| {
            let what = format!("no response from {origin}");
            failure_of(FailureClass::CONNECTION, &what, error)
        };
        let kept = || match options.fresh {
            true => None,
            false => self.pool.take(origin),
        };
        while let Some(mut connection) = kept() {
            if !connection.is_usable().await {
                continue;
            }
            trace.enter(Phase::FirstByte);
            match connection.sender.try_send_request(request).await {
                Ok(response) => return Ok((connection, response)),
                Err(mut error) => match error.take_message() {
                    // It comes back only if not a byte of it was written.
                    Some(unsent) => request = unsent,
                    None => return Err(no_response(error.into_error()).into()),
                },
            }
        }
        let mut connection = self.connector.connect(origin, trace).await?;
        if !options.wanted.ask().await {
            return Err(CallError::Unwanted);
        }
        trace.enter(Phase::FirstByte);
        let response = connection
            .sender
            .send_request(request)
            .await
            .map_err(no_response)?;
        Ok((connection, response))
    }
}

/// Why there is no response.
pub(super) enum CallError {
    Failed {
        failure: Failure,
        /// How long each phase took, up to the one in which it failed.
        timings: Timings,
    },
    /// Nothing was sent, because the request was no longer wanted.
    Unwanted,
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed {
            failure,
            timings: Timings::default(),
        }
    }
}

impl CallError {
    fn into_failure(self) -> Failure {
        match self {
            Self::Failed { failure, .. } => failure,
            Self::Unwanted => Failure::new(FailureClass::ERROR, "the request was not sent"),
        }
    }

    /// The same with what the trace knows of the call.
    fn after(self, trace: &Trace) -> Self {
        match self {
            Self::Failed { failure, .. } => Self::Failed {
                failure: match trace.has_sent() {
                    true => failure,
                    false => failure.into_unsent(),
                },
                timings: trace.timings(),
            },
            Self::Unwanted => Self::Unwanted,
        }
    }
}

/// Whether a request is still wanted, asked before it is written over a new connection.
#[async_trait]
pub(super) trait StillWanted: Send + Sync {
    async fn ask(&self) -> bool;
}

pub(super) struct AlwaysWanted;

#[async_trait]
impl StillWanted for AlwaysWanted {
    async fn ask(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy)]
struct SendOptions<'a> {
    fresh: bool,
    wanted: &'a dyn StillWanted,
}

/// Counts the informational responses to a request; the token is cancelled if there are too many.
fn count_informational(request: &mut Request<Full<Bytes>>) -> CancellationToken {
    let too_many = CancellationToken::new();
    let (token, count) = (too_many.clone(), AtomicUsize::new(0));
    hyper::ext::on_informational(request, move |_| {
        if count.fetch_add(1, Ordering::Relaxed) >= INFORMATIONAL_MAX {
            token.cancel();
        }
    });
    too_many
}

/// Splits the URL of a request: where to connect to, and the path to ask for there.
fn split_url(mut request: Request<Full<Bytes>>) -> Result<(Origin, Request<Full<Bytes>>), Failure> {
    let url = request.uri();
    let invalid = || {
        let message = format!("{url} is not an http or https URL with a host");
        Failure::new(FailureClass::VALIDATION, message)
    };
    let origin = Origin::of(url).ok_or_else(invalid)?;
    let host = HeaderValue::try_from(origin.to_string()).map_err(|_| invalid())?;
    let path = url.path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    request.headers_mut().insert(header::HOST, host);
    Ok((origin, request))
}

/// Sets up an [`Outbound`]. Mistakes are reported when it is built.
pub struct OutboundBuilder {
    rules: OutboundRules,
    resolver: Arc<dyn Resolver>,
    trusted: Vec<Vec<u8>>,
}

impl OutboundBuilder {
    /// Another resolver than the system's.
    #[must_use]
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = resolver;
        self
    }

    /// Certificates to trust besides the usual ones, as the contents of a PEM file.
    #[must_use]
    pub fn trust(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trusted.push(pem.into());
        self
    }

    /// Reads the certificates and builds the client.
    pub fn build(self) -> Result<Outbound, Invalid> {
        let connector = Connector {
            tls: TlsConnector::from(Arc::new(tls(&self.trusted)?)),
            rules: self.rules,
            resolver: self.resolver,
        };
        Ok(Outbound {
            connector: Arc::new(connector),
            pool: Arc::default(),
        })
    }
}

/// The crypto provider is named here and not taken from the process, where the program sets it.
fn tls(trusted: &[Vec<u8>]) -> Result<ClientConfig, Invalid> {
    let invalid = |expected: String| Invalid::new("trust", "unusable", expected);
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    // A machine without certificates of its own, or with odd ones, is no reason to stop.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for pem in trusted {
        let certificates = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| invalid(format!("must be PEM: {error}")))?;
        if certificates.is_empty() {
            return Err(invalid("must contain at least one certificate".to_owned()));
        }
        for certificate in certificates {
            let added = roots.add(certificate);
            added.map_err(|error| invalid(format!("must be certificates: {error}")))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Invalid::new("tls", "unusable", error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
