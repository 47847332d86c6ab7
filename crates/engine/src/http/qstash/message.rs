//! What a message has beyond its request.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    CallbackStyle, EventType, Payload, PolicyPatch, Timestamp, Webhook, WebhookTarget, duration,
};

/// What a message of QStash has beyond its request. As JSON it is stored with the payload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QstashMessage {
    /// The URL group it was published to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url_group: Option<String>,
    /// The name of the endpoint within that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The queue it was enqueued in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The schedule that makes it, as its creator knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// Its labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The formula that its delays were calculated with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_delay: Option<String>,
    /// The limits that it was published with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<QstashFlowControl>,
    /// Called after each attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback: Option<QstashCallback>,
    /// Called if it is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_callback: Option<QstashCallback>,
    /// Before when it is not sent, in milliseconds, if its creator said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<i64>,
    /// The message that it is a callback of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// The limits of a flow control key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QstashFlowControl {
    /// The key.
    pub key: String,
    /// How many may be under way at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<u32>,
    /// How many may start in a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// The period in seconds.
    pub period: u64,
}

/// A message that is made when something became of another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QstashCallback {
    /// Where it goes.
    pub url: String,
    /// The method; POST by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Headers that it is sent with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its retry policy.
    #[serde(skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
    /// How long it waits before its first attempt.
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub delay: Option<Duration>,
    /// How long an attempt may take.
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub timeout: Option<Duration>,
}

/// The response of an attempt, as its record keeps it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct QstashResponse {
    /// The status; `None` if there was no response.
    pub status: Option<u16>,
    /// The headers.
    pub headers: BTreeMap<String, String>,
    /// The beginning of the body.
    pub body: String,
}

impl QstashResponse {
    /// Reads it from the output of an attempt.
    pub fn of(output: Option<&Payload>) -> Self {
        let response = output.and_then(|output| output.decode().ok());
        response.unwrap_or_default()
    }
}

impl QstashMessage {
    /// The queue of messages that were published to no queue.
    pub const QUEUE: &str = "qstash";

    /// The tag that all messages have.
    pub const TAG: (&str, &str) = ("qstash", "message");

    /// The name of the tag by which messages with a label are found.
    pub fn label_tag(label: &str) -> String {
        format!("qstash label {label}")
    }

    /// When it may be sent first, in milliseconds.
    pub fn not_before_ms(&self, created_at: Timestamp) -> i64 {
        let created_at = created_at.as_micros() / 1_000;
        self.not_before.unwrap_or(created_at)
    }

    /// The webhook that makes its callbacks; `None` if it has none.
    pub fn webhook(&self) -> Option<Webhook> {
        let events = match (&self.callback, &self.failure_callback) {
            (Some(_), _) => vec![
                EventType::JobSucceeded,
                EventType::JobFailed,
                EventType::JobRetrying,
            ],
            (None, Some(_)) => vec![EventType::JobFailed],
            (None, None) => return None,
        };
        Some(Webhook {
            target: WebhookTarget::Callbacks {
                callbacks: CallbackStyle::Qstash,
            },
            events,
            retry: PolicyPatch::default(),
        })
    }
}
