//! Jobs as they are answered.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use steadfast_core::{
    BatchId, Blocker, ConcurrencyKey, ConfirmSettings, Destination, EndReason, EndpointId,
    EventType, ExpiryAction, Failure, Guarantee, IdempotencyKey, Job, JobId, JobLabel, Kind, Note,
    OnFailure, Payload, PrerequisiteState, Queue, RetryPolicy, ScheduleId, StartDeadline, Tags,
    Tenant, Timestamp, Unique, UniqueResult, Webhook, WebhookTarget, WorkerName, duration, explain,
};

#[cfg(feature = "openapi")]
use crate::schema::{ConfirmSchema, FailureSchema, PolicySchema, UniqueSchema};

/// A page of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobList {
    /// The jobs, newest first, without their payloads.
    pub jobs: Vec<JobBody>,
    /// Cursor for the next page, sent as `after`; null at the end of the list. A page may contain
    /// fewer jobs than `limit`, even none, and still have a next page.
    pub next_cursor: Option<String>,
}

/// A job with all its details.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Job))]
#[non_exhaustive]
pub struct JobBody {
    /// `job_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// The tenant.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// Queue of the job.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub queue: Queue,
    /// Kind of the job; the node itself runs `http` and `webhook`.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: Kind,
    /// Label of the job.
    pub label: JobLabel,
    /// Guarantee: `AT_LEAST_ONCE` or `AT_MOST_ONCE`.
    #[serde(rename = "type")]
    pub guarantee: Guarantee,
    /// Priority from 0 to 9, higher first.
    pub priority: u8,
    /// Attempts so far, including those before a manual retry.
    pub attempt: u32,
    /// Attempts of earlier retry budgets, before the last manual retry.
    pub attempts_before: u32,
    /// Retries used in the current budget, out of `maxRetries`.
    pub retry_count: u32,
    /// Maximum retries per budget.
    pub max_retries: u32,
    /// Due time of the next attempt, or of the last one.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub run_at: Timestamp,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// Start time of the last attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub started_at: Option<Timestamp>,
    /// End time.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The schedule that created the job.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub schedule_id: Option<ScheduleId>,
    /// The tick that created the job.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub scheduled_for: Option<Timestamp>,
    /// The effective retry policy.
    #[cfg_attr(feature = "openapi", schema(value_type = PolicySchema))]
    pub retry: PolicyBody,
    /// The last failure.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FailureSchema>))]
    pub failure: Option<Failure>,
    /// End reason, unless the job succeeded.
    pub reason: Option<EndReason>,
    /// The end reason as text.
    pub explanation: Option<String>,
    /// Target of an HTTP job.
    pub http: Option<HttpTargetBody>,
    /// Webhook of the job; for a delivery, its target.
    pub webhook: Option<WebhookTargetBody>,
    /// The input. Null for HTTP jobs, whose headers may contain secrets, and in lists and webhooks.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Tags: names and values to search by.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, String>))]
    pub tags: Tags,
    /// W3C Trace Context of the job.
    pub traceparent: Option<String>,
    /// Timeout of one attempt.
    pub timeout_ms: Option<u64>,
    /// Lease duration: how long a claim is valid without renewal.
    pub lease_ms: u64,
    /// Expiry of the lease of the running attempt.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// The current or last worker or node.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub worker: Option<WorkerName>,
    /// The last progress note of the handler or worker.
    pub note: Option<String>,
    /// The last progress in percent.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// Result of the handler or worker, if the job has succeeded. Only when a single job is read.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Whether a cancel was requested and waits for the running attempt to end.
    pub cancel_requested: bool,
    /// The origin of the system that the job calls.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub destination: Option<Destination>,
    /// Concurrency key within the tenant.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// Uniqueness settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<UniqueSchema>, required = false))]
    pub unique: Option<Unique>,
    /// In the response to a create: what happened to the existing job with this unique key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unique_result: Option<UniqueResult>,
    /// Start deadline of the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime, required = false))]
    pub start_before: Option<Timestamp>,
    /// What to do when the start deadline passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub on_expiry: Option<ExpiryAction>,
    /// The prerequisites of the job. Only when a single job is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub after: Option<Vec<PrerequisiteBody>>,
    /// What to do when one of those jobs ends without success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub on_failure: Option<OnFailure>,
    /// Number of dependent jobs, counted up to 10,000. Only when a single job is read and has
    /// dependants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dependants: Option<u64>,
    /// The batch of the job: `bat_…`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required = false))]
    pub batch: Option<BatchId>,
    /// How it asks whether an attempt took effect, without headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ConfirmSchema>, required = false))]
    pub confirm: Option<ConfirmSettings>,
    /// What an attempt is expected to use, by unit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub cost: BTreeMap<String, f64>,
    /// While it is open whether the last attempt took effect: how often that was asked. The next
    /// step is a question, not an attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub questions: Option<u32>,
    /// The prerequisites and gates that a due job waits for. In lists, only pauses, holds and
    /// `Retry-After`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub waiting_for: Vec<Blocker>,
    /// The idempotency key.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub idempotency_key: Option<IdempotencyKey>,
    /// When the dead letter was discarded.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub resolved_at: Option<Timestamp>,
}

impl JobBody {
    /// A job with its payload, unless that may hold secrets.
    pub fn new(job: Job, now: Timestamp) -> Self {
        let payload = (job.kind != Kind::http()).then(|| job.payload.clone());
        Self {
            payload,
            ..Self::without_payload(job, now)
        }
    }

    /// A job as lists and webhooks show it.
    pub fn without_payload(job: Job, now: Timestamp) -> Self {
        let note = job.progress.note.as_deref().map(Note::read);
        let Note { text, percent } = note.unwrap_or_default();
        let deadline = job.start_deadline();
        let (on_failure, run_at) = (job.on_failure(), job.earliest_run_at());
        let batch = job.batch();
        let attempt = job.attempt_number();
        let questions = job.progress.questions_asked();
        let cost = job.cost().amounts();
        let confirm = job.confirm().map(|confirm| ConfirmSettings {
            headers: BTreeMap::new(),
            ..confirm.clone()
        });
        Self {
            label: job.label(now),
            explanation: job.progress.reason.map(|it| explain::reason(it).to_owned()),
            retry_count: job.retry_count(),
            http: HttpTargetBody::of(&job),
            id: job.id,
            tenant: job.tenant,
            queue: job.queue,
            kind: job.kind,
            guarantee: job.guarantee,
            priority: job.priority.get(),
            max_retries: job.policy.max_retries(),
            created_at: job.created_at,
            schedule_id: job.scheduled_run.map(|run| run.schedule),
            scheduled_for: job.scheduled_run.map(|run| run.tick),
            retry: job.policy.into(),
            webhook: job.webhook.as_deref().map(WebhookTargetBody::from),
            payload: None,
            traceparent: job.traceparent.map(|it| it.to_string()),
            tags: job.tags,
            timeout_ms: job.timeout.map(duration::millis),
            lease_ms: duration::millis(job.lease),
            destination: job.destination,
            concurrency_key: job.concurrency_key,
            idempotency_key: job.idempotency_key,
            attempt,
            attempts_before: job.progress.attempts_before,
            run_at,
            started_at: job.progress.started_at,
            finished_at: job.progress.finished_at,
            failure: job.progress.failure,
            reason: job.progress.reason,
            lease_until: job.progress.lease_until,
            worker: job.progress.worker,
            result: None,
            note: text,
            progress: percent,
            cancel_requested: job.progress.cancel_requested,
            after: None,
            on_failure,
            dependants: None,
            batch,
            unique: job.extras.and_then(|extras| extras.unique),
            unique_result: None,
            start_before: deadline.map(StartDeadline::at),
            on_expiry: deadline.map(StartDeadline::on_expiry),
            confirm,
            cost,
            questions,
            waiting_for: Vec::new(),
            resolved_at: job.progress.resolved_at,
        }
    }
}

/// A prerequisite of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Prerequisite))]
#[non_exhaustive]
pub struct PrerequisiteBody {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Label of the job; `given_up` if it was discarded or deleted without success.
    pub state: PrerequisiteState,
}

impl PrerequisiteBody {
    /// A job that stands like this.
    pub fn new(id: JobId, state: PrerequisiteState) -> Self {
        Self { id, state }
    }
}

/// Target of an HTTP job. Headers and body are omitted because they may contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HttpTarget))]
#[non_exhaustive]
pub struct HttpTargetBody {
    /// URL.
    pub url: String,
    /// HTTP method.
    pub method: String,
}

impl HttpTargetBody {
    fn of(job: &Job) -> Option<Self> {
        #[derive(Deserialize)]
        struct Target {
            url: String,
            method: Option<String>,
        }
        if job.kind != Kind::http() {
            return None;
        }
        let target = job.payload.decode::<Target>().ok()?;
        Some(Self {
            url: target.url,
            method: target.method.unwrap_or_else(|| "POST".to_owned()),
        })
    }
}

/// Webhook of a job, without its signing secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Webhook))]
#[non_exhaustive]
pub struct WebhookTargetBody {
    /// URL of the job's own webhook.
    pub url: Option<String>,
    /// The endpoint of a delivery.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub endpoint: Option<EndpointId>,
    /// Events to send.
    pub events: Vec<EventType>,
    /// Whether deliveries are signed.
    pub signed: bool,
}

impl From<&Webhook> for WebhookTargetBody {
    fn from(webhook: &Webhook) -> Self {
        let (url, endpoint, signed) = match &webhook.target {
            WebhookTarget::Url { url, secret } => (Some(url.clone()), None, secret.is_some()),
            WebhookTarget::Endpoint { endpoint } => (None, Some(*endpoint), true),
            WebhookTarget::Callbacks { .. } => (None, None, true),
        };
        Self {
            url,
            endpoint,
            events: webhook.events.clone(),
            signed,
        }
    }
}

/// The policy of a job, with its JSON if that is known already.
///
/// Many jobs share few policies, and writing one takes about as long as writing the rest of a job,
/// so a server that answers thousands of requests a second hands the text on.
#[derive(Clone, Debug)]
pub struct PolicyBody {
    policy: Arc<RetryPolicy>,
    json: Option<Arc<RawValue>>,
}

impl PolicyBody {
    /// The policy itself.
    pub fn get(&self) -> &Arc<RetryPolicy> {
        &self.policy
    }

    /// Sets the JSON of this very policy.
    pub fn set_json(&mut self, json: Arc<RawValue>) {
        self.json = Some(json);
    }
}

impl From<Arc<RetryPolicy>> for PolicyBody {
    fn from(policy: Arc<RetryPolicy>) -> Self {
        Self { policy, json: None }
    }
}

impl PartialEq for PolicyBody {
    fn eq(&self, other: &Self) -> bool {
        self.policy == other.policy
    }
}

impl Serialize for PolicyBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.json {
            Some(json) => json.serialize(serializer),
            None => self.policy.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PolicyBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Arc::<RetryPolicy>::deserialize(deserializer).map(Self::from)
    }
}
