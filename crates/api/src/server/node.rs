//! Alerts, the nodes that serve a store, and the workers that run its jobs.

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

/// The workers that have claimed jobs within the last day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerList {
    /// By tenant and name.
    pub workers: Vec<WorkerBody>,
    /// Where to go on, as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// One process that claims jobs over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Worker))]
#[non_exhaustive]
pub struct WorkerBody {
    /// Its name.
    pub name: String,
    /// The tenant whose jobs it claims; null if those of all.
    pub tenant: Option<String>,
    /// From which queues it claims; all if the list is empty.
    pub queues: Vec<String>,
    /// Which kinds it claims; all but those that nodes run if the list is empty.
    pub kinds: Vec<String>,
    /// How many jobs it runs at once, if it says so.
    pub concurrency: Option<u32>,
    /// The version of its program.
    pub version: Option<String>,
    /// The machine it runs on.
    pub host: Option<String>,
    /// The library it was written with.
    pub library: Option<String>,
    /// When it first claimed.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub first_seen: Timestamp,
    /// When it last claimed or sent heartbeats, to within 15 s.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// How many jobs it holds, of the newest 500 that run.
    pub running: usize,
    /// Whether it was seen within 90 s.
    pub alive: bool,
}

impl WorkerBody {
    /// A worker of which only name and times are known.
    pub fn new(name: String, first_seen: Timestamp, last_seen: Timestamp) -> Self {
        Self {
            name,
            tenant: None,
            queues: Vec::new(),
            kinds: Vec::new(),
            concurrency: None,
            version: None,
            host: None,
            library: None,
            first_seen,
            last_seen,
            running: 0,
            alive: false,
        }
    }
}
