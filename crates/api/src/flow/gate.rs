//! Gates: how much of one thing may run, and how fast it may start.

use serde::{Deserialize, Serialize};
use steadfast_core::{Gate, Timestamp, explain::brief};
pub use steadfast_core::{GatePatch as SetGateRequest, GateScope};

#[cfg(feature = "openapi")]
use crate::schema::GateSchema;

/// All gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GateList {
    /// By scope, key and tenant.
    pub gates: Vec<GateBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list.
    #[serde(default, rename = "nextCursor")]
    pub next_cursor: Option<String>,
}

/// A gate with its current use, if known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Gate))]
#[non_exhaustive]
pub struct GateBody {
    /// The scope, key and limits of the gate.
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(value_type = GateSchema))]
    pub gate: Gate,
    /// Number of running attempts; only if the gate limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<u32>,
    /// Number of waiting jobs; only if the gate limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<u64>,
    /// When the next attempt may start; only if the rate limit is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub next_start: Option<Timestamp>,
}

impl GateBody {
    /// A gate with its present use.
    pub fn new(
        gate: Gate,
        running: Option<u32>,
        waiting: Option<u64>,
        next_start: Option<Timestamp>,
    ) -> Self {
        Self {
            gate,
            running,
            waiting,
            next_start,
        }
    }

    /// Its present use, as `3 of 5 running, next start in 80ms`; empty if there is nothing to say.
    pub fn describe_use(&self, now: Timestamp) -> String {
        let running = self.running.map(|running| {
            let most = self.gate.limits.most_running();
            let most = most.map_or(String::new(), |most| format!(" of {most}"));
            format!("{running}{most} running")
        });
        let waiting = self.waiting.map(|waiting| {
            let most = self.gate.limits.max_waiting;
            let most = most.map_or(String::new(), |most| format!(" of {most}"));
            format!("{waiting}{most} waiting")
        });
        let next = self.next_start.map(|next| match next > now {
            true => format!("next start in {}", brief(next.since(now))),
            false => "next start now".to_owned(),
        });
        let parts: Vec<String> = [running, waiting, next].into_iter().flatten().collect();
        parts.join(", ")
    }
}

impl From<Gate> for GateBody {
    fn from(gate: Gate) -> Self {
        Self {
            gate,
            running: None,
            waiting: None,
            next_start: None,
        }
    }
}
