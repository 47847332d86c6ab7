//! Carries on work on many jobs, a batch at a time.
//!
//! Every node does, and none owns an operation: a batch is written together with the progress that
//! counts it, under the operation's revision, so what a node that dies leaves behind another goes on
//! with. A node that comes second leaves the operation alone for a while. In each round a tenant has
//! one batch, so that a tenant with a million jobs does not hold up others.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{
    FailureKey, Job, JobCommand, JobId, Kind, OperationEvent, OperationId, OperationKind,
    OperationRoom, OperationStatus, Tenant, tag_text,
};
use steadfast_store::{
    JobDetail, JobFilter, JobTraces, OperationBatch, OperationChange, OperationFilter,
    OperationJobFilter, OperationRecord, OperationStep, PageRequest, Store, StoreError,
};
use tokio::sync::Notify;

use crate::{
    documents::{cache::DocumentCache, endpoints::Endpoints},
    limits,
    role::{Next, Role},
};

pub struct OperationRunner {
    pub store: Arc<dyn Store>,
    pub endpoints: Arc<DocumentCache<Endpoints>>,
    /// Rings when this node's client has created or resumed an operation.
    pub created: Arc<Notify>,
    pub memory: Mutex<RunnerMemory>,
}

/// A node's memory between rounds; losing it does no harm.
#[derive(Default)]
pub struct RunnerMemory {
    /// Where the list of open operations goes on.
    after: Option<OperationId>,
    round: usize,
    /// Operations that other nodes work on, and until when they are left to them.
    elsewhere: HashMap<OperationId, steadfast_core::Timestamp>,
    /// Up to which job the outcomes of an operation were looked at.
    looked: HashMap<OperationId, JobId>,
}

impl OperationRunner {
    fn memory(&self) -> MutexGuard<'_, RunnerMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One operation of each tenant, in turn, and whether there are more.
    async fn next_operations(&self) -> Result<(Vec<OperationRecord>, bool), StoreError> {
        let filter = OperationFilter {
            is_open: true,
            ..OperationFilter::default()
        };
        let after = self.memory().after;
        let page = PageRequest {
            limit: limits::OPERATIONS_PER_ROUND,
            after,
        };
        let open = self.store.list_operations(filter, page).await?;
        let now = self.store.now();
        let mut memory = self.memory();
        memory.after = open.next;
        memory.round += 1;
        let round = memory.round;
        memory.elsewhere.retain(|_, until| *until > now);
        if after.is_none() && open.next.is_none() {
            let ids: Vec<OperationId> = open.items.iter().map(|record| record.id).collect();
            memory.looked.retain(|id, _| ids.contains(id));
        }
        let mut tenants: BTreeMap<Option<Tenant>, Vec<OperationRecord>> = BTreeMap::new();
        for record in open.items {
            let is_running = record.operation.progress.status == OperationStatus::Running;
            if is_running && !memory.elsewhere.contains_key(&record.id) {
                tenants
                    .entry(record.tenant.clone())
                    .or_default()
                    .push(record);
            }
        }
        let has_more = open.next.is_some() || tenants.values().any(|some| some.len() > 1);
        let turns = tenants.into_values().filter_map(|mut some| {
            let turn = round % some.len().max(1);
            (turn < some.len()).then(|| some.swap_remove(turn))
        });
        Ok((turns.collect(), has_more))
    }

    /// Works on one batch of an operation, and says when the next one can be.
    async fn carry_on(&self, record: OperationRecord) -> Result<Duration, StoreError> {
        let Some(record) = self.look_at_outcomes(record).await? else {
            return Ok(limits::OPERATION_POLL);
        };
        let now = self.store.now();
        let most = match record.operation.room(now) {
            OperationRoom::Never => return Ok(limits::OPERATION_POLL),
            // A pace of few jobs a second is kept in batches, not in a transaction for each.
            OperationRoom::Later(at) => return Ok(at.since(now).max(limits::OPERATION_PACE_STEP)),
            OperationRoom::AfterOutcomes => return Ok(limits::OUTCOMES_POLL),
            OperationRoom::Jobs(most) => most,
        };
        let (id, revision) = (record.id, record.revision);
        let step = if record.operation.rotation.is_some() {
            OperationStep::Rotate { revision }
        } else {
            let batch = self.next_batch(&record, most).await?;
            let endpoints = self.endpoints.refresh_if_changed().await?;
            let subscriptions = endpoints.subscriptions();
            OperationStep::Work {
                revision,
                batch,
                subscriptions,
            }
        };
        match self.store.change_operation(id, step).await? {
            OperationChange::Done(record) => {
                self.log_end(&record);
                Ok(Duration::ZERO)
            }
            OperationChange::Outdated => {
                let until = now.plus(limits::OPERATION_ELSEWHERE);
                self.memory().elsewhere.insert(record.id, until);
                Ok(limits::OPERATION_POLL)
            }
            OperationChange::Refused(_) | OperationChange::NotFound => Ok(limits::OPERATION_POLL),
        }
    }

    async fn next_batch(
        &self,
        record: &OperationRecord,
        most: u64,
    ) -> Result<OperationBatch, StoreError> {
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        let after = record.operation.progress.cursor;
        let (jobs, next) = if record.is_named {
            let filter = OperationJobFilter::NotWorked;
            let page = PageRequest { limit, after };
            let page = self.store.list_operation_jobs(record.id, filter, page);
            let page = page.await?;
            let jobs: Vec<JobId> = page.items.iter().map(|job| job.job).collect();
            (jobs, page.next)
        } else {
            let page = PageRequest { limit, after };
            let page = self.store.list_jobs(record.filter.clone(), page).await?;
            let jobs: Vec<JobId> = page.items.iter().map(|job| job.id).collect();
            (jobs, page.next)
        };
        let traces = match record.operation.kind {
            OperationKind::Erase => self.traces_of(record, &jobs).await?,
            _ => JobTraces::default(),
        };
        Ok(OperationBatch {
            // A list that finds little stops early, and goes on from there.
            cursor: next.or(jobs.last().copied()),
            is_last: next.is_none(),
            jobs,
            traces,
        })
    }

    /// Where else the data of jobs is that are to be erased.
    async fn traces_of(
        &self,
        record: &OperationRecord,
        ids: &[JobId],
    ) -> Result<JobTraces, StoreError> {
        let now = self.store.now();
        let jobs = self.store.get_jobs(ids.to_vec(), JobDetail::Full).await?;
        let is_erased =
            |job: &Job| record.filter.matches(job, now) && job.allows(&JobCommand::Erase).is_ok();
        let jobs: Vec<Job> = jobs.into_iter().flatten().filter(is_erased).collect();
        let mut traces = JobTraces::default();
        for job in jobs {
            let limit = limits::TRACES_PAGE;
            let tenant = &job.tenant;
            let filter = JobFilter {
                tenant: Some(tenant.clone()),
                kind: Some(Kind::webhook()),
                tags: vec![tag_text("job", &job.id.to_string())],
                ..JobFilter::default()
            };
            let page = PageRequest::first(limit);
            let deliveries = self.store.list_jobs(filter, page).await?.items;
            traces.deliveries.extend(deliveries.iter().map(|it| it.id));
            let attempts = self.store.attempts_of_jobs(vec![job.id], limit).await?;
            let failures = attempts.items.into_iter().filter_map(|it| it.failure);
            let prints = failures.filter_map(|it| it.fingerprint);
            let keys = prints.map(|it| FailureKey::new(tenant.clone(), it));
            traces
                .failures
                .extend(keys.flat_map(|key| [key.other(), key]));
        }
        traces.failures.sort_unstable();
        traces.failures.dedup();
        Ok(traces)
    }

    /// Counts how the next attempts of some jobs of a canary have ended. Answers with the operation
    /// as it then is; `None` if it is gone.
    async fn look_at_outcomes(
        &self,
        record: OperationRecord,
    ) -> Result<Option<OperationRecord>, StoreError> {
        if record.operation.canary.is_none() {
            return Ok(Some(record));
        }
        let id = record.id;
        let after = self.memory().looked.get(&id).copied();
        let page = PageRequest {
            limit: limits::OUTCOMES_BATCH_MAX,
            after,
        };
        let watched = OperationJobFilter::Watched;
        let rows = self.store.list_operation_jobs(id, watched, page).await?;
        match rows.next {
            Some(next) => self.memory().looked.insert(id, next),
            None => self.memory().looked.remove(&id),
        };
        let ids: Vec<JobId> = rows.items.iter().map(|row| row.job).collect();
        let jobs = match ids.is_empty() {
            true => Vec::new(),
            false => self.store.get_jobs(ids, JobDetail::Full).await?,
        };
        let pairs = rows.items.iter().zip(&jobs);
        let known = pairs.filter_map(|(row, job)| Some((row.job, row.outcome_of(job.as_ref())?)));
        let known: Vec<_> = known.collect();
        let change = if !known.is_empty() {
            let step = OperationStep::Outcomes(known);
            self.store.change_operation(id, step).await?
        } else if record.step(OperationEvent::Checked, self.store.now()) != Ok(record.clone()) {
            let checked = OperationEvent::Checked;
            self.store.change_operation(id, checked.into()).await?
        } else {
            return Ok(Some(record));
        };
        Ok(match change {
            OperationChange::Done(record) => {
                self.log_end(&record);
                Some(*record)
            }
            _ => None,
        })
    }

    fn log_end(&self, record: &OperationRecord) {
        if !record.is_open() {
            tracing::info!(operation = %record.id, "{}", record.operation);
        }
    }
}

#[async_trait]
impl Role for OperationRunner {
    fn name(&self) -> &'static str {
        "operation runner"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        let (turns, has_more) = self.next_operations().await?;
        let mut wait = match has_more {
            true => limits::OPERATION_PACE_STEP,
            false => limits::OPERATION_POLL,
        };
        for record in turns {
            let id = record.id;
            match self.carry_on(record).await {
                Ok(next) => wait = wait.min(next),
                Err(error) if error.is_transient() => return Err(error),
                // What is wrong with one does not hold up the others.
                Err(error) => {
                    tracing::warn!(operation = %id, %error, "cannot continue the operation");
                }
            }
        }
        Ok(match wait.is_zero() {
            true => Next::AtOnce,
            false => Next::at_wakeup(wait),
        })
    }

    async fn wakeup(&self) {
        self.created.notified().await;
    }
}
