//! `/mcp`: the tools of `steadfast-mcp` for agents that connect over HTTP.
//!
//! A tool calls the API of this node without a connection, with the key of the agent's own request.
//! So each rule of the API holds: scopes, tenants, hidden payloads, limits, audit.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts as _, Request},
    http::{self, header},
    response::{IntoResponse as _, Response},
    routing::any,
};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value;
use steadfast_api::AGENT_HEADER;
use steadfast_mcp::{Api, ApiCall, ApiError, Caller, HttpServer, REQUEST_BYTES_MAX};
use steadfast_store::{share_store, wait_outside};
use tower_service::Service as _;

use crate::{
    app::App,
    extract::{Reads, Writes, body},
    limits,
};

/// The route, in front of these routes of the API.
pub fn router(app: Arc<App>, api: Router<Arc<App>>) -> Router<Arc<App>> {
    let own = OwnApi {
        api: api.with_state(app.clone()),
        app,
    };
    match HttpServer::new(Arc::new(own)) {
        Ok(server) => {
            let server = Arc::new(server);
            let answer = async move |Reads { app, caller }: Reads, request: Request| match app
                .try_agent_call(caller.tenant.as_ref())
            {
                // The calls of its tools have places of their own.
                Ok(_permit) => wait_outside(answer(&server, request)).await,
                Err(problem) => problem.into_response(),
            };
            Router::new().route("/mcp", any(answer))
        }
        Err(error) => {
            tracing::error!(%error, "cannot serve agents");
            Router::new()
        }
    }
}

/// Anyone who may read may connect; what a tool may do is decided by the API.
async fn answer(server: &HttpServer, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body::collect(Request::from_parts(parts.clone(), body), REQUEST_BYTES_MAX).await;
    match body {
        Ok(body) => {
            let response = server.answer(Request::from_parts(parts, body)).await;
            response.map(Body::new)
        }
        Err(problem) => problem.into_response(),
    }
}

/// The API of this node.
struct OwnApi {
    api: Router,
    app: Arc<App>,
}

#[async_trait]
impl Api for OwnApi {
    async fn call(&self, caller: &Caller, call: ApiCall) -> Result<Value, ApiError> {
        let request = request(caller, call).map_err(|error| ApiError(error.to_string()))?;
        // A router is always ready.
        let answered = share_store(self.api.clone().call(request)).await;
        let response = match answered {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let body = Limited::new(response.into_body(), limits::AGENT_ANSWER_BYTES_MAX);
        let body = body.collect().await.map_err(|_| {
            let most = limits::AGENT_ANSWER_BYTES_MAX / (1024 * 1024);
            ApiError(format!(
                "the answer is larger than {most} MiB; ask for fewer items with limit"
            ))
        })?;
        let value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        match status.is_success() {
            true => Ok(value),
            false => Err(ApiError::of_problem(&value)),
        }
    }

    async fn may_write(&self, caller: &Caller) -> bool {
        let call = ApiCall {
            method: http::Method::GET,
            path: String::new(),
            query: Vec::new(),
            body: None,
        };
        let Ok(request) = request(caller, call) else {
            return false;
        };
        let (mut parts, _) = request.into_parts();
        let may_write = Writes::from_request_parts(&mut parts, &self.app).await;
        may_write.is_ok()
    }
}

fn request(caller: &Caller, call: ApiCall) -> Result<Request, http::Error> {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(call.query)
        .finish();
    let mut request = http::Request::builder()
        .method(call.method)
        .uri(format!("/api/v1{}?{query}", call.path))
        .header(AGENT_HEADER, &caller.agent);
    if let Some(key) = &caller.authorization {
        request = request.header(header::AUTHORIZATION, key);
    }
    let body = match call.body {
        Some(body) => {
            request = request.header(header::CONTENT_TYPE, "application/json");
            Body::from(body.to_string())
        }
        None => Body::empty(),
    };
    request.body(body)
}
