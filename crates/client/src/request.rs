//! One request and its response.

use std::{fmt, future::IntoFuture, marker::PhantomData, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header, response::Parts};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Serialize, de::DeserializeOwned};
use steadfast_api::{AGENT_HEADER, ProblemBody};
use tokio::time::timeout;

use crate::{
    backoff::Backoff,
    error::{ClientError, ErrorKind},
    limits::CALL_TRIES_MAX,
    transport::ServerAddress,
};

/// One call of an operation. Awaiting it sends it and gives the typed response; [`send`] gives the
/// JSON as well.
///
/// [`send`]: Request::send
#[must_use = "a request is only sent when it is awaited"]
pub struct Request<T> {
    server: Arc<ServerAddress>,
    operation: &'static str,
    method: Method,
    path: String,
    query: String,
    body: Option<Bytes>,
    encode_error: Option<EncodeError>,
    agent: Option<HeaderValue>,
    media: &'static str,
    accepts_any_status: bool,
    is_repeatable: bool,
    timeout: Duration,
    response: PhantomData<fn() -> T>,
}

type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// A successful response: its JSON as it came, and its type.
pub struct Response<T> {
    operation: &'static str,
    status: StatusCode,
    body: Bytes,
    parsed: PhantomData<fn() -> T>,
}

impl<T> Request<T> {
    pub(crate) fn new(
        server: Arc<ServerAddress>,
        operation: &'static str,
        method: Method,
        path: String,
    ) -> Self {
        let timeout = server.timeout;
        Self {
            server,
            operation,
            method,
            path,
            query: String::new(),
            body: None,
            encode_error: None,
            agent: None,
            media: "application/json",
            accepts_any_status: false,
            is_repeatable: false,
            timeout,
            response: PhantomData,
        }
    }

    /// Sends this JSON.
    pub fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(json) => self.body = Some(json.into()),
            Err(error) => self.encode_error = Some(error.into()),
        }
        self
    }

    /// Names the type of the body, if it is not plain JSON.
    pub(crate) fn media(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }

    /// A body that is JSON already.
    pub(crate) fn json_text(mut self, body: String) -> Self {
        self.body = Some(body.into());
        self
    }

    /// A request that fails when it is sent, as it cannot be written.
    pub(crate) fn fail_to_encode(mut self, error: impl Into<EncodeError>) -> Self {
        self.encode_error = Some(error.into());
        self
    }

    /// Sends this query string.
    pub fn query(mut self, query: &impl Serialize) -> Self {
        match serde_urlencoded::to_string(query) {
            Ok(text) => self.query = text,
            Err(error) => self.encode_error = Some(error.into()),
        }
        self
    }

    /// Adds a name to the query for each of some values.
    pub(crate) fn query_each(mut self, name: &str, values: &[String]) -> Self {
        for value in values {
            match serde_urlencoded::to_string([(name, value)]) {
                Ok(pair) if self.query.is_empty() => self.query = pair,
                Ok(pair) => self.query = format!("{}&{pair}", self.query),
                Err(error) => self.encode_error = Some(error.into()),
            }
        }
        self
    }

    /// Reads the body of error responses like that of a success.
    pub(crate) fn accept_any_status(mut self) -> Self {
        self.accepts_any_status = true;
        self
    }

    /// Sends the request again if that may help: twice is the same as once.
    pub(crate) fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    pub(crate) fn extend_timeout(mut self, by: Duration) -> Self {
        self.timeout = self.timeout.saturating_add(by);
        self
    }

    /// Names the agent that sends the request for the holder of the key, for the audit log.
    pub fn agent(mut self, name: HeaderValue) -> Self {
        self.agent = Some(name);
        self
    }

    /// How long this request may take, in place of the client's timeout.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends the request.
    ///
    /// # Errors
    ///
    /// [`ClientError`] says which operation failed, how, and whether it may work later.
    pub async fn send(self) -> Result<Response<T>, ClientError> {
        self.send_until(Ok).await
    }

    /// Sends the request, and again if that may help, until `read` accepts the response.
    async fn send_until<A>(
        mut self,
        read: impl Fn(Response<T>) -> Result<A, ClientError>,
    ) -> Result<A, ClientError> {
        let mut backoff = Backoff::default();
        for _ in 1..CALL_TRIES_MAX {
            let error = match self.send_once().await.and_then(&read) {
                Err(error) if error.had_no_effect() => error,
                Err(error) if self.is_repeatable && error.is_worth_repeating() => error,
                answer => return answer,
            };
            backoff.pause_after(Some(&error)).await;
        }
        self.send_once().await.and_then(read)
    }

    async fn send_once(&mut self) -> Result<Response<T>, ClientError> {
        let (operation, most) = (self.operation, self.timeout);
        let accepts_any_status = self.accepts_any_status;
        let exchange = async {
            let (head, body) = self.start().await?;
            let status = head.status;
            let body = collect(operation, body).await?;
            if !accepts_any_status {
                check(operation, &head, &body)?;
            }
            Ok(Response {
                operation,
                status,
                body,
                parsed: PhantomData,
            })
        };
        timeout(most, exchange)
            .await
            .unwrap_or_else(|_| Err(ClientError::new(operation, ErrorKind::Timeout(most))))
    }

    /// Sends the request, and returns the body as it comes. The timeout counts up to the headers.
    pub(crate) async fn stream(mut self) -> Result<Incoming, ClientError> {
        let (operation, most) = (self.operation, self.timeout);
        let exchange = async {
            let (head, body) = self.start().await?;
            if head.status.is_success() {
                return Ok(body);
            }
            let body = collect(operation, body).await?;
            check(operation, &head, &body)?;
            Err(ClientError::new(
                operation,
                ErrorKind::NotSteadfast(head.status),
            ))
        };
        timeout(most, exchange)
            .await
            .unwrap_or_else(|_| Err(ClientError::new(operation, ErrorKind::Timeout(most))))
    }

    async fn start(&mut self) -> Result<(Parts, Incoming), ClientError> {
        let operation = self.operation;
        let error = |kind| ClientError::new(operation, kind);
        if let Some(encode) = self.encode_error.take() {
            return Err(error(ErrorKind::Encode(encode)));
        }
        let mark = if self.query.is_empty() { "" } else { "?" };
        let uri = format!("{}{}{mark}{}", self.server.base, self.path, self.query);
        let mut request = http::Request::builder()
            .method(self.method.clone())
            .uri(uri);
        if let Some(key) = &self.server.authorization {
            request = request.header(header::AUTHORIZATION, key);
        }
        if let Some(agent) = &self.agent {
            request = request.header(AGENT_HEADER, agent);
        }
        if self.body.is_some() {
            request = request.header(header::CONTENT_TYPE, self.media);
        }
        let request = request
            .body(Full::new(self.body.clone().unwrap_or_default()))
            .map_err(|invalid| error(ErrorKind::Encode(invalid.into())))?;
        let response = self.server.transport.request(request).await;
        let response = response.map_err(|broken| error(ErrorKind::Connect(broken.into())))?;
        Ok(response.into_parts())
    }
}

async fn collect(operation: &'static str, body: Incoming) -> Result<Bytes, ClientError> {
    let whole = body.collect().await;
    let whole = whole
        .map_err(|broken| ClientError::new(operation, ErrorKind::Interrupted(broken.into())))?;
    Ok(whole.to_bytes())
}

fn check(operation: &'static str, head: &Parts, body: &[u8]) -> Result<(), ClientError> {
    let status = head.status;
    if status.is_success() {
        return Ok(());
    }
    let kind = serde_json::from_slice::<Box<ProblemBody>>(body)
        .map_or(ErrorKind::NotSteadfast(status), ErrorKind::Refused);
    let seconds = head.headers.get(header::RETRY_AFTER);
    let seconds = seconds.and_then(|value| value.to_str().ok()?.parse().ok());
    Err(ClientError::new(operation, kind).with_retry_after(seconds.map(Duration::from_secs)))
}

impl<T: DeserializeOwned + 'static> IntoFuture for Request<T> {
    type Output = Result<T, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send_until(|response| response.parse()))
    }
}

impl<T> Response<T> {
    /// The HTTP status, which is a success: of a create, 201 is a new thing and 200 one that was
    /// there already.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The JSON as the server sent it; empty if the operation has no response body.
    pub fn json(&self) -> &[u8] {
        &self.body
    }
}

impl<T: DeserializeOwned> Response<T> {
    /// The response as its type.
    ///
    /// # Errors
    ///
    /// A response that this operation does not give.
    pub fn parse(&self) -> Result<T, ClientError> {
        // Of an empty body only the unit type can be read.
        let json: &[u8] = if self.body.is_empty() {
            b"null"
        } else {
            &self.body
        };
        serde_json::from_slice(json)
            .map_err(|error| ClientError::new(self.operation, ErrorKind::Decode(error)))
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Response<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("operation", &self.operation)
            .field("status", &self.status)
            .field("json", &String::from_utf8_lossy(&self.body))
            .finish()
    }
}

/// Characters that stay as they are in a path segment (RFC 3986, unreserved).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// An id or a name as one segment of a path, whatever characters it holds.
pub fn path_segment(text: impl fmt::Display) -> String {
    utf8_percent_encode(&text.to_string(), UNRESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment_of_a_path() {
        assert_eq!(path_segment("job_01"), "job_01");
        assert_eq!(path_segment("a/b ?é"), "a%2Fb%20%3F%C3%A9");
    }
}
