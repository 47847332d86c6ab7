//! Creating jobs.

use std::collections::HashMap;

use steadfast_core::{
    Actor, AuditRecord, IdempotencyKey, Invalid, JobId, NewJob, Timestamp, limits,
};
use steadfast_store::{CommandError, EnqueueError, EnqueueResult, JobDetail};

use super::{Client, ClientError, CreateResult, first, request::JobRequest};
use crate::{
    flow::store_meter::{CommitTimer, StoreSlow},
    traces::SendSpans,
};

/// Jobs on their way to the store.
pub(super) struct JobsSent<'c> {
    spans: SendSpans,
    timer: CommitTimer<'c>,
}

impl Client {
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
        let mut jobs = vec![self.prepare(request)?];
        self.check_job_secrets(&jobs, None).await?;
        let sent = self.begin_create(&mut jobs)?;
        Ok(first(self.store_jobs(jobs, sent, None).await?)?.id())
    }

    /// Stores many jobs in one transaction: all of them, or none.
    pub async fn enqueue_all<R: Into<JobRequest>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<EnqueueResult>, ClientError> {
        let mut jobs = self.prepare_all(requests)?;
        self.check_job_secrets(&jobs, Some("jobs")).await?;
        let sent = self.begin_create(&mut jobs)?;
        Ok(self.store_jobs(jobs, sent, None).await?)
    }

    /// As [`Client::enqueue`], and returns the whole job.
    pub fn create(
        &self,
        request: impl Into<JobRequest>,
    ) -> impl Future<Output = Result<CreateResult, ClientError>> + Send {
        // Outside of the future, which would otherwise hold the request as well as the job.
        let jobs = self.prepare(request).map(|job| vec![job]);
        async {
            let jobs = jobs?;
            self.check_job_secrets(&jobs, None).await?;
            first(self.store_all(jobs).await?)
        }
    }

    /// As [`Client::enqueue_all`], and returns the whole jobs.
    pub async fn create_all<R: Into<JobRequest>>(
        &self,
        requests: impl IntoIterator<Item = R>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        let jobs = self.prepare_all(requests)?;
        self.check_job_secrets(&jobs, Some("jobs")).await?;
        self.store_all(jobs).await
    }

    pub(super) fn prepare_all<R: Into<JobRequest>>(
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
    pub(super) async fn store_all(
        &self,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        self.store_all_with(jobs, None).await
    }

    /// The same, and stores who asked for them.
    pub(super) async fn store_all_with(
        &self,
        mut jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<CreateResult>, ClientError> {
        let sent = self.begin_create(&mut jobs)?;
        let results = match self.store_jobs(jobs.clone(), sent, audit).await {
            Err(EnqueueError::Conflict { index, key, job }) => {
                return Err(self.key_conflict(index, key, job).await);
            }
            results => results?,
        };
        self.stored_jobs(jobs, results).await
    }

    async fn store_jobs(
        &self,
        jobs: Vec<NewJob>,
        sent: JobsSent<'_>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let results = self.store().enqueue(jobs, audit).await;
        self.end_create(sent, results.as_deref());
        results
    }

    /// Begins the spans of jobs that are about to be stored, unless the store is too slow for them.
    pub(super) fn begin_create(&self, jobs: &mut [NewJob]) -> Result<JobsSent<'_>, StoreSlow> {
        let admission = &self.inner.admission;
        // A request of several tenants is one of an operator: it counts as one of the first.
        let timer = match jobs.first() {
            Some(first) => admission.begin(&first.tenant)?,
            None => admission.meter.begin(),
        };
        let spans = self.traces().send(jobs, || self.now());
        Ok(JobsSent { spans, timer })
    }

    pub(super) fn end_create(
        &self,
        JobsSent { spans, timer }: JobsSent<'_>,
        results: Result<&[EnqueueResult], &EnqueueError>,
    ) {
        self.inner.admission.end(timer, results);
        spans.end(results, || self.now());
    }

    pub(super) async fn stored_jobs(
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
            self.store().get_jobs(existing, JobDetail::Full).await?
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
    pub(super) async fn key_conflict(
        &self,
        index: usize,
        key: IdempotencyKey,
        job: JobId,
    ) -> ClientError {
        match self.job(job).await {
            Ok(None) => ClientError::KeyTaken { key },
            Ok(Some(_)) | Err(_) => EnqueueError::Conflict { index, key, job }.into(),
        }
    }
}
