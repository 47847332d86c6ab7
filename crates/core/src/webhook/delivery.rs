//! Events of jobs for other systems: who subscribed to them, and the jobs that deliver them.
//!
//! A delivery is a job like any other, written in one transaction with the change it reports. So
//! nothing here sends anything; it decides what the outbox holds. Ids of events and deliveries
//! follow from what happened, so that a transition decided twice has the same outbox.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    job::{
        Job, NewJob,
        webhook::{BodyFormat, EventType, Webhook, WebhookTarget},
    },
    policy::{PolicyPatch, Preset, RetryPolicy},
    values::{Destination, EventId, JobId, Kind, Payload, Queue, Tenant, Timestamp, Traceparent},
    webhook::endpoint::{Endpoint, Subscription},
};

/// Writes a job as the `data` of an event.
pub type JobRenderer = fn(&Job, Timestamp) -> Value;

/// The policy of a delivery: the patch of its subscriber over the levels of its queue and tenant.
pub type DeliveryPolicy =
    Arc<dyn Fn(&Tenant, &Queue, &PolicyPatch) -> Arc<RetryPolicy> + Send + Sync>;

/// The subscriptions of all tenants, besides the webhooks that jobs bring along.
#[derive(Clone)]
pub struct Subscriptions {
    by_tenant: HashMap<Tenant, Vec<Subscription>>,
    render_job: JobRenderer,
    policy: DeliveryPolicy,
    version: Option<u64>,
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions")
            .field("by_tenant", &self.by_tenant)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// No endpoint, and events that carry the id of their job and nothing else.
impl Default for Subscriptions {
    fn default() -> Self {
        Self::new(|job, _| json!({"id": job.id}))
    }
}

/// An event, before it is written for each of its subscribers.
#[derive(Clone, Debug)]
pub struct WebhookEvent {
    /// The type of the event.
    pub event: EventType,
    /// The tenant it happened to.
    pub tenant: Tenant,
    /// When it happened.
    pub at: Timestamp,
    /// The subject of the event, in the JSON of the API.
    pub data: Value,
    /// The same in a sentence.
    pub text: String,
    /// Tells this event apart from all others of its kind.
    pub seed: String,
    /// For finding deliveries.
    pub tags: BTreeMap<String, String>,
    /// The trace that deliveries continue.
    pub traceparent: Option<Traceparent>,
}

impl Subscriptions {
    /// No endpoint yet. The JSON of a job belongs to the API, so the engine brings `render_job`
    /// along, and core does not know what it looks like.
    pub fn new(render_job: JobRenderer) -> Self {
        Self {
            by_tenant: HashMap::new(),
            render_job,
            policy: Arc::new(|_, _, patch| {
                let preset = Preset::Webhook.policy();
                Arc::new(patch.over(&preset).unwrap_or(preset))
            }),
            version: None,
        }
    }

    /// Sets how the policy of a delivery is found; by default it is the preset `webhook` under the
    /// subscriber's patch.
    #[must_use]
    pub fn with_policy(mut self, policy: DeliveryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the version of the endpoints that these are. A transition that is decided with them
    /// is written only if it still is the version in the store.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Self {
        self.version = Some(version);
        self
    }

    /// The version of the endpoints that a transition of this job depends on. Nothing is reported
    /// of deliveries, so those depend on none.
    pub(crate) fn version_for(&self, job: &Job) -> Option<u64> {
        self.version.filter(|_| job.kind != Kind::webhook())
    }

    /// Adds a subscription.
    pub fn subscribe(&mut self, tenant: Tenant, subscription: Subscription) {
        self.by_tenant.entry(tenant).or_default().push(subscription);
    }

    /// Whether an event of a job is delivered at all. Events of deliveries never are.
    pub fn wants(&self, job: &Job, event: EventType) -> bool {
        job.kind != Kind::webhook()
            && (job
                .webhook
                .as_ref()
                .is_some_and(|own| own.events.contains(&event))
                || self.subscribed(&job.tenant, event).next().is_some())
    }

    /// The deliveries of one event of a job, which is given as the event left it.
    pub fn deliveries_of(&self, job: &Job, event: EventType, at: Timestamp) -> Vec<NewJob> {
        if !self.wants(job, event) {
            return Vec::new();
        }
        let event_of_job = WebhookEvent {
            event,
            tenant: job.tenant.clone(),
            at,
            data: (self.render_job)(job, at),
            text: text(job, event),
            seed: format!("{} {} {event}", job.id, job.progress.fence.0),
            tags: BTreeMap::from([("job".to_owned(), job.id.to_string())]),
            traceparent: job.traceparent.clone(),
        };
        let own = job
            .webhook
            .as_ref()
            .filter(|own| own.events.contains(&event));
        let own = own.map(|own| Subscriber {
            destination: own.target.destination(),
            target: own.target.clone(),
            format: BodyFormat::Standard,
            retry: &own.retry,
        });
        let own = own
            .iter()
            .filter_map(|own| event_of_job.delivery(own, &self.policy));
        let mut deliveries: Vec<NewJob> = own.collect();
        deliveries.extend(self.deliver(&event_of_job));
        deliveries
    }

    /// The deliveries of an event to the endpoints of its tenant.
    pub fn deliver(&self, event: &WebhookEvent) -> Vec<NewJob> {
        self.subscribed(&event.tenant, event.event)
            .filter_map(|subscription| self.deliver_to(event, subscription))
            .collect()
    }

    /// The delivery of an event to one endpoint, whether or not that is subscribed to it.
    pub fn deliver_to(&self, event: &WebhookEvent, to: &Subscription) -> Option<NewJob> {
        event.delivery(&Subscriber::of(to), &self.policy)
    }

    /// Where a delivery to an endpoint goes, which may have another address than when the delivery was
    /// created; `None` for other jobs.
    pub(crate) fn destination_of(&self, job: &Job) -> Option<&Destination> {
        let endpoint = job.endpoint()?;
        let mut own = self.by_tenant.get(&job.tenant)?.iter();
        let subscription = own.find(|subscription| subscription.endpoint == endpoint)?;
        subscription.destination.as_ref()
    }

    fn subscribed(&self, tenant: &Tenant, event: EventType) -> impl Iterator<Item = &Subscription> {
        let all = self.by_tenant.get(tenant).into_iter().flatten();
        all.filter(move |subscription| subscription.events.contains(&event))
    }
}

struct Subscriber<'a> {
    target: WebhookTarget,
    destination: Option<Destination>,
    format: BodyFormat,
    retry: &'a PolicyPatch,
}

impl<'a> Subscriber<'a> {
    fn of(subscription: &'a Subscription) -> Self {
        Self {
            target: WebhookTarget::Endpoint {
                endpoint: subscription.endpoint,
            },
            destination: subscription.destination.clone(),
            format: subscription.format,
            retry: &subscription.retry,
        }
    }
}

impl WebhookEvent {
    /// An event about an endpoint. The seed tells it apart from others of the same time.
    pub fn of_endpoint(
        event: EventType,
        endpoint: &Endpoint,
        reason: Option<&str>,
        at: Timestamp,
        seed: String,
    ) -> Self {
        let Endpoint {
            id,
            tenant,
            description,
            ..
        } = endpoint;
        let text = match reason {
            Some(reason) => format!("endpoint {id} of {tenant} is disabled: {reason}"),
            None => format!("test of endpoint {id} of {tenant}"),
        };
        Self {
            event,
            tenant: tenant.clone(),
            at,
            data: json!({"endpoint": id, "description": description, "reason": reason}),
            text,
            seed,
            tags: BTreeMap::new(),
            traceparent: None,
        }
    }

    fn id(&self) -> EventId {
        EventId::new(self.at, self.number(""))
    }

    fn number(&self, receiver: &str) -> u64 {
        let mut hash = Sha256::new();
        for part in [
            self.tenant.as_str(),
            self.event.as_str(),
            &self.seed,
            receiver,
        ] {
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
            // Slack and its kin read the text and pass over the rest.
            BodyFormat::Slack => json!({"id": self.id(), "text": slack(&self.text)}),
            BodyFormat::CloudEvents => self.cloud_event(),
            BodyFormat::Standard => json!({
                "id": self.id(),
                "type": self.event,
                "timestamp": self.at,
                "data": self.data,
            }),
        }
    }

    /// In structured mode. The source is relative, as a node does not know its public address.
    fn cloud_event(&self) -> Value {
        let mut event = json!({
            "specversion": "1.0",
            "id": self.id(),
            "source": format!("/steadfast/{}", self.tenant),
            "type": self.event,
            "time": self.at,
            "datacontenttype": "application/json",
            "data": self.data,
        });
        let about = ["job", "endpoint"]
            .iter()
            .find_map(|name| self.tags.get(*name));
        if let Some(subject) = about {
            event["subject"] = subject.as_str().into();
        }
        if let Some(trace) = &self.traceparent {
            event["traceparent"] = trace.as_str().into();
        }
        event
    }

    /// The payload is the very body that is sent, so that every retry sends the same bytes.
    fn delivery(&self, to: &Subscriber<'_>, policy: &DeliveryPolicy) -> Option<NewJob> {
        let receiver = match &to.target {
            WebhookTarget::Endpoint { endpoint } => endpoint.to_string(),
            WebhookTarget::Url { url, .. } => url.clone(),
            WebhookTarget::Callbacks { callbacks } => callbacks.to_string(),
        };
        let id = JobId::new(self.at, self.number(&receiver));
        let body = Payload::encode(&self.body(to.format)).ok()?;
        let queue = self.event.delivery_queue();
        let policy = policy(&self.tenant, &queue, to.retry);
        let mut job = NewJob::new(id, Kind::webhook(), body, policy);
        job.tenant = self.tenant.clone();
        job.queue = queue;
        job.destination.clone_from(&to.destination);
        job.webhook = Some(Arc::new(Webhook {
            target: to.target.clone(),
            events: vec![self.event],
            retry: PolicyPatch::default(),
        }));
        let mut tags = self.tags.clone();
        tags.insert("event".to_owned(), self.event.to_string());
        tags.insert("eventId".to_owned(), self.id().to_string());
        if let WebhookTarget::Endpoint { endpoint } = &to.target {
            tags.insert("endpoint".to_owned(), endpoint.to_string());
        }
        let job = job.with_tags(tags).ok()?;
        Some(match &self.traceparent {
            Some(trace) => job.with_traceparent(trace),
            None => job,
        })
    }
}

/// The message of a failure may come from anywhere, and must not become a link or call a channel.
fn slack(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.replace('&', "&amp;");
    line.replace('<', "&lt;").replace('>', "&gt;")
}

/// An event of a job in a sentence.
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
