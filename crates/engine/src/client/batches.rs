//! Jobs that are counted together.

use steadfast_core::{
    BATCH_TAG, BatchId, BatchName, IdempotencyKey, Invalid, NewBatch, NewJob, Tenant,
};
use steadfast_store::{
    BatchCreateResult, BatchFilter, BatchRecord, EnqueueError, Page, PageRequest,
};

use super::{Client, ClientError, CreateResult};
use crate::{client::request::JobRequest, limits::BATCHES_UNFINISHED_MAX};

/// Jobs to be counted together, as a program asks for them.
///
/// ```
/// use steadfast_core::Payload;
/// use steadfast_engine::{BatchRequest, Client, JobRequest};
/// # use std::sync::Arc;
/// # use steadfast_store::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), steadfast_engine::ClientError> {
/// # let client = Client::new(Arc::new(MemoryStore::default()));
/// let page = |number: u32| JobRequest::new("page", Payload::encode(&number).unwrap());
/// let request = BatchRequest::new()
///     .jobs((1..=3).map(page))
///     .on_success(JobRequest::new("publish", Payload::default()));
/// let batch = client.create_batch(request).await?.batch;
/// assert_eq!(batch.counts.unfinished(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct BatchRequest {
    tenant: Option<String>,
    name: Option<String>,
    idempotency_key: Option<String>,
    is_open: bool,
    jobs: Vec<JobRequest>,
    on_end: Option<JobRequest>,
    on_success: Option<JobRequest>,
}

impl BatchRequest {
    /// A batch without jobs, which is closed when it is created.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tenant that owns the batch and its jobs; `default` by default.
    #[must_use]
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// The name of the batch.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// One key, one batch: the same request with the same key returns the first batch.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Leaves it open: jobs that name it with [`JobRequest::batch`] are added, until
    /// [`Client::close_batch`].
    #[must_use]
    pub fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Its jobs, up to [`BULK_JOBS_MAX`](steadfast_core::limits::BULK_JOBS_MAX); more are added to one
    /// that is left open.
    #[must_use]
    pub fn jobs<R: Into<JobRequest>>(mut self, jobs: impl IntoIterator<Item = R>) -> Self {
        self.jobs.extend(jobs.into_iter().map(Into::into));
        self
    }

    /// The job to make when all have ended, however they did. It gets the tag `batch`.
    #[must_use]
    pub fn on_end(mut self, job: impl Into<JobRequest>) -> Self {
        self.on_end = Some(job.into());
        self
    }

    /// The job to make when all have succeeded, which may be long after the end, when dead letters
    /// were requeued. It gets the tag `batch`.
    #[must_use]
    pub fn on_success(mut self, job: impl Into<JobRequest>) -> Self {
        self.on_success = Some(job.into());
        self
    }
}

/// The result of a request for a batch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreatedBatch {
    /// The batch, as it was stored.
    pub batch: BatchRecord,
    /// Its jobs in the order of the request; none if the batch existed before.
    pub jobs: Vec<CreateResult>,
    /// Whether the same request has created it before.
    pub is_existing: bool,
}

impl Client {
    /// Stores a batch and its jobs in one transaction: all of it, or nothing.
    pub async fn create_batch(&self, request: BatchRequest) -> Result<CreatedBatch, ClientError> {
        let mut batch = self.prepare_batch(request)?;
        self.check_job_secrets(&batch.jobs, Some("jobs")).await?;
        for (callback, field) in [(&batch.on_end, "onEnd"), (&batch.on_success, "onSuccess")] {
            self.check_template_secrets(callback.as_ref(), field)
                .await?;
        }
        let sent = self.begin_create(&mut batch.jobs)?;
        let (jobs, key) = (batch.jobs.clone(), batch.idempotency_key.clone());
        let most = BATCHES_UNFINISHED_MAX;
        let created = self.store().create_batch(batch, most).await;
        let results = created.as_ref().map(|created| match created {
            BatchCreateResult::Created(_, results) => results.as_slice(),
            _ => &[],
        });
        self.end_create(sent, results);
        let created = match created {
            Err(EnqueueError::Conflict { index, key, job }) => {
                return Err(self.key_conflict(index, key, job).await);
            }
            created => created?,
        };
        match (created, key) {
            (BatchCreateResult::Created(batch, results), _) => Ok(CreatedBatch {
                batch,
                jobs: self.stored_jobs(jobs, results).await?,
                is_existing: false,
            }),
            (BatchCreateResult::Existing(batch), _) => Ok(CreatedBatch {
                batch,
                jobs: Vec::new(),
                is_existing: true,
            }),
            (BatchCreateResult::KeyTaken(_), Some(key)) => Err(ClientError::KeyTaken { key }),
            (BatchCreateResult::KeyTaken(_), None) => Err(ClientError::MissingResult),
            (BatchCreateResult::JobsExist(job), _) => {
                let stored = self.job(job).await?;
                let batch = stored.and_then(|stored| stored.batch());
                Err(ClientError::BatchJobsExist { job, batch })
            }
            (BatchCreateResult::TooMany, _) => Err(ClientError::TooManyBatches { most }),
        }
    }

    fn prepare_batch(&self, request: BatchRequest) -> Result<NewBatch, Invalid> {
        let tenant = request.tenant.as_deref().map(Tenant::new).transpose()?;
        let tenant = tenant.unwrap_or_default();
        let name = request.name.map(BatchName::new).transpose()?;
        let key = request.idempotency_key.as_deref();
        let key = key.map(IdempotencyKey::new).transpose()?;
        let id = self.random().batch_id(self.now());
        let jobs = request.jobs.into_iter().enumerate();
        let jobs = jobs.map(|(index, job)| {
            job.for_batch(id, &tenant)
                .map_err(|error| error.within(&format!("jobs[{index}]")))
        });
        let jobs: Vec<JobRequest> = jobs.collect::<Result<_, _>>()?;
        Ok(NewBatch {
            id,
            name,
            idempotency_key: key,
            is_open: request.is_open,
            jobs: self.prepare_all(jobs)?,
            on_end: self.prepare_callback(id, &tenant, request.on_end, "onEnd")?,
            on_success: self.prepare_callback(id, &tenant, request.on_success, "onSuccess")?,
            tenant,
        })
    }

    fn prepare_callback(
        &self,
        batch: BatchId,
        tenant: &Tenant,
        job: Option<JobRequest>,
        field: &str,
    ) -> Result<Option<NewJob>, Invalid> {
        let Some(job) = job else {
            return Ok(None);
        };
        let job = job.check_callback(tenant);
        let job = job.and_then(|job| self.prepare(job.tag(BATCH_TAG, batch.to_string())));
        job.map(Some).map_err(|error| error.within(field))
    }

    /// Lets no more jobs be added to a batch, so that it can end. To close it again changes nothing.
    pub async fn close_batch(&self, id: BatchId) -> Result<BatchRecord, ClientError> {
        let known = self.batch(id).await?;
        let known = known.ok_or(ClientError::BatchNotFound(id))?;
        let record = self.audit_record("batch.close", id.to_string(), Some(&known.tenant));
        let closed = self.store().close_batch(id, record).await?;
        closed.ok_or(ClientError::BatchNotFound(id))
    }

    /// The batch of an id.
    pub async fn batch(&self, id: BatchId) -> Result<Option<BatchRecord>, ClientError> {
        Ok(self.store().get_batch(id).await?)
    }

    /// A page of the batches that match, newest first.
    pub async fn batches(
        &self,
        filter: BatchFilter,
        page: PageRequest<BatchId>,
    ) -> Result<Page<BatchRecord, BatchId>, ClientError> {
        Ok(self.store().list_batches(filter, page).await?)
    }
}
