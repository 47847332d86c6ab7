//! The HTTP side of a node.
//!
//! The caller owns the socket and the stop signal, so that tests bind port 0 and stop apart.

use axum::{Json, Router, extract::State, http::StatusCode, routing::get};
use serde_json::json;
use steadfast_engine::Client;
use steadfast_store::{JobFilter, JobPage};
use tokio::net::TcpListener;

/// Serves a node's HTTP side until `stop` is ready.
pub async fn serve(
    listener: TcpListener,
    client: Client,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let router = Router::new()
        .route("/healthz", get(healthz))
        .with_state(client);
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await
}

/// Healthy means that the store answers.
async fn healthz(State(client): State<Client>) -> (StatusCode, Json<serde_json::Value>) {
    let version = env!("CARGO_PKG_VERSION");
    match client.jobs(JobFilter::default(), JobPage::first(1)).await {
        Ok(_) => {
            let body = json!({"status": "ok", "version": version});
            (StatusCode::OK, Json(body))
        }
        Err(error) => {
            let body =
                json!({"status": "unavailable", "detail": error.to_string(), "version": version});
            (StatusCode::SERVICE_UNAVAILABLE, Json(body))
        }
    }
}
