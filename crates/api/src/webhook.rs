//! The bodies of webhooks.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_core::{EventId, EventType, Job, Timestamp};

use crate::jobs::job::JobBody;

/// A delivery in the format of Standard Webhooks. Of events of jobs, `data` is a [`JobBody`]; of
/// alerts, a [`steadfast_core::AlertState`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WebhookEventBody<T> {
    /// `evt_…`: the same for every endpoint and every retry.
    pub id: EventId,
    /// The type of the event.
    #[serde(rename = "type")]
    pub event: EventType,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The subject of the event.
    pub data: T,
}

/// The `data` of an event of a job: the job as `GET /jobs/{id}` answers it, without its payload.
pub fn webhook_job(job: &Job, now: Timestamp) -> Value {
    serde_json::to_value(JobBody::without_payload(job.clone(), now)).unwrap_or_default()
}
