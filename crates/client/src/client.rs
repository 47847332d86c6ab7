//! The client: where the server is, and who calls.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use http::{HeaderValue, Method, Uri};
use serde::Serialize;

use crate::{
    error::BuildError,
    limits::{CONNECT_TIMEOUT_DEFAULT, REQUEST_TIMEOUT_DEFAULT},
    request::Request,
    transport::{self, NewestConnection, ServerAddress, TransportSettings},
};

/// Where a server listens by default.
const URL_DEFAULT: &str = "http://127.0.0.1:7373";

/// A Steadfast server, called over HTTP. Clones share connections.
///
/// Every operation returns a [`Request`], which is sent when it is awaited. Only
/// [`enqueue`](Self::enqueue) repeats its request, which has an idempotency key: a caller who
/// repeats another create passes a key, too.
#[derive(Clone)]
pub struct Client {
    pub(crate) server: Arc<ServerAddress>,
}

/// The settings of a [`Client`], from [`Client::builder`].
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct ClientBuilder {
    url: String,
    api_key: Option<String>,
    ca_file: Option<PathBuf>,
    timeout: Duration,
    connect_timeout: Duration,
}

impl Client {
    /// A client of the server at a URL, as `http://127.0.0.1:7373`. A path in it is kept as a
    /// prefix, for servers behind a proxy.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            url: url.into(),
            api_key: None,
            ca_file: None,
            timeout: REQUEST_TIMEOUT_DEFAULT,
            connect_timeout: CONNECT_TIMEOUT_DEFAULT,
        }
    }

    /// A client of the server that `STEADFAST_URL` names (http://127.0.0.1:7373 if it is not set),
    /// with the key of `STEADFAST_API_KEY`, if there is one. `STEADFAST_CA_FILE` names certificates
    /// that are trusted in addition to those of the system.
    ///
    /// # Errors
    ///
    /// A URL, key or file of certificates that cannot be used.
    pub fn from_env() -> Result<Self, BuildError> {
        let named = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let url = named("STEADFAST_URL").unwrap_or_else(|| URL_DEFAULT.to_owned());
        let mut builder = Self::builder(url);
        builder.api_key = named("STEADFAST_API_KEY");
        builder.ca_file = named("STEADFAST_CA_FILE").map(PathBuf::from);
        builder.build()
    }

    /// The same client with connections of its own; the holder of `newest` can end the last
    /// that it opened.
    pub(crate) fn with_own_connections(&self, newest: Option<NewestConnection>) -> Self {
        let settings = self.server.settings.clone();
        let server = ServerAddress {
            base: self.server.base.clone(),
            authorization: self.server.authorization.clone(),
            timeout: self.server.timeout,
            transport: transport::open(settings.clone(), newest),
            settings,
        };
        Self {
            server: Arc::new(server),
        }
    }

    /// The URL of the server, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.server.base
    }

    /// A call of the API by method and path (after `/api/v1`, percent-encoded), for programs that
    /// choose operations while they run.
    pub fn call(&self, method: Method, path: &str) -> Request<serde_json::Value> {
        self.operation("call", method, path)
    }

    /// An operation of the API, by its name in the API's description and its path.
    pub(crate) fn operation<T>(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
    ) -> Request<T> {
        Request::new(
            self.server.clone(),
            operation,
            method,
            format!("/api/v1{path}"),
        )
    }

    pub(crate) fn get<T>(&self, operation: &'static str, path: &str) -> Request<T> {
        self.operation(operation, Method::GET, path)
    }

    /// A POST without a body.
    pub(crate) fn post<T>(&self, operation: &'static str, path: &str) -> Request<T> {
        self.operation(operation, Method::POST, path)
    }

    pub(crate) fn post_json<T>(
        &self,
        operation: &'static str,
        path: &str,
        body: &impl Serialize,
    ) -> Request<T> {
        self.operation(operation, Method::POST, path).json(body)
    }
}

impl ClientBuilder {
    /// The API key, if the server needs one.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// A PEM file of certificates to trust besides those of the system and of Mozilla.
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// How long a whole request may take; one minute by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long a connection may take; ten seconds by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Checks the settings. No connection is made before the first request.
    ///
    /// # Errors
    ///
    /// A URL, key or file of certificates that cannot be used.
    pub fn build(self) -> Result<Client, BuildError> {
        let base = self.url.trim_end_matches('/').to_owned();
        let scheme = base
            .parse::<Uri>()
            .ok()
            .filter(|uri| uri.host().is_some() && uri.query().is_none())
            .and_then(|uri| uri.scheme_str().map(str::to_owned));
        let is_https = match scheme.as_deref() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(BuildError::InvalidUrl { url: self.url }),
        };
        let authorization = match self.api_key {
            Some(key) => {
                let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
                let mut value = value.map_err(|_| BuildError::InvalidKey)?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        let settings =
            TransportSettings::new(is_https, self.ca_file.as_deref(), self.connect_timeout)?;
        Ok(Client {
            server: Arc::new(ServerAddress {
                base,
                authorization,
                timeout: self.timeout,
                transport: transport::open(settings.clone(), None),
                settings,
            }),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url()).finish()
    }
}

/// Without the key.
impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("url", &self.url)
            .field("ca_file", &self.ca_file)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
