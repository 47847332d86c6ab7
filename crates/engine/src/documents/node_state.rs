//! A node, as it describes itself in the store.

use serde::{Deserialize, Serialize};
use steadfast_core::{Kind, Queue, Tenant, Timestamp, WorkerName};

use crate::limits::NODE_SILENT_AFTER;

/// A node, as it describes itself in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NodeState {
    /// The name under which it claims jobs.
    pub name: WorkerName,
    /// The version of the engine that it runs.
    pub version: String,
    /// The queues that it serves; none means all.
    pub queues: Vec<Queue>,
    /// The kinds that it has handlers for; `None` for a node of an older version.
    #[serde(default)]
    pub kinds: Option<Vec<Kind>>,
    /// How many attempts it runs at once.
    pub concurrency: usize,
    /// How many attempts ran at the last heartbeat.
    pub in_flight: usize,
    /// Tenants that had their share of the slots for calls at the last heartbeat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full_for: Vec<Tenant>,
    /// Why it cannot use the TLS certificate in its files, if it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_problem: Option<String>,
    /// What it corrected in the store lately, if it had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<String>,
    /// How slow the store is, if this node refuses creates for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_problem: Option<String>,
    /// The id of the key that encrypts what it stores, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption_key: Option<String>,
    /// When it started, by the store's clock.
    pub started_at: Timestamp,
    /// The time of its last heartbeat.
    pub last_seen: Timestamp,
}

impl NodeState {
    /// Whether it has no free slot for jobs of a tenant and kind. Webhooks and handlers have slots
    /// of their own.
    pub fn is_full_for(&self, tenant: &Tenant, kind: Option<&Kind>) -> bool {
        let is_call = kind.is_some_and(|kind| *kind == Kind::http());
        self.in_flight >= self.concurrency || is_call && self.full_for.contains(tenant)
    }

    /// What is wrong with it.
    pub fn problems(&self) -> impl Iterator<Item = &str> {
        let problems = [&self.store_problem, &self.certificate_problem];
        problems.into_iter().flatten().map(String::as_str)
    }

    /// Whether its last heartbeat is recent.
    pub fn is_alive(&self, now: Timestamp) -> bool {
        now.since(self.last_seen) < NODE_SILENT_AFTER
    }
}
