//! The webhook of a single job: address, events, secret.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    policy::{PolicyPatch, Preset},
    values::{Destination, EndpointId, Invalid, Queue, string_enum},
};

string_enum! {
    /// The type of an event.
    EventType, "events" {
        /// A job succeeded.
        JobSucceeded = "job.succeeded",
        /// A job was given up.
        JobFailed = "job.failed",
        /// An attempt failed, and the job will be retried.
        JobRetrying = "job.retrying",
        /// A job was cancelled.
        JobCancelled = "job.cancelled",
        /// An alert began to fire.
        AlertFired = "alert.fired",
        /// An alert still fires.
        AlertRenotified = "alert.renotified",
        /// An alert stopped firing.
        AlertResolved = "alert.resolved",
        /// An endpoint was disabled, because its target says that it is gone.
        EndpointDisabled = "endpoint.disabled",
        /// A person tries an endpoint; it is sent to that one alone.
        EndpointTest = "endpoint.test",
    }
}

impl EventType {
    /// The events that are sent by default.
    pub const OF_JOBS: &[Self] = &[Self::JobSucceeded, Self::JobFailed];

    /// The queue that its deliveries wait in.
    pub fn delivery_queue(self) -> Queue {
        if self.is_of_jobs() || self == Self::EndpointTest {
            Queue::webhooks()
        } else {
            Queue::alerts()
        }
    }

    /// Whether it is about a job, and not about an alert or an endpoint.
    pub fn is_of_jobs(self) -> bool {
        matches!(
            self,
            Self::JobSucceeded | Self::JobFailed | Self::JobRetrying | Self::JobCancelled
        )
    }

    /// Events that an endpoint can subscribe to: all but tests.
    pub fn subscribable() -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|event| *event != Self::EndpointTest)
    }
}

string_enum! {
    /// How the body of a delivery is written.
    BodyFormat, "format" {
        /// As Standard Webhooks says: type, timestamp, data.
        Standard = "standard",
        /// One line of text, as Slack and its kin take it.
        Slack = "slack",
        /// As CloudEvents 1.0 says, with all attributes in the body.
        CloudEvents = "cloudevents",
    }
}

string_enum! {
    /// How the callbacks of a message are made.
    #[non_exhaustive]
    CallbackStyle, "callbacks" {
        /// As QStash does: a message of its own for each callback that the payload names.
        Qstash = "qstash",
    }
}

/// A secret that signs deliveries. It is stored, and shown only once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// The secret with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for signing and for showing it once to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("whsec_…")
    }
}

/// A job's own webhook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Where deliveries go.
    #[serde(flatten)]
    pub target: WebhookTarget,
    /// The events that are delivered.
    pub events: Vec<EventType>,
    /// Its own part of the retry policy of deliveries, over that of queue, tenant and server.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
}

/// Where deliveries go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub enum WebhookTarget {
    /// An endpoint, whose address and secrets are looked up when a delivery is sent, so that it is
    /// signed by the secrets of that time.
    Endpoint {
        /// The endpoint.
        endpoint: EndpointId,
    },
    /// An address of the job's own.
    Url {
        /// The address.
        url: String,
        /// The secret that signs, if deliveries are signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<WebhookSecret>,
    },
    /// No address: the delivery makes the callbacks that the payload of its job names.
    Callbacks {
        /// How they are made.
        callbacks: CallbackStyle,
    },
}

impl WebhookTarget {
    /// The origin of an address of the job's own; `None` where the address is not here.
    pub fn destination(&self) -> Option<Destination> {
        match self {
            Self::Endpoint { .. } | Self::Callbacks { .. } => None,
            Self::Url { url, .. } => Destination::of_url(url),
        }
    }
}

impl Webhook {
    /// Checks its policy and its events.
    pub fn check(&self) -> Result<(), Invalid> {
        let policy = self.retry.over(&Preset::Webhook.policy());
        policy.map_err(|error| error.within("retry"))?;
        if let Some(event) = self.events.iter().find(|event| !event.is_of_jobs()) {
            let expected = "must be job events; other events go to endpoints";
            return Err(Invalid::new("events", event, expected));
        }
        Ok(())
    }
}
