//! The input of a job, and requests to create one.

mod build;
pub mod schedule;

use std::{collections::BTreeMap, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_core::{
    BatchId, ConfirmSettings, ExpiryAction, Guarantee, Invalid, JobId, OnFailure, Payload,
    PolicyPatch, RunAt, StartBefore, Tags, Timestamp, Unique, Webhook,
};

/// The input of a handler, and the name that joins the two.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use steadfast_engine::JobKind;
///
/// #[derive(Serialize, Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl JobKind for Welcome {
///     const KIND: &'static str = "welcome";
/// }
/// ```
pub trait JobKind: Serialize + DeserializeOwned + Send + 'static {
    /// The name that stored jobs carry. Do not change it while jobs wait.
    const KIND: &'static str;

    /// The retry policy of this kind; a job can override it. By default that of its queue.
    fn retry() -> PolicyPatch {
        PolicyPatch::default()
    }

    /// A job with this input, to be refined before it is enqueued.
    fn job(&self) -> JobRequest {
        JobRequest::of(self)
    }
}

/// A job to be created. A mistake in any part is reported when the job is enqueued.
#[derive(Clone, Debug)]
pub struct JobRequest {
    kind: String,
    payload: Result<Payload, Invalid>,
    kind_retry: PolicyPatch,
    retry: PolicyPatch,
    tenant: Option<String>,
    queue: Option<String>,
    priority: Option<u8>,
    run_at: RunAt,
    rule: Option<String>,
    guarantee: Guarantee,
    idempotency_key: Option<String>,
    timeout: Option<Duration>,
    default_timeout: Option<Duration>,
    lease: Option<Duration>,
    tags: Tags,
    webhook: Option<Webhook>,
    traceparent: Option<String>,
    destination: Option<String>,
    concurrency_key: Option<String>,
    unique: Option<Unique>,
    debounce: Option<Duration>,
    debounce_max: Option<Duration>,
    start_before: Option<StartBefore>,
    on_expiry: Option<ExpiryAction>,
    after: Option<Vec<JobId>>,
    after_references: Vec<String>,
    /// The resolved ones, by id.
    references: BTreeMap<JobId, String>,
    reference: Option<String>,
    on_failure: Option<OnFailure>,
    batch: Option<BatchId>,
    confirm: Option<ConfirmSettings>,
    cost: BTreeMap<String, f64>,
}

impl<J: JobKind> From<J> for JobRequest {
    fn from(input: J) -> Self {
        Self::of(&input)
    }
}

impl JobRequest {
    /// A job for the handler of this input.
    pub fn of<J: JobKind>(input: &J) -> Self {
        Self {
            kind_retry: J::retry(),
            ..Self::of_kind(J::KIND, Payload::encode(input))
        }
    }

    /// A job of any kind, for example for workers in other languages.
    pub fn new(kind: &str, payload: Payload) -> Self {
        Self::of_kind(kind, Ok(payload))
    }

    fn of_kind(kind: &str, payload: Result<Payload, Invalid>) -> Self {
        Self {
            kind: kind.to_owned(),
            payload,
            kind_retry: PolicyPatch::default(),
            retry: PolicyPatch::default(),
            tenant: None,
            queue: None,
            priority: None,
            run_at: RunAt::Now,
            rule: None,
            guarantee: Guarantee::AtLeastOnce,
            idempotency_key: None,
            timeout: None,
            default_timeout: None,
            lease: None,
            tags: BTreeMap::new(),
            webhook: None,
            traceparent: None,
            destination: None,
            concurrency_key: None,
            unique: None,
            debounce: None,
            debounce_max: None,
            start_before: None,
            on_expiry: None,
            after: None,
            after_references: Vec::new(),
            references: BTreeMap::new(),
            reference: None,
            on_failure: None,
            batch: None,
            confirm: None,
            cost: BTreeMap::new(),
        }
    }

    /// The tenant that owns the job; `default` by default.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The queue that the job waits in; `default` by default.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// 0 to 9, higher first; 5 by default.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Not before this long from now, by the store's clock.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.run_at = RunAt::After(delay);
        self
    }

    /// Not before this time.
    #[must_use]
    pub fn run_at(mut self, time: impl Into<Timestamp>) -> Self {
        self.run_at = RunAt::At(time.into());
        self
    }

    /// Once, at the next match of a rule. With an idempotency key, the rule is what tells whether
    /// two requests are the same; the time it stands for moves on.
    #[must_use]
    pub fn run_at_match(mut self, time: Timestamp, rule: impl Into<String>) -> Self {
        self.run_at = RunAt::At(time);
        self.rule = Some(rule.into());
        self
    }

    /// The job's own retry policy, over that of its kind, queue, tenant and engine. A preset
    /// replaces all of those, including their rules; single fields replace only themselves.
    #[must_use]
    pub fn retry(mut self, retry: impl Into<PolicyPatch>) -> Self {
        self.retry = retry.into();
        self
    }

    /// One key, one job: enqueueing again with the same key returns the first job.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Start it at most once, ever: no retries, and after a crash the job ends as
    /// `outcome_unknown`.
    #[must_use]
    pub fn at_most_once(mut self) -> Self {
        self.guarantee = Guarantee::AtMostOnce;
        self
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long one attempt may take if the request says nothing else. A default is a setting, so
    /// a request that is repeated after the setting was changed still is the same request.
    #[must_use]
    pub fn default_timeout(mut self, timeout: Duration) -> Self {
        self.default_timeout = Some(timeout);
        self
    }

    /// How long a node may be silent before the job is taken from it, at the next sweep; 30 s by
    /// default.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// A label of your own, as `order` = `4711`.
    #[must_use]
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// Where the events of this job are sent.
    #[must_use]
    pub fn webhook(mut self, webhook: Webhook) -> Self {
        self.webhook = Some(webhook);
        self
    }

    /// Its place in a distributed trace, as W3C Trace Context writes it. HTTP jobs and webhooks send
    /// it on; the runs of a schedule have none.
    #[must_use]
    pub fn traceparent(mut self, traceparent: impl Into<String>) -> Self {
        self.traceparent = Some(traceparent.into());
        self
    }

    /// The system that its handler calls, as an origin (`https://api.example.com`), so that gates and
    /// the health of that system can hold it back. That of an HTTP job follows from its address.
    #[must_use]
    pub fn destination(mut self, destination: impl Into<String>) -> Self {
        self.destination = Some(destination.into());
        self
    }

    /// The concurrency key: jobs with the same key are limited together. Such as the id of a customer.
    #[must_use]
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.concurrency_key = Some(key.into());
        self
    }

    /// The only job of its key within the tenant, for as long as it waits or has not ended.
    /// Creating another one returns the existing job, replaces it, or is refused.
    #[must_use]
    pub fn unique(mut self, unique: Unique) -> Self {
        self.unique = Some(unique);
        self
    }

    /// Whether it may change a stored job instead of creating one.
    pub fn is_unique(&self) -> bool {
        self.unique.is_some()
    }

    /// Start a unique job only when no request for it has come for this long. Each request moves the
    /// start, but not for ever: see [`debounce_max`](Self::debounce_max).
    #[must_use]
    pub fn debounce(mut self, wait: Duration) -> Self {
        self.debounce = Some(wait);
        self
    }

    /// The longest time from the first request to the start; ten times the wait by default.
    #[must_use]
    pub fn debounce_max(mut self, wait: Duration) -> Self {
        self.debounce_max = Some(wait);
        self
    }

    /// Never start it late: a job whose first attempt has not started by then ends `failed`.
    #[must_use]
    pub fn start_before(mut self, before: StartBefore) -> Self {
        self.start_before = Some(before);
        self
    }

    /// The end of a job that has not started in time; `failed` by default.
    #[must_use]
    pub fn on_expiry(mut self, action: ExpiryAction) -> Self {
        self.on_expiry = Some(action);
        self
    }

    /// Start it only when these jobs have ended, which must exist; up to
    /// [`AFTER_JOBS_MAX`](steadfast_core::limits::AFTER_JOBS_MAX) of them.
    #[must_use]
    pub fn after(mut self, jobs: impl IntoIterator<Item = JobId>) -> Self {
        self.after = Some(jobs.into_iter().collect());
        self
    }

    /// Names the job within a list of jobs that are created together, so that later ones can wait for
    /// it with [`after_references`](Self::after_references).
    #[must_use]
    pub fn reference(mut self, name: impl Into<String>) -> Self {
        self.reference = Some(name.into());
        self
    }

    /// Start it only when these jobs have ended too, which come before it in the same list.
    #[must_use]
    pub fn after_references<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.after_references = names.into_iter().map(Into::into).collect();
        self
    }

    /// What the job does if one of those ends without success; by default it keeps waiting.
    #[must_use]
    pub fn on_failure(mut self, action: OnFailure) -> Self {
        self.on_failure = Some(action);
        self
    }

    /// Counts it in this batch, which must be open.
    #[must_use]
    pub fn batch(mut self, batch: BatchId) -> Self {
        self.batch = Some(batch);
        self
    }

    /// Asks whether an attempt took effect, before it is repeated: after an end that leaves that
    /// open, such as a timeout or a lost lease. An HTTP job sends a GET; for all others, the
    /// handler's confirm function answers.
    #[must_use]
    pub fn confirm(mut self, confirm: ConfirmSettings) -> Self {
        self.confirm = Some(confirm);
        self
    }

    /// What an attempt is expected to use, by unit, such as `("tokens", 1_800.0)`. Gates with rates in
    /// these units start it when so much is free; what it has used then is told with
    /// [`Context::usage`](crate::Context::usage).
    #[must_use]
    pub fn cost<U: Into<String>>(mut self, cost: impl IntoIterator<Item = (U, f64)>) -> Self {
        let cost = cost.into_iter();
        self.cost = cost.map(|(unit, amount)| (unit.into(), amount)).collect();
        self
    }
}
