//! Alerts, the nodes that serve a store, and the workers that run its jobs.

use serde::{Deserialize, Serialize};
use steadfast_core::{AlertRule, AlertState, AlertSubject, Timestamp};

#[cfg(feature = "openapi")]
use crate::schema::{AlertSchema, NameSchema};

/// Alerts: firing, pending and resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AlertList {
    /// One alert per rule and tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<AlertSchema>))]
    pub alerts: Vec<AlertState>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A request to acknowledge firing alerts: all that match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AcknowledgeAlertsRequest {
    /// The rule of the alerts.
    pub rule: AlertRule,
    /// Only alerts of this tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only alerts about these jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<AlertSubject>,
    /// Only the alert of this destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
}

/// A request to silence alerts: all that match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SilenceAlertsRequest {
    /// The rule of the alerts.
    pub rule: AlertRule,
    /// Only alerts of this tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Only alerts about these jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<AlertSubject>,
    /// Only the alert of this destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// When notifications are sent again, at most a week from now. A time that has passed ends a
    /// silence.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub until: Timestamp,
}

/// All nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NodeList {
    /// By name.
    pub nodes: Vec<NodeBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A node: one process that serves the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Node))]
pub struct NodeBody {
    /// Its name.
    pub name: String,
    /// Steadfast version of the node.
    pub version: String,
    /// Queues that it serves; empty means all.
    pub queues: Vec<String>,
    /// Maximum number of concurrent jobs.
    pub concurrency: usize,
    /// Number of running jobs.
    pub in_flight: usize,
    /// Start time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub started_at: Timestamp,
    /// Time of the last heartbeat.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// Whether the node is alive.
    pub alive: bool,
    /// What is wrong with it: a slow store, or a TLS certificate that it cannot use.
    #[serde(default)]
    pub problems: Vec<String>,
}

/// Workers that have claimed jobs within the last day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WorkerList {
    /// By tenant and name.
    pub workers: Vec<WorkerBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
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
    /// Tenant whose jobs it claims; null for all tenants.
    pub tenant: Option<String>,
    /// Queues that it claims from; empty means all.
    pub queues: Vec<String>,
    /// Kinds that it claims; empty means all kinds except those that nodes run.
    pub kinds: Vec<String>,
    /// Maximum number of concurrent jobs, if the worker reports it.
    pub concurrency: Option<u32>,
    /// Version of the worker program.
    pub version: Option<String>,
    /// Host of the worker.
    pub host: Option<String>,
    /// Client library and version.
    pub library: Option<String>,
    /// Time of its first claim.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub first_seen: Timestamp,
    /// Time of its last claim or heartbeat, to within 15 s.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub last_seen: Timestamp,
    /// Number of jobs it holds among the newest 500 running jobs.
    pub running: usize,
    /// Whether the worker was seen within the last 90 s.
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
