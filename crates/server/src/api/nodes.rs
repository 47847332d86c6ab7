//! The nodes that serve this store.

use std::sync::Arc;

use axum::extract::State;

use super::{Answer, wire::Nodes};
use crate::{App, access::Reads, json::Json, problem::Problems};

/// The nodes, by name, those included that have just gone silent.
#[utoipa::path(
    get, path = "/nodes", tag = "nodes",
    responses((status = 200, description = "All nodes", body = Nodes), Problems)
)]
pub async fn list(State(app): State<Arc<App>>, _: Reads) -> Answer<Nodes> {
    let now = app.client.now();
    let nodes = app.client.nodes().await?.into_iter();
    Ok(Json(Nodes {
        nodes: nodes.map(|node| (node, now).into()).collect(),
    }))
}
