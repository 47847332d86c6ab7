//! What a program can ask of the engine's store: make jobs, look at them, change them.

use std::sync::Arc;

use steadfast_core::{
    Attempt, Invalid, Job, JobCommand, JobEdit, JobId, NewJob, Payload, Queue, Tenant, Timestamp,
    limits,
};
use steadfast_store::{
    AttemptCursor, AttemptOwner, CommandError, EnqueueError, EnqueueResult, JobFilter,
    JobPageRequest, LaneStats, MinuteStats, Page, PageRequest, Store, StoreError,
};

use crate::{
    JobRequest, Stats, StopReason,
    cache::Cache,
    endpoints::Endpoints,
    inflight::Inflight,
    limits::{BULK_PAGE_MAX, BULK_PAUSE},
    random::Random,
    request::PolicyLevels,
};

/// A cheap handle: clone it freely. It works without a running engine, too.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    levels: PolicyLevels,
    random: Arc<Random>,
    /// What runs on the engine that this client belongs to.
    inflight: Arc<Inflight>,
    endpoints: Arc<Cache<Endpoints>>,
}

/// What became of a request for a job.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateResult {
    New(Job),
    /// There already was such a job.
    Existing(Job),
}

impl CreateResult {
    pub fn job(self) -> Job {
        match self {
            Self::New(job) | Self::Existing(job) => job,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Something that was asked for breaks a rule; nothing was done.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Enqueue(#[from] EnqueueError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A schedule that was named is not there.
    #[error("there is no schedule {0}")]
    NoSchedule(String),
}

impl Client {
    /// A client for a store that engines elsewhere serve.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let endpoints = Arc::new(Endpoints::cache(store.clone()));
        Self::with(
            store,
            PolicyLevels::default(),
            Arc::new(Random::from_entropy()),
            Arc::default(),
            endpoints,
        )
    }

    pub(crate) fn with(
        store: Arc<dyn Store>,
        levels: PolicyLevels,
        random: Arc<Random>,
        inflight: Arc<Inflight>,
        endpoints: Arc<Cache<Endpoints>>,
    ) -> Self {
        Self(Arc::new(Inner {
            store,
            levels,
            random,
            inflight,
            endpoints,
        }))
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.0.store
    }

    pub(crate) fn endpoint_cache(&self) -> &Cache<Endpoints> {
        &self.0.endpoints
    }

    pub(crate) fn random(&self) -> &Random {
        &self.0.random
    }

    /// The time that decides: the store's.
    pub fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// Checks a request and gives it an id, without storing it.
    pub fn prepare(&self, request: impl Into<JobRequest>) -> Result<NewJob, Invalid> {
        let id = self.0.random.job_id(self.now());
        request.into().build(id, &self.0.levels)
    }

    /// Stores a job, durably before it returns. Takes an input, or a request made of one.
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

    /// As [`Client::enqueue`], and answers with the job.
    pub fn create(
        &self,
        request: impl Into<JobRequest>,
    ) -> impl Future<Output = Result<CreateResult, ClientError>> + Send {
        // Not in the future, which would carry the request along with what was made of it.
        let jobs = self.prepare(request).map(|job| vec![job]);
        async { first(self.store_all(jobs?).await?) }
    }

    /// As [`Client::enqueue_all`], and answers with the jobs.
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
        let prepared = requests.into_iter().enumerate().map(|(index, request)| {
            self.prepare(request)
                .map_err(|error| error.within(&format!("jobs[{index}]")))
        });
        let jobs = prepared.collect::<Result<Vec<_>, _>>()?;
        let most = limits::BULK_JOBS_MAX;
        if jobs.len() > most {
            let expected = format!("must hold at most {most} jobs");
            return Err(Invalid::new(
                "jobs",
                format!("a list of {}", jobs.len()),
                expected,
            ));
        }
        Ok(jobs)
    }

    /// What was just stored is known; only what was there before must be read.
    async fn store_all(&self, jobs: Vec<NewJob>) -> Result<Vec<CreateResult>, ClientError> {
        let answers = self.store().enqueue(jobs.clone()).await?;
        let existing = answers.iter().filter_map(|answer| match answer {
            EnqueueResult::Created(..) => None,
            EnqueueResult::Existing(id) => Some(*id),
        });
        let existing: Vec<JobId> = existing.collect();
        let mut found = match existing.is_empty() {
            true => Vec::new(),
            false => self.store().get_jobs(existing).await?,
        }
        .into_iter();
        let made = jobs.into_iter().zip(answers).map(|(job, answer)| {
            Ok(match answer {
                EnqueueResult::Created(_, at) => CreateResult::New(job.stored(at)),
                EnqueueResult::Existing(id) => {
                    let job = found.next().flatten();
                    CreateResult::Existing(job.ok_or(CommandError::NotFound(id))?)
                }
            })
        });
        made.collect()
    }

    pub async fn job(&self, id: JobId) -> Result<Option<Job>, ClientError> {
        let found = self.store().get_jobs(vec![id]).await?;
        Ok(found.into_iter().next().flatten())
    }

    /// The jobs of these ids, in their order.
    pub async fn jobs_of(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, ClientError> {
        Ok(self.store().get_jobs(ids).await?)
    }

    pub async fn jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        Ok(self.store().list_jobs(filter, page).await?)
    }

    /// How many jobs match, counting no further than `most`.
    pub async fn count(&self, filter: JobFilter, most: u64) -> Result<u64, ClientError> {
        Ok(self.store().count_jobs(filter, most).await?)
    }

    /// Attempts of a job, or of all runs of a schedule, newest first. Takes either's id.
    pub async fn attempts(
        &self,
        of: impl Into<AttemptOwner>,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, ClientError> {
        Ok(self.store().list_attempts(of.into(), page).await?)
    }

    /// Stops a job: at once if it waits. If it runs, its handler is told, at once on the engine
    /// of this client and within ten seconds on other nodes; what it then does decides: a
    /// success stays one, anything else is `cancelled`.
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
        let answers = self.commanded(vec![id], command).await?;
        let answer = answers.into_iter().next();
        Ok(answer.unwrap_or(Err(CommandError::NotFound(id)))?)
    }

    async fn commanded(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let subscriptions = self.endpoint_cache().get().await?.subscriptions();
        let answers = self
            .store()
            .run_command(ids, command, subscriptions)
            .await?;
        for job in answers.iter().flatten() {
            if job.progress.cancel_requested {
                let inflight = &self.0.inflight;
                inflight.stop(job.id, job.progress.fence, StopReason::Cancelled);
            }
        }
        Ok(answers)
    }

    /// Carries out a command on jobs, and says on how many. Jobs for which it makes no sense
    /// are passed over.
    pub async fn command_each(
        &self,
        ids: Vec<JobId>,
        command: JobCommand,
    ) -> Result<u64, ClientError> {
        let answers = self.commanded(ids, command).await?;
        Ok(answers.iter().filter(|answer| answer.is_ok()).count() as u64)
    }

    /// Carries out a command on every job that matches now, a page at a time, and says on how
    /// many. Jobs for which it makes no sense are passed over.
    pub async fn command_all(
        &self,
        filter: JobFilter,
        command: JobCommand,
    ) -> Result<u64, ClientError> {
        let mut done = 0;
        let mut page = JobPageRequest::first(BULK_PAGE_MAX);
        loop {
            let listed = self.store().list_jobs(filter.clone(), page).await?;
            let ids: Vec<JobId> = listed.items.iter().map(|job| job.id).collect();
            if !ids.is_empty() {
                done += self.command_each(ids, command.clone()).await?;
            }
            if listed.next.is_some() {
                tokio::time::sleep(BULK_PAUSE).await;
            }
            match listed.next {
                Some(next) => page.after = Some(next),
                None => return Ok(done),
            }
        }
    }

    /// Dead letters, newest first.
    pub async fn dead_letters(
        &self,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, ClientError> {
        self.jobs(JobFilter::dead_letters(), page).await
    }

    /// Stops claims from a tenant's queue until it is resumed; what runs goes on.
    pub async fn pause_queue(&self, tenant: Tenant, queue: Queue) -> Result<(), ClientError> {
        Ok(self.store().set_queue_paused(tenant, queue, true).await?)
    }

    pub async fn resume_queue(&self, tenant: Tenant, queue: Queue) -> Result<(), ClientError> {
        Ok(self.store().set_queue_paused(tenant, queue, false).await?)
    }

    /// Counts over everything; `recent` since the minute of the time given.
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

    /// Counts by tenant, queue and kind.
    pub async fn lanes(&self, since: Timestamp) -> Result<Vec<LaneStats>, ClientError> {
        Ok(self.store().lane_stats(since).await?)
    }
}

/// The only answer there is.
fn first<T>(answers: Vec<T>) -> Result<T, ClientError> {
    let first = answers.into_iter().next();
    let missing = || StoreError::broken("enqueue", "the store left a job without an answer");
    Ok(first.ok_or_else(missing)?)
}
