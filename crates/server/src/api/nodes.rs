//! The nodes that serve this store.

use std::sync::Arc;

use axum::extract::State;
use steadfast_api::{NodeBody, NodeList};

use super::Answer;
use crate::{access::Reads, app::App, json::Json, problem::Problems};

/// List the nodes by name, including those that have just gone silent.
///
/// They serve all tenants, so a key of one tenant may not see them.
#[utoipa::path(
    get, path = "/nodes", tag = "Nodes", operation_id = "listNodes",
    responses((status = 200, description = "All nodes", body = NodeList), Problems)
)]
pub async fn list(State(app): State<Arc<App>>, Reads(caller): Reads) -> Answer<NodeList> {
    caller.require_all_tenants()?;
    let now = app.client.now();
    let nodes = app.client.nodes().await?.into_iter();
    Ok(Json(NodeList {
        nodes: nodes
            .map(|node| NodeBody {
                alive: node.is_alive(now),
                name: node.name.to_string(),
                version: node.version,
                queues: node.queues.iter().map(ToString::to_string).collect(),
                concurrency: node.concurrency,
                in_flight: node.in_flight,
                started_at: node.started_at,
                last_seen: node.last_seen,
            })
            .collect(),
    }))
}
