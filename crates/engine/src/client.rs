//! The client of an engine: create jobs, query them, change them.

mod alerts;
mod batches;
mod bulk;
mod destinations;
mod due;
mod endpoints;
mod error;
mod explain;
mod failures;
mod forecast;
mod gates;
mod nodes;
mod operations;
mod outcomes;
mod queues;
mod replay;
pub mod request;
pub mod schedule_request;
mod schedules;
pub mod stats;

pub use batches::{BatchRequest, CreatedBatch};
pub use bulk::{BulkCommand, BulkResult};
pub use destinations::{DestinationCounts, DestinationFilter, DestinationState};
pub use due::{DueStop, DueSummary, LaneDue};
pub use endpoints::endpoint_deliveries;
pub use error::ClientError;
pub use explain::{ExplainRequest, WorkerPresence};
pub use forecast::{DestinationForecast, Forecasts, QueueForecast};
pub use gates::GateUse;
pub use operations::OperationRequest;
pub use replay::{ReplayRecord, ReplayRequest};

use std::{collections::HashMap, sync::Arc, time::Duration};

use steadfast_core::{
    Actor, Attempt, AuditRecord, IdempotencyKey, Invalid, Job, JobCommand, JobEdit, JobId,
    JobState, Kind, NewJob, Payload, Tenant, Timestamp, UniqueResult, duration, limits,
};
use steadfast_store::{
    AttemptCursor, AttemptOwner, CommandError, DamagedRows, EnqueueError, EnqueueResult, JobCount,
    JobFilter, JobPageRequest, LaneStats, MinuteStats, Page, PageRequest, Store, StoreError,
};

use tokio::sync::Notify;

use crate::{
    client::{request::JobRequest, stats::Stats},
    documents::{cache::DocumentCache, endpoints::Endpoints, policy_levels::PolicyLevels},
    flow::gates::{GateCache, GateSettings, mark_paused},
    inflight::{Inflight, signals::StopReason},
    limits::CALL_TIMEOUT_MAX_DEFAULT,
    random::Random,
};

/// Creates, queries and changes jobs and schedules.
///
/// Cheap to clone. It works without a running engine, too: [`Client::new`] needs only a store.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Who gives the commands.
    actor: Option<Arc<Actor>>,
}

struct Inner {
    store: Arc<dyn Store>,
    levels: Arc<PolicyLevels>,
    random: Arc<Random>,
    /// The running attempts of the engine that this client belongs to.
    inflight: Arc<Inflight>,
    endpoints: Arc<DocumentCache<Endpoints>>,
    gates: Arc<GateCache>,
    job_limits: JobLimits,
    /// Tells the operation runner of this engine that there is work.
    operation_created: Arc<Notify>,
}

/// What the operator allows of one job.
#[derive(Clone, Copy)]
pub(crate) struct JobLimits {
    pub payload_bytes_max: usize,
    /// An HTTP call holds a slot for as long as it takes.
    pub call_timeout_max: Duration,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            payload_bytes_max: limits::PAYLOAD_BYTES_DEFAULT,
            call_timeout_max: CALL_TIMEOUT_MAX_DEFAULT,
        }
    }
}

impl JobLimits {
    fn check(&self, job: &NewJob) -> Result<(), Invalid> {
        job.payload.check_bytes(self.payload_bytes_max)?;
        let is_call = job.kind == Kind::http() || job.kind == Kind::webhook();
        match job.timeout() {
            Some(timeout) if is_call && timeout > self.call_timeout_max => {
                let most = duration::format(self.call_timeout_max);
                let expected = format!("must be at most {most} for an HTTP job on this server");
                Err(Invalid::new("timeout", duration::format(timeout), expected))
            }
            _ => Ok(()),
        }
    }
}

/// The result of a request for a job, or for a schedule. Callers have to tell the two apart, so it
/// is exhaustive.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateResult<T = Job> {
    /// It was created.
    New(T),
    /// The same request with the same idempotency key has created it before.
    Existing(T),
    /// There was a job with the same unique key; what became of it.
    Unique(T, UniqueResult),
}

impl CreateResult {
    /// The job, new or not.
    pub fn job(self) -> Job {
        match self {
            Self::New(job) | Self::Existing(job) | Self::Unique(job, _) => job,
        }
    }
}

impl Client {
    /// A client for a store that engines elsewhere serve.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let levels = Arc::new(PolicyLevels::default());
        let endpoints = Arc::new(Endpoints::cache(store.clone(), &levels));
        let gates = Arc::new(GateCache::new(&store, GateSettings::default()));
        Self::with(
            store,
            levels,
            Arc::new(Random::from_entropy()),
            Arc::default(),
            endpoints,
            gates,
            JobLimits::default(),
        )
    }

    pub(crate) fn with(
        store: Arc<dyn Store>,
        levels: Arc<PolicyLevels>,
        random: Arc<Random>,
        inflight: Arc<Inflight>,
        endpoints: Arc<DocumentCache<Endpoints>>,
        gates: Arc<GateCache>,
        job_limits: JobLimits,
    ) -> Self {
        let inner = Arc::new(Inner {
            store,
            levels,
            random,
            inflight,
            endpoints,
            gates,
            job_limits,
            operation_created: Arc::default(),
        });
        Self { inner, actor: None }
    }

    /// The same client for commands that this actor gives: each leaves an audit record, which is
    /// stored together with what it changes. One that is refused, or changes nothing, leaves none.
    /// Without an actor a client leaves no records, because a program that cancels its own jobs is
    /// no person whom others ask. [`Client::command_each`] and [`Client::command_matching`] leave one
    /// record with the first jobs that they change, with the ids or the filter; how many jobs were
    /// changed in all is known of operations.
    ///
    /// ```
    /// use steadfast_core::{Actor, Queue, Tenant};
    /// use steadfast_engine::Client;
    /// # use std::sync::Arc;
    /// # use steadfast_store::{AuditFilter, MemoryStore, PageRequest};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(Arc::new(MemoryStore::default()));
    /// let kim = client.by(Actor::named("kim"));
    /// kim.pause_queue(Tenant::default(), Queue::new("mail")?).await?;
    /// let records = client.audit(AuditFilter::default(), PageRequest::first(10)).await?;
    /// assert_eq!(records.items[0].action, "queue.pause");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn by(&self, actor: Actor) -> Self {
        Self {
            inner: self.inner.clone(),
            actor: Some(Arc::new(actor)),
        }
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    pub(crate) fn levels(&self) -> &PolicyLevels {
        &self.inner.levels
    }

    pub(crate) fn shared_levels(&self) -> Arc<PolicyLevels> {
        self.inner.levels.clone()
    }

    pub(crate) fn endpoint_cache(&self) -> &DocumentCache<Endpoints> {
        &self.inner.endpoints
    }

    pub(crate) fn gate_cache(&self) -> &GateCache {
        &self.inner.gates
    }

    pub(crate) fn operation_created(&self) -> &Arc<Notify> {
        &self.inner.operation_created
    }

    pub(crate) fn random(&self) -> &Random {
        &self.inner.random
    }

    /// How long an HTTP call may take, whatever its job says.
    #[cfg(feature = "http")]
    pub(crate) fn call_timeout_max(&self) -> Duration {
        self.inner.job_limits.call_timeout_max
    }

    /// The present time by the store's clock, the only one that decides anything.
    pub fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// Checks a request and gives it an id, without storing it.
    pub fn prepare(&self, request: impl Into<JobRequest>) -> Result<NewJob, Invalid> {
        let request = request.into();
        request.check_no_references()?;
        let now = self.now();
        self.prepare_as(request, self.inner.random.job_id(now), now)
    }

    fn prepare_as(
        &self,
        request: JobRequest,
        id: JobId,
        now: Timestamp,
    ) -> Result<NewJob, Invalid> {
        let job = request.build(id, &self.inner.levels, now)?;
        self.inner.job_limits.check(&job)?;
        Ok(match (&self.actor, job.unique(), job.extras()) {
            (Some(actor), Some(_), Some(extras)) => {
                let mut extras = extras.clone();
                extras.requested_by = Some(Actor::clone(actor));
                job.with_extras(extras)
            }
            _ => job,
        })
    }

    /// The same for a job that is created if and only if an attempt of another succeeds.
    pub fn prepare_outbox(&self, request: impl Into<JobRequest>) -> Result<NewJob, Invalid> {
        let request = request.into();
        request.check_outbox()?;
        self.prepare(request)
    }

    /// Stores a job, durably before it returns. Takes the input of a handler, or a [`JobRequest`].
    pub async fn enqueue(&self, request: impl Into<JobRequest>) -> Result<JobId, ClientError> {
        let job = self.prepare(request)?;
        Ok(first(self.store().enqueue(vec![job]).await?)?.id())
    }

    /// Stores many jobs in one transaction: all of them, or none.
    pub async fn enqueue_all<R: Into<JobRequest>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<EnqueueResult>, ClientError> {
        let jobs = self.prepare_all(requests)?;
        Ok(self.store().enqueue(jobs).await?)
    }

    /// As [`Client::enqueue`], and returns the whole job.
    pub fn create(
        &self,
        request: impl Into<JobRequest>,
    ) -> impl Future<Output = Result<CreateResult, ClientError>> + Send {
        // Outside of the future, which would otherwise hold the request as well as the job.
        let jobs = self.prepare(request).map(|job| vec![job]);
        async { first(self.store_all(jobs?).await?) }
    }

    /// As [`Client::enqueue_all`], and returns the whole jobs.
    pub async fn create_all<R: Into<JobRequest>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        let jobs = self.prepare_all(requests)?;
        self.store_all(jobs).await
    }

    fn prepare_all<R: Into<JobRequest>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<NewJob>, Invalid> {
        let now = self.now();
        let requests: Vec<JobRequest> = requests.into_iter().map(Into::into).collect();
        // They are created at one time, so that their ids alone tell which of a key comes first.
        let ids = requests.iter().map(|_| self.inner.random.job_id(now));
        let mut ids: Vec<JobId> = ids.collect();
        ids.sort_unstable();
        let mut known = HashMap::new();
        let prepared = requests.into_iter().zip(ids).enumerate();
        let prepared = prepared.map(|(index, (mut request, id))| {
            let resolved = request.resolve(id, &mut known);
            let prepared = resolved.and_then(|()| self.prepare_as(request, id, now));
            prepared.map_err(|error| error.within(&format!("jobs[{index}]")))
        });
        let jobs = prepared.collect::<Result<Vec<_>, _>>()?;
        let most = limits::BULK_JOBS_MAX;
        if jobs.len() > most {
            let expected = format!("must contain at most {most} jobs");
            return Err(Invalid::new(
                "jobs",
                format!("a list of {}", jobs.len()),
                expected,
            ));
        }
        Ok(jobs)
    }

    /// Stores jobs and returns them. Only those that existed before have to be read, and those whose
    /// time the store decides.
    async fn store_all(&self, jobs: Vec<NewJob>) -> Result<Vec<CreateResult>, ClientError> {
        self.store_all_with(jobs, None).await
    }

    /// The same, and stores who asked for them.
    async fn store_all_with(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        let results = match audit {
            None => self.store().enqueue(jobs.clone()).await,
            Some(audit) => self.store().enqueue_audited(jobs.clone(), audit).await,
        };
        let results = match results {
            Err(EnqueueError::Conflict { index, key, job }) => {
                return Err(self.key_conflict(index, key, job).await);
            }
            results => results?,
        };
        self.stored_jobs(jobs, results).await
    }

    async fn stored_jobs(
        &self,
        jobs: Vec<NewJob>,
        results: Vec<EnqueueResult>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        // The store decides when these are due.
        let waits = |job: &NewJob| {
            let is_debounced = job.extras().is_some_and(|it| it.debounce.is_some());
            is_debounced || job.after().is_some()
        };
        let existing: Vec<JobId> = jobs
            .iter()
            .zip(&results)
            .filter_map(|(job, result)| match result {
                EnqueueResult::Created(..) => waits(job).then_some(job.id),
                EnqueueResult::Existing(id) | EnqueueResult::Unique(id, _) => Some(*id),
            })
            .collect();
        let existing = if existing.is_empty() {
            Vec::new()
        } else {
            self.store().get_jobs(existing).await?
        };
        let mut existing = existing.into_iter();
        let pairs = jobs.into_iter().zip(results);
        pairs
            .map(|(job, result)| {
                Ok(match result {
                    EnqueueResult::Created(id, _) if waits(&job) => {
                        let job = existing.next().flatten();
                        CreateResult::New(job.ok_or(CommandError::NotFound(id))?)
                    }
                    EnqueueResult::Created(_, at) => CreateResult::New(job.into_job(at)),
                    EnqueueResult::Existing(id) => {
                        let job = existing.next().flatten();
                        CreateResult::Existing(job.ok_or(CommandError::NotFound(id))?)
                    }
                    EnqueueResult::Unique(id, result) => {
                        let job = existing.next().flatten();
                        CreateResult::Unique(job.ok_or(CommandError::NotFound(id))?, result)
                    }
                })
            })
            .collect()
    }

    /// Jobs and schedules share their keys: a holder that is no job is a schedule.
    async fn key_conflict(&self, index: usize, key: IdempotencyKey, job: JobId) -> ClientError {
        match self.job(job).await {
            Ok(None) => ClientError::KeyTaken { key },
            Ok(Some(_)) | Err(_) => EnqueueError::Conflict { index, key, job }.into(),
        }
    }

    /// The job of an id.
    pub async fn job(&self, id: JobId) -> Result<Option<Job>, ClientError> {
        let found = self.store().get_jobs(vec![id]).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// The states of these jobs, in their order, without reading the jobs themselves.
    pub async fn job_states(&self, ids: Vec<JobId>) -> Result<Vec<Option<JobState>>, ClientError> {
        Ok(self.store().job_states(ids).await?)
    }

    /// The jobs of these ids, in their order.
    pub async fn jobs_of(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, ClientError> {
        Ok(self.store().get_jobs(ids).await?)
    }

    /// Stored rows that cannot be read, and were passed over.
    pub async fn damaged(&self) -> Result<DamagedRows, ClientError> {
        Ok(self.store().list_damaged().await?)
    }

    /// The size of the log beside the data, if the store has such a file.
    pub async fn log_bytes(&self) -> Result<Option<u64>, ClientError> {
        Ok(self.store().log_bytes().await?)
    }

    /// A page of the jobs that match, newest first. They come without their payloads, but for the
    /// `url` and `method` of the kind `http`; [`Client::job`] reads a whole one.
    pub async fn jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        Ok(self.store().list_jobs(filter, page).await?)
    }

    /// How many jobs match, counting no further than `most`, nor longer than a second or so; the
    /// answer says whether it stopped early.
    pub async fn count(&self, filter: JobFilter, most: u64) -> Result<JobCount, ClientError> {
        Ok(self.store().count_jobs(filter, most).await?)
    }

    /// A page of the attempts of a job, or of all runs of a schedule, newest first. Takes either's
    /// id.
    pub async fn attempts(
        &self,
        owner: impl Into<AttemptOwner>,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, ClientError> {
        Ok(self.store().list_attempts(owner.into(), page).await?)
    }

    /// Cancels a job: at once if it waits. If it runs, its handler gets the signal to stop, at once
    /// on the engine of this client and within about a second on other nodes; what it then returns
    /// decides: a success stays one, anything else is `cancelled`.
    pub async fn cancel(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Cancel).await
    }

    /// Tries a job that failed or was cancelled again, with a fresh retry budget.
    pub async fn retry(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Retry { payload: None }).await
    }

    /// As [`Client::retry`], with another payload.
    pub async fn retry_with(&self, id: JobId, payload: Payload) -> Result<Job, ClientError> {
        let payload = Some(payload);
        self.command(id, JobCommand::Retry { payload }).await
    }

    /// Starts a waiting job without waiting for its time.
    pub async fn run_now(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::RunNow).await
    }

    /// Changes a waiting job.
    pub async fn edit(&self, id: JobId, edit: JobEdit) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Edit(edit)).await
    }

    /// Resolves a dead letter without trying it again.
    pub async fn discard(&self, id: JobId) -> Result<Job, ClientError> {
        self.command(id, JobCommand::Discard).await
    }

    /// Carries out a command on a job.
    pub async fn command(&self, id: JobId, command: JobCommand) -> Result<Job, ClientError> {
        if let Some(actor) = self.actor.as_deref() {
            let job = self.job(id).await?.ok_or(CommandError::NotFound(id))?;
            return self.command_by(&job, command, actor.clone()).await;
        }
        self.check_command(&command)?;
        let results = self.run_command(vec![id], command, None).await?;
        let result = results.into_iter().next();
        Ok(result.unwrap_or(Err(CommandError::NotFound(id)))?)
    }

    /// Carries out a command on jobs and returns on how many. Jobs for which it makes no sense
    /// are passed over.
    pub async fn command_each(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
    ) -> Result<u64, ClientError> {
        let record = self.record_of_each(&ids, &command).await?;
        self.command_each_with(ids, command, record).await
    }

    /// A command can give a job a payload and a policy, like a create.
    fn check_command(&self, command: &JobCommand) -> Result<(), Invalid> {
        let (payload, policy) = match command {
            JobCommand::Edit(edit) => (edit.payload.as_ref(), edit.policy.as_ref()),
            JobCommand::Retry { payload } => (payload.as_ref(), None),
            _ => (None, None),
        };
        if let Some(payload) = payload {
            payload.check_bytes(self.inner.job_limits.payload_bytes_max)?;
        }
        policy.map_or(Ok(()), |policy| self.levels().check(policy))
    }

    async fn run_command(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let endpoints = match command {
            // Only the end of a job is reported, so only what ends one must know of every endpoint.
            JobCommand::Cancel | JobCommand::Expire | JobCommand::Follow(_) => {
                self.endpoint_cache().refresh_if_changed().await?
            }
            _ => self.endpoint_cache().get().await?,
        };
        let subscriptions = endpoints.subscriptions();
        let run = match audit {
            None => self.store().run_command(ids, command, subscriptions),
            Some(audit) => self
                .store()
                .run_audited_command(ids, command, subscriptions, audit),
        };
        let results = run.await?;
        for job in results.iter().flatten() {
            if job.progress.cancel_requested {
                let inflight = &self.inner.inflight;
                inflight.stop(job.id, job.progress.fence, StopReason::Cancelled);
            }
        }
        Ok(results)
    }

    /// A page of the dead letters, newest first.
    pub async fn dead_letters(
        &self,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        self.jobs(JobFilter::dead_letters(), page).await
    }

    /// Counts over everything; [`Stats::recent`] counts from the minute of `since` on.
    pub async fn stats(&self, since: Timestamp) -> Result<Stats, ClientError> {
        Ok(self.lanes(since).await?.into_iter().collect())
    }

    /// Attempts by the minute in which they ended, of a tenant or of all.
    pub async fn minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, ClientError> {
        Ok(self.store().minute_stats(tenant, since).await?)
    }

    /// Counts by tenant, queue and kind; `recent` as in [`Client::stats`].
    pub async fn lanes(&self, since: Timestamp) -> Result<Vec<LaneStats>, ClientError> {
        let mut lanes = self.store().lane_stats(since).await?;
        let gates = self.gate_cache().refresh_all().await?;
        mark_paused(&gates, &mut lanes, self.now());
        Ok(lanes)
    }
}

/// The result for the only job of a batch.
fn first<T>(results: Vec<T>) -> Result<T, ClientError> {
    let first = results.into_iter().next();
    first.ok_or(ClientError::MissingResult)
}
