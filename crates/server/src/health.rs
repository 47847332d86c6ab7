//! For monitoring: is it alive, and should it get requests?

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde_json::{Value, json};
use steadfast_store::{JobFilter, JobPageRequest};

use crate::{app::App, json::Json};

/// Alive means that this process responds; a store that is down is no reason to kill it.
pub async fn healthz(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "node": app.node.name(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// Ready means that the store responds and that the node is not stopping.
pub async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, Json<Value>) {
    let not_ready = |detail: &str| {
        let body = json!({"status": "unavailable", "detail": detail});
        (StatusCode::SERVICE_UNAVAILABLE, Json(body))
    };
    if app.node.is_stopping() {
        return not_ready("the node is stopping");
    }
    let probe = app
        .client
        .jobs(JobFilter::default(), JobPageRequest::first(1));
    match probe.await {
        Ok(_) => (StatusCode::OK, Json(json!({"status": "ok"}))),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            not_ready("the store does not respond")
        }
    }
}
