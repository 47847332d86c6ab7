//! A server that fails in many ways, and a receiver of webhooks that verifies every signature.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use steadfast::http::{SigningKey, sign};
use tokio::{net::TcpListener, sync::watch};

use crate::limits::DEMO_SLOW;

pub struct Target {
    pub url: String,
    /// The same target as another destination: what it asks for with Retry-After counts for all
    /// jobs of a destination, and would hold up the others.
    pub busy_url: String,
    pub secret: String,
    verified: watch::Receiver<u32>,
}

struct TargetState {
    /// The number of requests for each path.
    requests: Mutex<HashMap<String, u32>>,
    key: SigningKey,
    verified: watch::Sender<u32>,
}

impl Target {
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let busy_listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let busy_url = format!("http://{}", busy_listener.local_addr()?);
        let key = SigningKey::generate();
        let secret = key.reveal();
        let (sender, verified) = watch::channel(0);
        let state = Arc::new(TargetState {
            requests: Mutex::default(),
            key,
            verified: sender,
        });
        let router = Router::new()
            .route("/webhook", post(receive))
            .route("/{path}", post(respond))
            .with_state(state);
        let busy_router = router.clone();
        tokio::spawn(async move { axum::serve(busy_listener, busy_router).await });
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self {
            url,
            busy_url,
            secret,
            verified,
        })
    }

    /// The number of webhooks that came with a valid signature.
    pub fn verified(&self) -> watch::Receiver<u32> {
        self.verified.clone()
    }
}

async fn respond(State(state): State<Arc<TargetState>>, Path(path): Path<String>) -> Response {
    let request = {
        let mut requests = state
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let count = requests.entry(path.clone()).or_default();
        *count += 1;
        *count
    };
    match (path.as_str(), request) {
        ("always-down", _) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        ("flaky", 1 | 2) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        ("slow", 1) => {
            tokio::time::sleep(DEMO_SLOW).await;
            StatusCode::OK.into_response()
        }
        ("gone", _) => StatusCode::NOT_FOUND.into_response(),
        ("busy", 1) => {
            let later = [(header::RETRY_AFTER, "2")];
            (StatusCode::TOO_MANY_REQUESTS, later).into_response()
        }
        _ => StatusCode::OK.into_response(),
    }
}

/// As a receiver should: compute the signature of the body, and compare.
async fn receive(
    State(state): State<Arc<TargetState>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let time = text("webhook-timestamp").and_then(|text| text.parse().ok());
    let (Some(id), Some(time)) = (text("webhook-id"), time) else {
        return StatusCode::BAD_REQUEST;
    };
    let expected = sign(id, time, &body, std::slice::from_ref(&state.key));
    if text("webhook-signature") != Some(expected.as_str()) {
        return StatusCode::UNAUTHORIZED;
    }
    state.verified.send_modify(|count| *count += 1);
    StatusCode::NO_CONTENT
}
