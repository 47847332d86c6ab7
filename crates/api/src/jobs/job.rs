//! Jobs as they are answered.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use steadfast_core::{
    BatchId, Blocker, ConcurrencyKey, Destination, EndReason, EndpointId, EventType, ExpiryAction,
    Failure, Guarantee, IdempotencyKey, Job, JobId, JobLabel, Kind, Note, OnFailure, Payload,
    PrerequisiteState, Queue, RetryPolicy, ScheduleId, StartDeadline, Tags, Tenant, Timestamp,
    Unique, UniqueResult, Webhook, WebhookTarget, WorkerName, duration, explain,
};

#[cfg(feature = "openapi")]
use crate::schema::{FailureSchema, PolicySchema, UniqueSchema};

/// A page of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobList {
    /// The jobs, newest first, without their payloads.
    pub jobs: Vec<JobBody>,
    /// Where to go on, as `after`; null at the end of the list. A page may hold fewer
    /// jobs than `limit`, even none, and still have a next one.
    pub next_cursor: Option<String>,
}

/// A job, with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Job))]
#[non_exhaustive]
pub struct JobBody {
    /// `job_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// The tenant it belongs to.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// The queue it waits in.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub queue: Queue,
    /// Which handler or worker it is for; `http` and `webhook` are run by the node itself.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub kind: Kind,
    /// Where it stands.
    pub label: JobLabel,
    /// How often it may start.
    #[serde(rename = "type")]
    pub guarantee: Guarantee,
    /// 0 to 9, higher first.
    pub priority: u8,
    /// Attempts so far, those before a manual retry included.
    pub attempt: u32,
    /// How many of them belong to earlier retry budgets: those before the last manual retry.
    pub attempts_before: u32,
    /// Retries so far of the present budget, to be read beside `maxRetries`.
    pub retry_count: u32,
    /// How many retries each budget has.
    pub max_retries: u32,
    /// When it may run, or was to run when it last did.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub run_at: Timestamp,
    /// When it was created.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When its newest attempt started.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub finished_at: Option<Timestamp>,
    /// The schedule it is a run of.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub schedule_id: Option<ScheduleId>,
    /// The tick it is the run of.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub scheduled_for: Option<Timestamp>,
    /// The policy in force.
    #[cfg_attr(feature = "openapi", schema(value_type = PolicySchema))]
    pub retry: PolicyBody,
    /// The newest failure.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FailureSchema>))]
    pub failure: Option<Failure>,
    /// Why it ended, unless it succeeded.
    pub reason: Option<EndReason>,
    /// The same in words.
    pub explanation: Option<String>,
    /// Where an HTTP job goes.
    pub http: Option<HttpTargetBody>,
    /// Where events of this job are sent; of a delivery, where it goes.
    pub webhook: Option<WebhookTargetBody>,
    /// The input. Null for HTTP jobs, whose headers may hold secrets, and in lists and webhooks.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub payload: Option<Payload>,
    /// Names and values for finding it.
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, String>))]
    pub tags: Tags,
    /// Its place in a distributed trace, as W3C Trace Context writes it.
    pub traceparent: Option<String>,
    /// How long one attempt may take.
    pub timeout_ms: Option<u64>,
    /// How long a claim holds without being renewed.
    pub lease_ms: u64,
    /// Until when the running attempt holds it.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub lease_until: Option<Timestamp>,
    /// The worker or node that holds it, or held it last.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub worker: Option<WorkerName>,
    /// The newest note of the handler or worker on its progress.
    pub note: Option<String>,
    /// The same in percent.
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub progress: Option<u8>,
    /// What the handler or worker returned, if the job has succeeded. Null unless the job is read
    /// by itself.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub result: Option<Payload>,
    /// Whether a cancel waits for the running attempt to end.
    pub cancel_requested: bool,
    /// The system that it calls, as an origin.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub destination: Option<Destination>,
    /// What is limited together within the tenant.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub concurrency_key: Option<ConcurrencyKey>,
    /// What makes it the only job of its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<UniqueSchema>, required = false))]
    pub unique: Option<Unique>,
    /// In the answer to a create: what became of the job that had the unique key already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub unique_result: Option<UniqueResult>,
    /// When it is too late for its first attempt to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime, required = false))]
    pub start_before: Option<Timestamp>,
    /// What it ends as then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub on_expiry: Option<ExpiryAction>,
    /// The jobs that it was created to wait for. Only if the job is read by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub after: Option<Vec<PrerequisiteBody>>,
    /// What it does if one of those ends without success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub on_failure: Option<OnFailure>,
    /// How many jobs wait for it, or did; at most 10,000 are counted. Only if the job is read by
    /// itself, and there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub dependants: Option<u64>,
    /// The batch that it is counted in: `bat_…`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required = false))]
    pub batch: Option<BatchId>,
    /// The jobs that it waits for, and the gates at which a job waits that is due. In lists, only what gates say by themselves:
    /// pauses, holds, and what destinations asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub waiting_for: Vec<Blocker>,
    /// The key it was created with.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub idempotency_key: Option<IdempotencyKey>,
    /// When a dead letter was discarded.
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
            attempt: job.progress.attempt,
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
            waiting_for: Vec::new(),
            resolved_at: job.progress.resolved_at,
        }
    }
}

/// A job that another one waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Prerequisite))]
#[non_exhaustive]
pub struct PrerequisiteBody {
    /// Its id.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: JobId,
    /// Where it stands. One that was discarded or deleted without success is `given_up`.
    pub state: PrerequisiteState,
}

impl PrerequisiteBody {
    /// A job that stands like this.
    pub fn new(id: JobId, state: PrerequisiteState) -> Self {
        Self { id, state }
    }
}

/// Where an HTTP job goes. Its headers and its body may hold secrets and are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = HttpTarget))]
#[non_exhaustive]
pub struct HttpTargetBody {
    /// The address.
    pub url: String,
    /// The verb.
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

/// Where events of a job are sent, without the secret that signs them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Webhook))]
#[non_exhaustive]
pub struct WebhookTargetBody {
    /// The address, of a job's own webhook.
    pub url: Option<String>,
    /// The endpoint that a delivery is for.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub endpoint: Option<EndpointId>,
    /// Which events are sent.
    pub events: Vec<EventType>,
    /// Whether deliveries are signed.
    pub signed: bool,
}

impl From<&Webhook> for WebhookTargetBody {
    fn from(webhook: &Webhook) -> Self {
        let (url, endpoint, signed) = match &webhook.target {
            WebhookTarget::Url { url, secret } => (Some(url.clone()), None, secret.is_some()),
            WebhookTarget::Endpoint { endpoint } => (None, Some(*endpoint), true),
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
