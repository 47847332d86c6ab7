//! Records in the history what the store really answered, and what could be read before and
//! after.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use steadfast_core::{
    AuditRecord, BatchId, EventType, Fence, Job, JobCommand, JobId, JobState, NewBatch, NewJob,
    OperationId, OperationJob, Payload, Schedule, StepName, Subscriptions, TickRule, Timestamp,
    Transition,
};
use steadfast_store::{
    BatchCreateResult, BatchRecord, ClaimRequest, ClaimResult, CommandError, CommitResult,
    Document, DocumentSaveResult, EnqueueError, EnqueueResult, FireRequest, FireResult, JobDetail,
    JobFilter, JobPageRequest, OperationBatch, OperationChange, OperationJobFilter,
    OperationRecord, OperationStep, Outbox, Page, PageRequest, PruneRequest, ReleasedDependants,
    RenewResult, Renewal, SaveStepResult, ScheduleSaveResult, StartQuery, StartSnapshot, Store,
    StoreError, StoreLayer,
};

use crate::{
    Invariant,
    history::{CommitObservation, OperationObservation, SharedHistory},
};

pub struct ObservedStore {
    pub inner: Arc<dyn Store>,
    pub history: SharedHistory,
}

impl ObservedStore {
    async fn jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError> {
        self.inner.get_jobs(ids, JobDetail::Full).await
    }

    /// Carries out the command of an operation on a batch of its jobs.
    async fn work_operation(
        &self,
        id: OperationId,
        revision: u64,
        batch: OperationBatch,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<OperationChange, StoreError> {
        let before = self.jobs(batch.jobs.clone()).await?;
        let step = OperationStep::Work {
            revision,
            batch: batch.clone(),
            subscriptions: subscriptions.clone(),
        };
        let answer = self.inner.change_operation(id, step).await?;
        let after = self.jobs(batch.jobs.clone()).await?;
        let is_cancel = match &answer {
            OperationChange::Done(record) => {
                let command = record.operation.command();
                command.is_some_and(|command| ends(&command))
            }
            _ => false,
        };
        let mut deliveries = Vec::new();
        for job in &after {
            deliveries.push(match job {
                Some(job) if is_cancel => self.deliveries(job, &subscriptions).await?,
                _ => Vec::new(),
            });
        }
        let seen = OperationObservation {
            id,
            rows: self.rows(id).await?,
            batch,
            answer,
            before,
            after,
            deliveries,
        };
        let now = self.inner.now();
        self.history.lock().operation_worked(&seen, now);
        Ok(seen.answer)
    }

    /// Whether jobs may start now, as it is explained to people.
    async fn explain(&self, jobs: &[JobId]) -> Result<Vec<(JobId, bool)>, StoreError> {
        let mut explained = Vec::new();
        for id in jobs {
            let of = StartQuery::Job(*id);
            let reading = self.inner.explain_start(of).await?;
            let is_claimable = |reading: StartSnapshot| reading.is_claimable(self.inner.now());
            explained.push((*id, reading.is_some_and(is_claimable)));
        }
        Ok(explained)
    }

    /// The stored deliveries that a change to a job had to create.
    async fn deliveries(
        &self,
        job: &Job,
        subscriptions: &Subscriptions,
    ) -> Result<Vec<Option<Job>>, StoreError> {
        let event = match job.progress.state {
            JobState::Cancelled => EventType::JobCancelled,
            JobState::Failed => EventType::JobFailed,
            _ => return Ok(Vec::new()),
        };
        let Some(at) = job.progress.finished_at else {
            return Ok(Vec::new());
        };
        let deliveries = subscriptions.deliveries_of(job, event, at);
        self.jobs(ids(&deliveries)).await
    }

    /// Records the results of a command, job by job.
    async fn record_command(
        &self,
        jobs: Vec<JobId>,
        command: &JobCommand,
        subscriptions: &Subscriptions,
        answers: &[Result<Job, CommandError>],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for (id, answer) in jobs.into_iter().zip(answers) {
            let deliveries = match answer {
                Ok(job) if ends(command) => self.deliveries(job, subscriptions).await?,
                _ => Vec::new(),
            };
            let job = answer.as_ref().ok();
            self.history
                .lock()
                .record_command(id, command, job, &deliveries, now);
        }
        Ok(())
    }

    /// Records the results of requests for jobs.
    async fn enqueued(&self, jobs: &[NewJob], answers: &[EnqueueResult]) -> Result<(), StoreError> {
        let last = answers.iter().enumerate();
        let last: BTreeMap<JobId, usize> = last.map(|(index, it)| (it.id(), index)).collect();
        let stored = answers.iter().map(|answer| answer.id()).collect();
        let stored = self.jobs(stored).await?;
        let mut history = self.history.lock();
        for (index, (answer, stored)) in answers.iter().zip(&stored).enumerate() {
            let is_last = last.get(&answer.id()) == Some(&index);
            let seen = stored.as_ref().filter(|_| is_last);
            history.enqueued(&jobs[index], *answer, seen, self.inner.now());
            if stored.is_none() {
                let why = "acknowledged, and not there";
                history.broken(Invariant::JobsStay, answer.id(), why);
            }
        }
        Ok(())
    }

    async fn refused(&self, jobs: &[NewJob], error: &EnqueueError) -> Result<(), StoreError> {
        let history = || self.history.lock();
        match *error {
            EnqueueError::Conflict { index, job, .. } => history().conflicted(jobs, index, job),
            EnqueueError::NotUnique { index, job, .. } => {
                history().refused_as_second(&jobs[index], job, &jobs[..index]);
            }
            EnqueueError::UnknownPrerequisite { index, job } => {
                history().refused_as_unknown(&jobs[index], job, jobs);
            }
            EnqueueError::UnknownBatch { index, batch }
            | EnqueueError::BatchRefused { index, batch, .. } => {
                // The answer to the request that closes it may be on its way.
                let stored = self.inner.get_batch(batch).await?;
                if !stored.is_some_and(|stored| stored.counts.is_closed) {
                    history().refused_by_batch(&jobs[index], batch);
                }
            }
            // No workload comes near the limits.
            EnqueueError::TenantFull { .. }
            | EnqueueError::WaitingFull(_)
            | EnqueueError::Store(_) => {}
        }
        Ok(())
    }

    /// Looks for callbacks of batches that were made just now.
    async fn called_back(&self) -> Result<(), StoreError> {
        let to_come = self.history.lock().callbacks_to_come();
        let made = self.jobs(to_come).await?;
        let made: Vec<Job> = made.into_iter().flatten().collect();
        let now = self.inner.now();
        self.history.lock().called_back(&made, now);
        Ok(())
    }

    async fn rows(&self, id: OperationId) -> Result<Vec<OperationJob>, StoreError> {
        let page = PageRequest::first(usize::from(u16::MAX));
        let rows = self
            .inner
            .list_operation_jobs(id, OperationJobFilter::All, page);
        Ok(rows.await?.items)
    }
}

/// Whether a command may end a job, so that others are to learn of it.
fn ends(command: &JobCommand) -> bool {
    matches!(command, JobCommand::Cancel | JobCommand::Expire)
}

#[async_trait]
impl StoreLayer for ObservedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn enqueue(
        &self,
        jobs: Vec<NewJob>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        self.history.lock().unique_requested(&jobs);
        let answers = self.inner.enqueue(jobs.clone(), audit).await;
        match &answers {
            Ok(answers) => self.enqueued(&jobs, answers).await?,
            Err(error) => self.refused(&jobs, error).await?,
        }
        if !matches!(answers, Err(EnqueueError::Store(_))) {
            self.history.lock().unique_answered(&jobs);
        }
        answers
    }

    async fn create_batch(
        &self,
        batch: NewBatch,
        unfinished_max: usize,
    ) -> Result<BatchCreateResult, EnqueueError> {
        let created = self.inner.create_batch(batch.clone(), unfinished_max).await;
        match &created {
            Ok(BatchCreateResult::Created(_, answers)) => {
                self.history.lock().batch_created(&batch);
                self.enqueued(&batch.jobs, answers).await?;
                self.called_back().await?;
            }
            Ok(_) => {}
            Err(error) => self.refused(&batch.jobs, error).await?,
        }
        created
    }

    async fn close_batch(
        &self,
        id: BatchId,
        audit: Option<AuditRecord>,
    ) -> Result<Option<BatchRecord>, StoreError> {
        let closed = self.inner.close_batch(id, audit).await?;
        if closed.is_some() {
            self.history.lock().batch_closed(id);
            self.called_back().await?;
        }
        Ok(closed)
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        let due = self.history.lock().some_due(&request, self.inner.now());
        let before = self.explain(&due).await?;
        let claimed = self.inner.claim(request.clone()).await?;
        let after = self.explain(&due).await?;
        // Those that the claim has read: the time stands still during a call.
        let gates = self.inner.known_gates().unwrap_or_default();
        let mut history = self.history.lock();
        history.follow_gates(&gates, self.inner.now());
        history.claimed(&request, &claimed.claims, self.inner.now());
        history.explained(&request, &claimed.claims, &before, &after);
        Ok(claimed)
    }

    async fn renew(&self, mut renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        let answers = self.inner.renew(renewals.clone()).await?;
        let now = self.inner.now();
        let mut seen: Vec<(Renewal, RenewResult)> =
            renewals.drain(..).zip(answers.iter().copied()).collect();
        // They come in a map's order, which differs from run to run.
        seen.sort_by_key(|(renewal, _)| (renewal.job, renewal.fence));
        let mut history = self.history.lock();
        for (renewal, answer) in seen {
            history.renewed(&renewal, answer, now);
        }
        Ok(answers)
    }

    async fn list_steps(
        &self,
        job: JobId,
        only: Option<StepName>,
        limit: usize,
    ) -> Result<Vec<(StepName, Payload)>, StoreError> {
        let answer = self.inner.list_steps(job, only.clone(), limit).await?;
        if let Some(step) = only {
            let result = answer.first().map(|(_, result)| result);
            self.history.lock().recalled(job, &step, result);
        }
        Ok(answer)
    }

    async fn save_step(
        &self,
        job: JobId,
        fence: Option<Fence>,
        step: StepName,
        result: Payload,
    ) -> Result<SaveStepResult, StoreError> {
        let saved = self.inner.save_step(job, fence, step.clone(), result);
        let saved = saved.await?;
        if let SaveStepResult::Stored(kept) = &saved {
            let now = self.inner.now();
            self.history.lock().remembered(job, &step, kept, now);
        }
        Ok(saved)
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        let of: Vec<JobId> = transitions.iter().map(|to| to.job).collect();
        let mut seen = Vec::with_capacity(of.len());
        let before = self.jobs(of.clone()).await?;
        for (transition, before) in transitions.iter().zip(before) {
            let outbox = self.jobs(ids(&transition.outbox)).await?;
            seen.push(CommitObservation {
                transition: transition.clone(),
                answer: CommitResult::Stale,
                before,
                after: None,
                outbox_before: outbox.iter().map(Option::is_some).collect(),
                outbox_after: Vec::new(),
            });
        }
        let answers = self.inner.commit(transitions).await?;
        let after = self.jobs(of).await?;
        for ((seen, answer), after) in seen.iter_mut().zip(&answers).zip(after) {
            seen.answer = *answer;
            seen.after = after;
            seen.outbox_after = self.jobs(ids(&seen.transition.outbox)).await?;
        }
        let now = self.inner.now();
        let mut history = self.history.lock();
        for seen in &seen {
            history.committed(seen, now);
        }
        Ok(answers)
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: Option<AuditRecord>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let now = self.inner.now();
        let done = self.inner.run_command(
            jobs.clone(),
            command.clone(),
            subscriptions.clone(),
            audit.clone(),
        );
        let answers = done.await?;
        match audit {
            Some(audit) if answers.iter().any(Result::is_ok) => {
                self.history.lock().audit.insert(audit.id, audit);
            }
            None if command != JobCommand::Expire => {
                let why = "a command was carried out without a record of who gave it";
                let mut history = self.history.lock();
                history.broken(Invariant::OneAuditRecord, jobs.first().copied(), why);
            }
            _ => {}
        }
        self.record_command(jobs, &command, &subscriptions, &answers, now)
            .await?;
        Ok(answers)
    }

    async fn create_operation(
        &self,
        operation: OperationRecord,
        jobs: Vec<JobId>,
        open_max: usize,
        audit: AuditRecord,
    ) -> Result<bool, StoreError> {
        let created = self
            .inner
            .create_operation(operation.clone(), jobs, open_max, audit.clone());
        let is_stored = created.await?;
        if is_stored {
            self.history.lock().operation_created(operation, audit);
        }
        Ok(is_stored)
    }

    async fn change_operation(
        &self,
        id: OperationId,
        step: OperationStep,
    ) -> Result<OperationChange, StoreError> {
        let audit = match &step {
            OperationStep::Event(_, audit) => audit.clone(),
            OperationStep::Outcomes(_) | OperationStep::Rotate { .. } => None,
            OperationStep::Work {
                revision,
                batch,
                subscriptions,
            } => {
                let work = self.work_operation(id, *revision, batch.clone(), subscriptions.clone());
                return work.await;
            }
        };
        let answer = self.inner.change_operation(id, step).await?;
        self.history.lock().operation_changed(&answer, audit);
        Ok(answer)
    }

    async fn release_dependants(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<ReleasedDependants, StoreError> {
        let followed = self
            .inner
            .release_dependants(limit, subscriptions.clone())
            .await?;
        let now = self.inner.now();
        for job in &followed.changed {
            let deliveries = self.deliveries(job, &subscriptions).await?;
            self.history.lock().followed(job, &deliveries, now);
        }
        self.called_back().await?;
        Ok(followed)
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let listed = self.inner.list_jobs(filter.clone(), page).await?;
        if let Some(tenant) = filter.tenant {
            let mut history = self.history.lock();
            history.count_check(Invariant::TenantsApart);
            if let Some(job) = listed.items.iter().find(|job| job.tenant != tenant) {
                let why = format!("listed for {tenant}");
                history.broken(Invariant::TenantsApart, job.id, why);
            }
        }
        Ok(listed)
    }

    async fn save_schedule(
        &self,
        schedule: Schedule,
        fingerprint: Option<[u8; 16]>,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError> {
        let save = self.inner.save_schedule(schedule, fingerprint, audit);
        let saved = save.await?;
        if let ScheduleSaveResult::Done(schedule) = &saved
            && let TickRule::Every(every) = schedule.timetable.rule()
        {
            let mut history = self.history.lock();
            history.scheduled(schedule.id, *every, schedule.progress);
        }
        Ok(saved)
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let answers = self.inner.fire_schedules(firings.clone()).await?;
        let now = self.inner.now();
        for (firing, answer) in firings.iter().zip(&answers) {
            let runs = self.jobs(ids(&firing.runs)).await?;
            self.history.lock().fired(firing, *answer, &runs, now);
            let cancel = firing.cancel.filter(|_| *answer == FireResult::Done);
            for job in self.jobs(cancel.into_iter().collect()).await? {
                let Some(job) = job else { continue };
                let deliveries = self.deliveries(&job, &firing.subscriptions).await?;
                self.history.lock().replaced(&job, &deliveries, now);
            }
        }
        Ok(answers)
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        let deliveries = ids(&outbox.jobs);
        let saved = self.inner.save_document(document, outbox).await?;
        if matches!(saved, DocumentSaveResult::Done(_)) {
            let now = self.inner.now();
            for job in self.jobs(deliveries).await?.iter().flatten() {
                self.history.lock().learn(job, now);
            }
        }
        Ok(saved)
    }

    async fn prune(&self, request: PruneRequest) -> Result<usize, StoreError> {
        let count = self.inner.prune(request).await?;
        let PruneRequest::Jobs { ended_before, .. } = request else {
            return Ok(count);
        };
        let living = self.history.lock().living();
        let left = self.jobs(living).await?.into_iter().flatten();
        let left: BTreeSet<JobId> = left.map(|job| job.id).collect();
        let now = self.inner.now();
        self.history.lock().pruned(ended_before, &left, now);
        Ok(count)
    }
}

fn ids(jobs: &[NewJob]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}
