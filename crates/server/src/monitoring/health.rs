//! For monitoring: is it alive, and should it get requests?

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use serde_json::{Value, json};
use steadfast_engine::{RoleState, RoleStatus};

use crate::{app::App, http::Json};

/// Alive means that this process responds; a store that is down is no reason to kill it.
pub async fn healthz(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({
        "status": "ok",
        "node": app.node.name(),
        "version": env!("CARGO_PKG_VERSION"),
    }))
}

/// Ready means that the store takes writes, that every background part of the node does its work,
/// and that the node is not stopping.
///
/// The body says what is wrong: `detail` in words, `store` and each of `roles` with a status of
/// its own (`ok`, `failing`, `stuck` or `ended`), and for a role how long ago its last good round
/// was. A store that hangs is given up after a moment.
pub async fn readyz(State(app): State<Arc<App>>) -> (StatusCode, Json<Value>) {
    let store = app.store_check.run(&*app.node.store()).await;
    let roles = app.node.roles();
    let bad_role = roles.iter().find(|role| role.status != RoleStatus::Ok);
    let detail = match (app.node.is_stopping(), &store, bad_role) {
        (true, ..) => Some("the node is stopping".to_owned()),
        (_, Err(detail), _) => Some((*detail).to_owned()),
        (_, _, Some(role)) => Some(format!(
            "the {} is {}: its last successful round was {} s ago",
            role.name,
            role.status.as_str(),
            role.last_good.as_secs(),
        )),
        _ => None,
    };
    let roles: Vec<Value> = roles.iter().map(role_body).collect();
    let mut body = json!({
        "status": "ok",
        "store": {"status": if store.is_ok() { "ok" } else { "failing" }},
        "roles": roles,
    });
    let Some(detail) = detail else {
        return (StatusCode::OK, Json(body));
    };
    tracing::warn!(detail, "not ready");
    body["status"] = json!("unavailable");
    body["detail"] = json!(detail);
    (StatusCode::SERVICE_UNAVAILABLE, Json(body))
}

fn role_body(role: &RoleState) -> Value {
    let last_good = u64::try_from(role.last_good.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": role.name,
        "status": role.status.as_str(),
        "lastGoodRoundMs": last_good,
    })
}
