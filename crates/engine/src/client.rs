//! The client of an engine: create jobs, query them, change them.

mod alerts;
mod batches;
mod commands;
mod create;
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
mod schedules;
pub mod stats;

pub use batches::{BatchRequest, CreatedBatch};
pub use commands::bulk::{BulkCommand, BulkResult};
pub use destinations::{DestinationCounts, DestinationFilter, DestinationState};
pub use due::{DueStop, DueSummary, LaneDue};
pub use endpoints::endpoint_deliveries;
pub use error::ClientError;
pub use explain::{ExplainRequest, WorkerPresence};
pub use forecast::{DestinationForecast, Forecasts, QueueForecast};
pub use gates::GateUse;
pub use operations::OperationRequest;
pub use replay::{ReplayRecord, ReplayRequest};

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Actor, Attempt, Invalid, Job, JobId, JobState, Kind, NewJob, Tenant, Timestamp, UniqueResult,
    duration, limits,
};
use steadfast_store::{
    AttemptCursor, AttemptOwner, ClaimLog, DamagedRows, JobCount, JobDetail, JobFilter,
    JobPageRequest, LaneStats, MinuteStats, Page, PageRequest, Store, StoreMetrics,
};

use tokio::sync::Notify;

use crate::{
    client::stats::Stats,
    documents::{cache::DocumentCache, endpoints::Endpoints, policy_levels::PolicyLevels},
    flow::{
        admission::{Admission, RefusedCreates},
        gates::{GateCache, mark_paused},
        store_meter::StoreSlow,
    },
    inflight::Inflight,
    limits::{CALL_TIMEOUT_MAX_DEFAULT, COMMIT_TIME_MAX_DEFAULT},
    random::Random,
    traces::Traces,
};

/// Creates, queries and changes jobs and schedules.
///
/// Cheap to clone. It works without a running engine, too: [`Client::new`] needs only a store.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Who gives the commands.
    actor: Option<Arc<Actor>>,
    traces: Traces,
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
    admission: Arc<Admission>,
    /// Tells the operation runner of this engine that there is work.
    operation_created: Arc<Notify>,
}

/// What the operator allows of jobs and their creation.
#[derive(Clone, Copy)]
pub(crate) struct JobLimits {
    pub payload_bytes_max: usize,
    /// An HTTP call holds a slot for as long as it takes.
    pub call_timeout_max: Duration,
    /// If commits take longer, creates are refused.
    pub commit_time_max: Duration,
}

impl Default for JobLimits {
    fn default() -> Self {
        Self {
            payload_bytes_max: limits::PAYLOAD_BYTES_DEFAULT,
            call_timeout_max: CALL_TIMEOUT_MAX_DEFAULT,
            commit_time_max: COMMIT_TIME_MAX_DEFAULT,
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
        let gates = Arc::new(GateCache::new(&store));
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
            admission: Arc::new(Admission::new(job_limits.commit_time_max)),
            operation_created: Arc::default(),
        });
        Self {
            inner,
            actor: None,
            traces: Traces::default(),
        }
    }

    /// The same client, whose jobs leave spans.
    #[must_use]
    pub(crate) fn traced(mut self, traces: Traces) -> Self {
        self.traces = traces;
        self
    }

    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.inner.admission
    }

    pub(crate) fn traces(&self) -> &Traces {
        &self.traces
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
            traces: self.traces.clone(),
        }
    }

    pub(crate) fn actor(&self) -> Option<&Actor> {
        self.actor.as_deref()
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

    /// The job of an id.
    pub async fn job(&self, id: JobId) -> Result<Option<Job>, ClientError> {
        let found = self.store().get_jobs(vec![id], JobDetail::Full).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// The states of these jobs, in their order, without reading their payloads.
    pub async fn job_states(&self, ids: Vec<JobId>) -> Result<Vec<Option<JobState>>, ClientError> {
        let jobs = self.store().get_jobs(ids, JobDetail::Listed).await?;
        let state = |job: Option<Job>| Some(job?.progress.state);
        Ok(jobs.into_iter().map(state).collect())
    }

    /// The jobs of these ids, in their order.
    pub async fn jobs_of(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, ClientError> {
        Ok(self.store().get_jobs(ids, JobDetail::Full).await?)
    }

    /// Stored rows that cannot be read, and were passed over.
    pub async fn damaged(&self) -> Result<DamagedRows, ClientError> {
        Ok(self.store().list_damaged().await?)
    }

    /// Metrics of the store, for operators.
    pub async fn store_metrics(&self) -> Result<StoreMetrics, ClientError> {
        Ok(self.store().metrics().await?)
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

    /// Logs of the attempt with this number, oldest first, from the one with a line on and a few at a
    /// time. There are several if attempts were not counted: they share their number with the next, and
    /// the numbers of its lines go on.
    pub async fn attempt_logs(
        &self,
        job: JobId,
        attempt: u32,
        line: u64,
    ) -> Result<Vec<ClaimLog>, ClientError> {
        Ok(self.store().attempt_logs(job, attempt, line).await?)
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
        Ok(self.lanes(None, since).await?.into_iter().collect())
    }

    /// Creates that this client and its clones refused because there was no room for more jobs.
    pub fn refused_creates(&self) -> RefusedCreates {
        self.inner.admission.refused()
    }

    /// How slow the store is, if this node refuses creates for it.
    pub fn store_slow(&self) -> Option<StoreSlow> {
        self.inner.admission.meter.problem()
    }

    /// Attempts by the minute in which they ended, of a tenant or of all.
    pub async fn minutes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, ClientError> {
        Ok(self.store().minute_stats(tenant, since).await?)
    }

    /// Counts by tenant, queue and kind, of a tenant or of all; `recent` as in [`Client::stats`].
    pub async fn lanes(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<LaneStats>, ClientError> {
        let mut lanes = self.store().lane_stats(tenant, since).await?;
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
