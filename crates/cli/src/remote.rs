//! A running server, asked over its API.
//!
//! One request, one connection: a command asks a few questions and ends, so there is nothing to
//! keep. Nothing is sent twice by itself; whoever wants that says `--idempotency-key`.

mod connect;

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::exit::{ExitError, Problem, usage};

/// A server that has not answered by then will not; bulk work is sent in small pieces.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Where the server is, and who asks.
#[derive(Clone, Debug, clap::Args)]
pub struct Remote {
    /// Where the server is.
    #[arg(
        long,
        env = "STEADFAST_URL",
        default_value = "http://127.0.0.1:7373",
        global = true,
        help_heading = "Server"
    )]
    pub url: String,
    /// An API key, if the server needs one.
    #[arg(
        long,
        env = "STEADFAST_API_KEY",
        hide_env_values = true,
        global = true,
        help_heading = "Server",
        value_name = "KEY"
    )]
    pub api_key: Option<String>,
    /// Certificates to trust besides the usual ones, in PEM.
    #[arg(
        long,
        env = "STEADFAST_CA_FILE",
        global = true,
        help_heading = "Server",
        value_name = "FILE"
    )]
    pub ca_file: Option<PathBuf>,
    /// Print the API's JSON, for programs.
    #[arg(long, global = true, help_heading = "Server")]
    pub json: bool,
}

/// Parameters of a list; what is `None` is left out.
pub type Query<'q> = &'q [(&'q str, Option<String>)];

impl Remote {
    pub async fn get(&self, path: &str, query: Query<'_>) -> anyhow::Result<Value> {
        self.ask(Method::GET, &with_query(path, query), None).await
    }

    /// `null` is no body at all.
    pub async fn post(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        let body = Some(body).filter(|body| !body.is_null());
        self.ask(Method::POST, path, body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> anyhow::Result<Value> {
        self.ask(Method::PATCH, path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> anyhow::Result<Value> {
        self.ask(Method::DELETE, path, None).await
    }

    /// What a page outside the API says, as `/healthz`.
    pub async fn page(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.request(Method::GET, path, None)?;
        whole(self.send(request).await?).await
    }

    /// A stream of events, which goes on until the server stops.
    pub async fn events(&self, query: Query<'_>) -> anyhow::Result<Incoming> {
        let path = with_query("/api/v1/events", query);
        let request = self.request(Method::GET, &path, None)?;
        let response = self.send(request).await?;
        match response.status().is_success() {
            true => Ok(response.into_body()),
            false => Err(refusal(response).await),
        }
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> anyhow::Result<Value> {
        let request = self.request(method, &format!("/api/v1{path}"), body)?;
        let answer = async {
            let response = self.send(request).await?;
            match response.status().is_success() {
                true => whole(response).await,
                false => Err(refusal(response).await),
            }
        };
        let late = || ExitError::Unreachable(format!("{} does not answer in time", self.url));
        timeout(ANSWER_MAX, answer).await.map_err(|_| late())?
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let base = self.url.trim_end_matches('/');
        let wrong = || {
            usage(format!(
                "--url {base:?} must be like http://127.0.0.1:7373 or https://jobs.example.com"
            ))
        };
        let uri: Uri = format!("{base}{path}").parse().map_err(|_| wrong())?;
        if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(wrong());
        }
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(key) = &self.api_key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", key.trim()));
        }
        let bytes = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        request
            .body(Full::new(bytes))
            .map_err(|_| usage("the API key holds characters that no key has"))
    }

    async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> anyhow::Result<http::Response<Incoming>> {
        connect::send(request, self.ca_file.as_deref())
            .await
            .map_err(|error| {
                ExitError::Unreachable(format!(
                    "cannot reach {}: {error:#}\n  is `steadfast serve` running? --url or STEADFAST_URL says where",
                    self.url
                ))
                .into()
            })
    }
}

fn with_query(path: &str, query: Query<'_>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query {
        if let Some(value) = value {
            text.append_pair(name, value);
        }
    }
    match text.finish() {
        text if text.is_empty() => path.to_owned(),
        text => format!("{path}?{text}"),
    }
}

/// Ids and names as part of a path: whatever is in them stays one part.
pub fn part(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes())
        .collect::<String>()
        .replace('+', "%20")
}

async fn whole(response: http::Response<Incoming>) -> anyhow::Result<Value> {
    let is_empty = response.status() == StatusCode::NO_CONTENT;
    let body = response.into_body().collect().await;
    let bytes = body.context("the answer broke off")?.to_bytes();
    if is_empty || bytes.is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(&bytes).context("the answer is not JSON: is this a Steadfast server?")
}

async fn refusal(response: http::Response<Incoming>) -> anyhow::Error {
    let status = response.status();
    let body = response.into_body().collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    let problem = serde_json::from_slice(&bytes).unwrap_or_else(|_| Problem {
        status: status.as_u16(),
        code: "not_steadfast".to_owned(),
        detail: format!("the answer is {status}: is this a Steadfast server?"),
        field: None,
    });
    ExitError::Refused(problem).into()
}
