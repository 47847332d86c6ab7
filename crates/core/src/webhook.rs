//! Events of jobs for other systems: which systems are sent them, and the jobs that deliver them.
//!
//! A delivery is a job like any other, written in one transaction with the change it reports. So
//! nothing here sends anything; it decides what the outbox holds. Ids of events and deliveries
//! follow from what happened, so that a transition decided twice has the same outbox.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    str::FromStr,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    EndpointId, EventId, Invalid, Job, JobId, Kind, NewJob, Payload, PolicyPatch, Preset, Queue,
    RetryPolicy, Tenant, Timestamp, string_enum,
};

string_enum! {
    /// What happened to a job or an alert.
    EventType, "events" {
        /// A job ended well.
        JobSucceeded = "job.succeeded",
        /// A job ended without success.
        JobFailed = "job.failed",
        /// An attempt failed and will be retried.
        JobRetrying = "job.retrying",
        /// A job was cancelled.
        JobCancelled = "job.cancelled",
        /// An alert began to fire.
        AlertFired = "alert.fired",
        /// An alert still fires.
        AlertRenotified = "alert.renotified",
        /// An alert stopped firing.
        AlertResolved = "alert.resolved",
    }
}

impl EventType {
    /// The events that are sent by default.
    pub const OF_JOBS: &[Self] = &[Self::JobSucceeded, Self::JobFailed];

    /// Whether it is an event of a job, not of an alert.
    pub fn is_of_jobs(self) -> bool {
        !matches!(
            self,
            Self::AlertFired | Self::AlertRenotified | Self::AlertResolved
        )
    }
}

string_enum! {
    /// How the body of a webhook is written.
    BodyFormat, "format" {
        /// As Standard Webhooks says: type, timestamp, data.
        Standard = "standard",
        /// One line of text, as Slack and compatible systems take it.
        Slack = "slack",
    }
}

/// A key for signing. It is stored, and `Debug` does not print it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WebhookSecret(String);

impl WebhookSecret {
    /// Takes the text of a secret, `whsec_…`.
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
    /// Where it is sent.
    #[serde(flatten)]
    pub target: WebhookTarget,
    /// Which events of the job are sent.
    pub events: Vec<EventType>,
    /// How deliveries are retried: a patch over the preset `webhook`.
    #[serde(default, skip_serializing_if = "PolicyPatch::is_empty")]
    pub retry: PolicyPatch,
}

/// Where a webhook is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub enum WebhookTarget {
    /// An endpoint of the tenant. Its address and secrets are looked up at each attempt, so that a
    /// new secret applies at once.
    Endpoint {
        /// The endpoint.
        endpoint: EndpointId,
    },
    /// An address that the job itself names.
    Url {
        /// The address.
        url: String,
        /// What deliveries are signed with; without one they are not signed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<WebhookSecret>,
    },
}

/// The events that an endpoint is to be sent.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Where they are sent.
    pub endpoint: EndpointId,
    /// Which events are sent.
    pub events: Vec<EventType>,
    /// How the bodies are written.
    pub format: BodyFormat,
    /// How deliveries are retried.
    pub policy: Arc<RetryPolicy>,
}

/// The endpoints of all tenants, with the events that each is to be sent.
#[derive(Clone, Debug, Default)]
pub struct Subscriptions(HashMap<Tenant, Vec<Subscription>>);

/// Something that happened, as webhooks report it.
#[derive(Clone, Debug)]
pub struct WebhookEvent {
    /// What happened.
    pub event: EventType,
    /// To whose job or alert it happened.
    pub tenant: Tenant,
    /// When it happened.
    pub at: Timestamp,
    /// The job or alert it is about, with the field names of the API.
    pub data: Value,
    /// The same in a sentence.
    pub text: String,
    /// Tells this event apart from all others of its kind.
    pub seed: String,
    /// For finding deliveries.
    pub tags: BTreeMap<String, String>,
}

impl Subscriptions {
    /// Adds an endpoint of a tenant.
    pub fn subscribe(&mut self, tenant: Tenant, subscription: Subscription) {
        self.0.entry(tenant).or_default().push(subscription);
    }

    /// Whether the job's own webhook or an endpoint is to be sent this event. Deliveries have no
    /// events of their own.
    pub fn wants(&self, job: &Job, event: EventType) -> bool {
        job.kind != Kind::webhook()
            && (job
                .webhook
                .as_ref()
                .is_some_and(|own| own.events.contains(&event))
                || self.subscribed(&job.tenant, event).next().is_some())
    }

    /// The deliveries of one event of a job, given the job as the event left it.
    pub fn tell(&self, job: &Job, event: EventType, at: Timestamp) -> Vec<NewJob> {
        if !self.wants(job, event) {
            return Vec::new();
        }
        let news = WebhookEvent {
            event,
            tenant: job.tenant.clone(),
            at,
            data: data(job, at),
            text: text(job, event),
            seed: format!("{} {} {event}", job.id, job.progress.fence.0),
            tags: BTreeMap::from([("job".to_owned(), job.id.to_string())]),
        };
        let own = job
            .webhook
            .as_ref()
            .filter(|own| own.events.contains(&event));
        let own = own.map(|own| Subscriber {
            target: own.target.clone(),
            format: BodyFormat::Standard,
            policy: own.policy(),
        });
        let mut deliveries: Vec<NewJob> = own.iter().filter_map(|own| news.delivery(own)).collect();
        deliveries.extend(self.deliver(&news));
        deliveries
    }

    /// The deliveries of an event to the endpoints of its tenant.
    pub fn deliver(&self, news: &WebhookEvent) -> Vec<NewJob> {
        self.subscribed(&news.tenant, news.event)
            .filter_map(|subscription| {
                news.delivery(&Subscriber {
                    target: WebhookTarget::Endpoint {
                        endpoint: subscription.endpoint,
                    },
                    format: subscription.format,
                    policy: subscription.policy.clone(),
                })
            })
            .collect()
    }

    fn subscribed(&self, tenant: &Tenant, event: EventType) -> impl Iterator<Item = &Subscription> {
        let all = self.0.get(tenant).into_iter().flatten();
        all.filter(move |subscription| subscription.events.contains(&event))
    }
}

impl Webhook {
    fn policy(&self) -> Arc<RetryPolicy> {
        let preset = Preset::Webhook.policy();
        // A patch was checked when the job was made.
        Arc::new(self.retry.over(&preset).unwrap_or(preset))
    }

    /// Refuses a patch that does not fit the preset `webhook`, and events that jobs do not have.
    pub fn check(&self) -> Result<(), Invalid> {
        self.retry.over(&Preset::Webhook.policy())?;
        if let Some(event) = self.events.iter().find(|event| !event.is_of_jobs()) {
            let expected = "must be events of jobs; alerts go to endpoints";
            return Err(Invalid::new("events", event, expected));
        }
        Ok(())
    }
}

struct Subscriber {
    target: WebhookTarget,
    format: BodyFormat,
    policy: Arc<RetryPolicy>,
}

impl WebhookEvent {
    fn id(&self) -> EventId {
        EventId::new(self.at, self.number(""))
    }

    fn number(&self, whom: &str) -> u64 {
        let mut hash = Sha256::new();
        for part in [self.tenant.as_str(), self.event.as_str(), &self.seed, whom] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(first)
    }

    fn body(&self, format: BodyFormat) -> Value {
        match format {
            BodyFormat::Slack => json!({"text": slack(&self.text)}),
            BodyFormat::Standard => json!({
                "id": self.id(),
                "type": self.event,
                "timestamp": self.at,
                "data": self.data,
            }),
        }
    }

    /// The payload is the very body that is sent, so that every retry sends the same bytes.
    fn delivery(&self, to: &Subscriber) -> Option<NewJob> {
        let whom = match &to.target {
            WebhookTarget::Endpoint { endpoint } => endpoint.to_string(),
            WebhookTarget::Url { url, .. } => url.clone(),
        };
        let id = JobId::new(self.at, self.number(&whom));
        let body = Payload::encode(&self.body(to.format)).ok()?;
        let mut job = NewJob::new(id, Kind::webhook(), body, to.policy.clone());
        job.tenant = self.tenant.clone();
        job.queue = match self.event.is_of_jobs() {
            true => Queue::webhooks(),
            false => Queue::alerts(),
        };
        job.webhook = Some(Arc::new(Webhook {
            target: to.target.clone(),
            events: vec![self.event],
            retry: PolicyPatch::default(),
        }));
        let mut tags = self.tags.clone();
        tags.insert("event".to_owned(), self.event.to_string());
        tags.insert("eventId".to_owned(), self.id().to_string());
        job.with_tags(tags).ok()
    }
}

/// Other systems write the messages of failures; they must not become links or notify a channel.
fn slack(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.replace('&', "&amp;");
    line.replace('<', "&lt;").replace('>', "&gt;")
}

/// The job in the body of a webhook. Its payload is left out: it may be confidential.
fn data(job: &Job, now: Timestamp) -> Value {
    let progress = &job.progress;
    json!({
        "id": job.id,
        "tenant": job.tenant,
        "queue": job.queue,
        "kind": job.kind,
        "label": job.label(now),
        "type": job.guarantee,
        "attempt": progress.attempt,
        "retryCount": job.retry_count(),
        "maxRetries": job.policy.max_retries(),
        "runAt": progress.run_at,
        "createdAt": job.created_at,
        "startedAt": progress.started_at,
        "finishedAt": progress.finished_at,
        "scheduleId": job.scheduled_run.map(|run| run.schedule),
        "scheduledFor": job.scheduled_run.map(|run| run.tick),
        "failure": progress.failure,
        "reason": progress.reason,
        "tags": job.tags,
    })
}

fn text(job: &Job, event: EventType) -> String {
    let (_, word) = event.as_str().split_once('.').unwrap_or_default();
    let word = match event {
        EventType::JobRetrying => "failed and will be retried",
        _ => word,
    };
    let why = job
        .progress
        .failure
        .as_ref()
        .filter(|_| event != EventType::JobSucceeded);
    let why = why
        .map(|failure| format!(": {failure}"))
        .unwrap_or_default();
    format!(
        "job {} ({}) of {} {word}{why}",
        job.id, job.kind, job.tenant
    )
}
