//! Jobs and their attempts.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    Attempt, AttemptStatus, DecidedBy, Decision, EndReason, Failure, Guarantee, IdempotencyKey,
    Job, JobId, JobLabel, Kind, Payload, PolicyPatch, Queue, RetryPolicy, ScheduleId, Tags, Tenant,
    Timestamp, WebhookTarget, WorkerName, duration,
};
use steadfast_engine::http::HttpRequest;
use utoipa::ToSchema;

use super::{DurationText, Name, PolicyInput, PolicyShown, policy};

/// One job, or many at once.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what `create` reads")]
#[serde(untagged)]
pub enum CreateJobs {
    One(Box<CreateJob>),
    Many(CreateMany),
}

/// Up to 1,000 jobs, all of them or none.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateMany {
    #[schema(min_items = 1, max_items = 1000)]
    pub jobs: Vec<CreateJob>,
}

/// A job to be made. What it is for is said by `kind` and `payload`, or by `http`, or by `api`;
/// everything else may be left out.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateJob {
    /// Which handler or worker it is for.
    #[schema(value_type = Option<Name>, example = "resize-image")]
    pub kind: Option<String>,
    /// What the handler or worker gets: any JSON, up to 256 KiB.
    #[schema(value_type = Option<Value>)]
    pub payload: Option<Payload>,
    /// A request to be sent by the node itself.
    pub http: Option<HttpBody>,
    /// The address of an HTTP job in one word, sent as POST.
    #[schema(example = "https://example.com/hook")]
    pub api: Option<String>,
    #[schema(value_type = Option<Name>)]
    pub queue: Option<String>,
    /// For admin keys; others have a tenant of their own.
    #[schema(value_type = Option<Name>)]
    pub tenant: Option<String>,
    /// 0 to 9, higher first.
    #[schema(maximum = 9)]
    pub priority: Option<u8>,
    /// Not before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub run_at: Option<Timestamp>,
    /// Not before this long from now.
    pub delay: Option<DurationText>,
    /// How often it may start.
    #[serde(rename = "type")]
    #[schema(value_type = Option<GuaranteeName>)]
    pub guarantee: Option<Guarantee>,
    #[schema(value_type = Option<PolicyInput>)]
    pub retry: Option<PolicyPatch>,
    /// Short for `retry.maxRetries`.
    #[schema(maximum = 100)]
    pub max_retries: Option<u32>,
    /// Another word for `maxRetries`.
    #[schema(maximum = 100)]
    pub max_retry_count: Option<u32>,
    /// Another way to say `maxRetries` + 1.
    #[schema(minimum = 1, maximum = 101)]
    pub max_attempts: Option<u32>,
    /// Short for `retry.baseDelay`, over the preset `patient`.
    pub retry_delay: Option<DurationText>,
    /// Short for `retry.backoff`: exponential or fixed, over the preset `patient`.
    pub use_exponential_backoff: Option<bool>,
    /// How long one attempt may take.
    pub timeout: Option<DurationText>,
    /// How long a claim holds without being renewed.
    pub lease: Option<DurationText>,
    /// One key, one job.
    pub idempotency_key: Option<String>,
    /// Where news of this job goes.
    pub webhook: Option<WebhookBody>,
    #[schema(value_type = Option<BTreeMap<String, String>>)]
    pub tags: Option<Tags>,
    /// What people call it. Names the schedule of a recurring job, and the kind where there is
    /// neither `kind` nor a target.
    pub job_name: Option<String>,
    /// Cron with 5 or 6 fields (seconds first), or `@hourly` and the like.
    #[schema(example = "*/10 * * * * *")]
    pub schedule: Option<String>,
    /// Whether each match of `schedule` makes a job (the default), or only the next one.
    pub is_recurring: Option<bool>,
    /// An IANA time zone for `schedule`.
    #[schema(example = "Europe/Paris")]
    pub timezone: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = HttpTarget)]
pub struct HttpBody {
    #[schema(example = "https://example.com/hook")]
    pub url: String,
    /// POST where nobody says.
    pub method: Option<String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Any JSON; a string goes out as plain text if a `content-type` other than JSON is given.
    #[schema(value_type = Option<Value>)]
    pub body: Option<Payload>,
}

/// A job's own webhook.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = WebhookInput)]
pub struct WebhookBody {
    pub url: String,
    /// `whsec_…`, for signing as Standard Webhooks says. It is never shown again.
    pub secret: Option<String>,
    /// `job.succeeded` and `job.failed` where nobody says; also `job.retrying`, `job.cancelled`.
    pub events: Option<Vec<String>>,
    #[serde(default)]
    #[schema(value_type = Option<PolicyInput>)]
    pub retry: PolicyPatch,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core reads")]
#[schema(as = Guarantee, rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GuaranteeName {
    AtLeastOnce,
    AtMostOnce,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core writes")]
#[schema(as = JobLabel, rename_all = "lowercase")]
pub enum LabelName {
    Scheduled,
    Ready,
    Running,
    Retrying,
    Succeeded,
    Failed,
    Cancelled,
}

/// Changes to a job that waits; what is left out stays.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EditJob {
    #[schema(value_type = Option<Value>)]
    pub payload: Option<Payload>,
    /// Laid over the policy the job has.
    #[schema(value_type = Option<PolicyInput>)]
    pub retry: Option<PolicyPatch>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub run_at: Option<Timestamp>,
    #[schema(maximum = 9)]
    pub priority: Option<u8>,
}

/// What a job that is tried once more gets to work on.
#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RetryRequest)]
pub struct RetryBody {
    #[schema(value_type = Option<Value>)]
    pub payload: Option<Payload>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = JobList)]
pub struct Jobs {
    pub jobs: Vec<JobShown>,
    /// Where to go on, as `after`; null at the end of the list. A page may hold less than was
    /// asked for, even nothing, and still have a next one.
    pub next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Job)]
pub struct JobShown {
    #[schema(value_type = String)]
    pub id: JobId,
    #[schema(value_type = String)]
    tenant: Tenant,
    #[schema(value_type = String)]
    queue: Queue,
    #[schema(value_type = String)]
    kind: Kind,
    #[schema(value_type = LabelName)]
    pub label: JobLabel,
    #[serde(rename = "type")]
    #[schema(value_type = GuaranteeName)]
    guarantee: Guarantee,
    priority: u8,
    pub attempt: u32,
    retry_count: u32,
    max_retries: u32,
    #[schema(value_type = String, format = DateTime)]
    run_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    schedule_id: Option<ScheduleId>,
    #[schema(value_type = Option<String>, format = DateTime)]
    scheduled_for: Option<Timestamp>,
    /// The policy in force.
    #[serde(serialize_with = "policy::written_once")]
    #[schema(value_type = PolicyShown)]
    retry: Arc<RetryPolicy>,
    #[schema(value_type = Option<FailureShown>)]
    failure: Option<Failure>,
    /// Why it ended, where it did not succeed.
    #[schema(value_type = Option<String>)]
    reason: Option<EndReason>,
    http: Option<HttpShown>,
    webhook: Option<WebhookShown>,
    /// Null for HTTP jobs, whose headers may hold secrets, and in lists.
    #[schema(value_type = Option<Value>)]
    payload: Option<Payload>,
    #[schema(value_type = BTreeMap<String, String>)]
    tags: Tags,
    timeout_ms: Option<u64>,
    lease_ms: u64,
    #[schema(value_type = Option<String>, format = DateTime)]
    lease_until: Option<Timestamp>,
    #[schema(value_type = Option<String>)]
    worker: Option<WorkerName>,
    note: Option<String>,
    cancel_requested: bool,
    #[schema(value_type = Option<String>)]
    idempotency_key: Option<IdempotencyKey>,
    #[schema(value_type = Option<String>, format = DateTime)]
    resolved_at: Option<Timestamp>,
}

/// Where an HTTP job goes. Headers and body may hold secrets and are not shown.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpShown)]
struct HttpShown {
    url: String,
    method: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Webhook)]
struct WebhookShown {
    url: Option<String>,
    /// The endpoint that a delivery is for.
    endpoint: Option<String>,
    events: Vec<String>,
    signed: bool,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core writes")]
#[schema(as = Failure, rename_all = "camelCase")]
pub struct FailureShown {
    class: String,
    message: String,
    #[schema(nullable = false)]
    http_status: Option<u16>,
    #[schema(nullable = false)]
    retry_after: Option<String>,
}

impl JobShown {
    /// Everything there is to see.
    pub fn whole(job: Job, now: Timestamp) -> Self {
        let payload = (job.kind != Kind::http()).then(|| job.payload.clone());
        Self {
            payload,
            ..Self::listed(job, now)
        }
    }

    /// As one of many: without its payload.
    pub fn listed(job: Job, now: Timestamp) -> Self {
        let http = (job.kind == Kind::http()).then(|| job.payload.decode::<HttpRequest>());
        let http = http.and_then(Result::ok).map(|request| HttpShown {
            url: request.url().to_owned(),
            method: request.method().to_owned(),
        });
        Self {
            label: job.label(now),
            retry_count: job.retry_count(),
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
            retry: job.policy,
            http,
            webhook: job.webhook.as_deref().map(WebhookShown::of),
            payload: None,
            tags: job.tags,
            timeout_ms: job.timeout.map(duration::millis),
            lease_ms: duration::millis(job.lease),
            idempotency_key: job.idempotency_key,
            attempt: job.progress.attempt,
            run_at: job.progress.run_at,
            started_at: job.progress.started_at,
            finished_at: job.progress.finished_at,
            failure: job.progress.failure,
            reason: job.progress.reason,
            lease_until: job.progress.lease_until,
            worker: job.progress.worker,
            note: job.progress.note,
            cancel_requested: job.progress.cancel_requested,
            resolved_at: job.progress.resolved_at,
        }
    }
}

impl WebhookShown {
    fn of(webhook: &steadfast_core::Webhook) -> Self {
        let (url, endpoint, signed) = match &webhook.target {
            WebhookTarget::Url { url, secret } => (Some(url.clone()), None, secret.is_some()),
            WebhookTarget::Endpoint { endpoint } => (None, Some(endpoint.to_string()), true),
        };
        Self {
            url,
            endpoint,
            events: webhook.events.iter().map(ToString::to_string).collect(),
            signed,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = History)]
pub struct Attempts {
    pub attempts: Vec<AttemptShown>,
    pub next_cursor: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Attempt)]
pub struct AttemptShown {
    #[schema(value_type = String)]
    job_id: JobId,
    attempt: u32,
    retry_count: u32,
    #[schema(value_type = StatusName)]
    status: AttemptStatus,
    /// When it started.
    #[schema(value_type = String, format = DateTime)]
    execution_time: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    finished_at: Timestamp,
    duration_ms: u64,
    #[schema(value_type = Option<String>)]
    worker: Option<WorkerName>,
    #[schema(value_type = Option<FailureShown>)]
    failure: Option<Failure>,
    /// What the other side answered, of an HTTP job or webhook.
    #[schema(value_type = Option<Value>)]
    response: Option<Payload>,
    /// What the handler or worker returned.
    #[schema(value_type = Option<Value>)]
    result: Option<Payload>,
    note: Option<String>,
    decision: Option<DecisionShown>,
    #[schema(value_type = Option<String>, format = DateTime)]
    next_run_at: Option<Timestamp>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what core writes")]
#[schema(as = AttemptStatus, rename_all = "SCREAMING_SNAKE_CASE")]
enum StatusName {
    Success,
    Failed,
    Lost,
    Snoozed,
    Cancelled,
    Released,
}

/// Why the job went where it went.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Decision)]
struct DecisionShown {
    /// `policy`, or the rule that decided otherwise.
    #[schema(value_type = String)]
    rule: DecidedBy,
    /// Which of the policy's rules matched, counted from 0.
    matched_rule: Option<usize>,
    /// What backoff and cap gave, before jitter.
    delay_ms: Option<u64>,
    #[schema(value_type = Option<String>)]
    jitter: Option<steadfast_core::Jitter>,
    /// What the jitter could choose from.
    jitter_low_ms: Option<u64>,
    jitter_high_ms: Option<u64>,
    /// The roll that chose a point between them, from 0 to 1.
    jitter_sample: Option<f64>,
    /// What was really waited.
    jittered_ms: Option<u64>,
    retry_after_ms: Option<u64>,
    cap_ms: Option<u64>,
}

impl AttemptShown {
    pub fn of(attempt: Attempt) -> Self {
        let duration_ms = duration::millis(attempt.duration());
        let next_run_at = attempt.decision.as_ref().and_then(|it| it.next_run_at);
        let (response, result) = match &attempt.output {
            Some(output) if is_response(output) => (attempt.output.clone(), None),
            output => (None, output.clone()),
        };
        Self {
            job_id: attempt.job,
            attempt: attempt.attempt,
            retry_count: attempt.retry_count(),
            status: attempt.status,
            execution_time: attempt.started_at,
            finished_at: attempt.finished_at,
            duration_ms,
            worker: attempt.worker,
            failure: attempt.failure,
            response,
            result,
            note: attempt.note,
            decision: attempt.decision.map(DecisionShown::of),
            next_run_at,
        }
    }
}

/// An answer that a node got from elsewhere carries its status and its timings.
fn is_response(output: &Payload) -> bool {
    output.as_str().starts_with(r#"{"status":"#) && output.as_str().contains(r#""timings":"#)
}

impl DecisionShown {
    fn of(decision: Decision) -> Self {
        let delay = decision.delay.as_ref();
        Self {
            rule: decision.decided_by,
            matched_rule: decision.matched,
            delay_ms: delay.map(|it| duration::millis(it.delay)),
            jitter: delay.map(|it| it.jitter),
            jitter_low_ms: delay.map(|it| duration::millis(it.low)),
            jitter_high_ms: delay.map(|it| duration::millis(it.high)),
            jitter_sample: delay.map(|it| it.sample),
            jittered_ms: delay.map(|it| duration::millis(it.jittered)),
            retry_after_ms: delay.and_then(|it| it.retry_after.map(duration::millis)),
            cap_ms: delay.map(|it| duration::millis(it.cap)),
        }
    }
}
