//! The calls that tools make.

use async_trait::async_trait;
use http::{HeaderValue, Method};
use serde_json::Value;

/// Sends calls of tools to a Steadfast server.
#[async_trait]
pub trait Api: Send + Sync + 'static {
    /// Sends a call. The response is its JSON; null if it has none.
    ///
    /// # Errors
    ///
    /// A refusal of the server, or no response.
    async fn call(&self, caller: &Caller, call: ApiCall) -> Result<Value, ApiError>;

    /// Whether the caller may use tools that change something.
    async fn may_write(&self, caller: &Caller) -> bool;
}

/// The agent that calls a tool.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its name and version, from the handshake.
    pub agent: HeaderValue,
    /// The `Authorization` of its HTTP request. An agent on standard input has none: it uses the key
    /// of the process that serves it.
    pub authorization: Option<HeaderValue>,
}

/// A call of the HTTP API.
#[derive(Clone, Debug)]
pub struct ApiCall {
    /// Its method.
    pub method: Method,
    /// Its path after `/api/v1`, percent-encoded.
    pub path: String,
    /// Its query string as pairs.
    pub query: Vec<(String, String)>,
    /// Its body, if it has one.
    pub body: Option<Value>,
}

/// A call that failed, as a sentence for the agent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ApiError(pub String);

impl ApiError {
    /// A refusal of the server: its problem document.
    pub fn of_problem(problem: &Value) -> Self {
        let text = |name: &str| problem.get(name).and_then(Value::as_str);
        let detail = text("detail").unwrap_or("the server gave no reason");
        Self::of_refusal(detail, text("field"))
    }

    /// A refusal of the server: its sentence, and the field it is about.
    pub fn of_refusal(detail: &str, field: Option<&str>) -> Self {
        Self(match field {
            Some(field) => format!("invalid argument {field}: {detail}"),
            None => detail.to_owned(),
        })
    }
}
