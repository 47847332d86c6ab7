//! Alerts, and the nodes that serve a store.

use serde::{Deserialize, Serialize};
use steadfast_core::{AlertState, Timestamp};

#[cfg(feature = "openapi")]
use crate::schema::AlertSchema;

/// Alerts that fire, are about to, or did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AlertList {
    /// One for each rule and tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<AlertSchema>))]
    pub alerts: Vec<AlertState>,
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// All nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeList {
    /// By name.
    pub nodes: Vec<NodeBody>,
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// One process that serves the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Node))]
pub struct NodeBody {
    /// Its name.
    pub name: String,
    /// The version of Steadfast that it runs.
    pub version: String,
    /// Which queues it serves; all if the list is empty.
    pub queues: Vec<String>,
    /// How many jobs it runs at once.
    pub concurrency: usize,
    /// How many it runs at the moment.
    pub in_flight: usize,
    /// When it started.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Timestamp,
    /// When it last gave a sign of life.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// Whether that was recent enough.
    pub alive: bool,
}
