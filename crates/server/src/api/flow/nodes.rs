//! The nodes that serve this store.

use steadfast_api::{NodeBody, NodeList, PageQuery};
use steadfast_engine::NodeState;

use crate::{
    api::cursor,
    extract::{Params, Reads},
    http::{Answer, Json, Problems},
};

/// List nodes by name, including nodes that recently stopped responding.
///
/// Nodes serve all tenants, so a key for one tenant cannot list them.
#[utoipa::path(
    get, path = "/nodes", tag = "Nodes", operation_id = "listNodes",
    params(PageQuery),
    responses((status = 200, description = "All nodes", body = NodeList), Problems)
)]
pub async fn list(
    Reads { app, caller }: Reads,
    Params(page): Params<PageQuery>,
) -> Answer<NodeList> {
    caller.require_all_tenants()?;
    let now = app.client.now();
    let nodes = app.client.nodes().await?;
    let name = |node: &NodeState| node.name.to_string();
    let (nodes, next_cursor) = cursor::page_of_all(nodes, page.limit, page.after.as_deref(), name)?;
    Ok(Json(NodeList {
        next_cursor,
        nodes: nodes
            .into_iter()
            .map(|node| NodeBody {
                alive: node.is_alive(now),
                problems: node.problems().map(str::to_owned).collect(),
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
