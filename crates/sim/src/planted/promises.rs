//! Defects in what only some jobs are promised, and in work on many.

use std::sync::Arc;

use steadfast_core::{
    AuditRecord, DependantDecision, Job, JobCommand, JobEdit, JobId, JobLabel, NewJob,
    PrerequisiteState, Subscriptions,
};
use steadfast_store::{
    BatchFilter, CommandError, EnqueueError, EnqueueResult, JobDetail, JobFilter, OperationBatch,
    PageRequest, ReleasedDependants, StoreError,
};

use super::{Bug, BuggyStore};
use crate::workload;

impl BuggyStore {
    pub(super) async fn promise_wrongly(
        &self,
        jobs: Vec<NewJob>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let of_batch = jobs.iter().position(|job| job.batch().is_some());
        if self.bug == Bug::OpenBatchRefuses
            && let Some(index) = of_batch
            && let Some(batch) = jobs[index].batch()
            && self.every(3)
        {
            return Err(EnqueueError::UnknownBatch { index, batch });
        }
        let asked = jobs.clone();
        let jobs = jobs.into_iter().map(|job| self.forget(job)).collect();
        let answers = self.inner.enqueue(jobs, None).await?;
        if self.bug == Bug::DebounceWithoutEnd {
            for (job, answer) in asked.iter().zip(&answers) {
                let is_debounced = job.extras().is_some_and(|extras| extras.debounce.is_some());
                if let EnqueueResult::Unique(id, _) = answer
                    && is_debounced
                {
                    self.move_on(*id).await?;
                }
            }
        }
        Ok(answers)
    }

    pub(super) fn forget(&self, job: NewJob) -> NewJob {
        let Some(mut extras) = job.extras().cloned() else {
            return job;
        };
        match self.bug {
            Bug::UniqueForgotten if extras.unique.is_some() && self.every(3) => {
                extras.unique = None;
                extras.debounce = None;
            }
            Bug::DeadlineForgotten if extras.start_before.is_some() && self.every(2) => {
                extras.start_before = None;
            }
            Bug::JobOfBatchForgotten if extras.batch.is_some() && self.every(3) => {
                extras.batch = None;
            }
            Bug::AfterForgotten if extras.after.is_some() && self.every(3) => extras.after = None,
            _ => {}
        }
        job.with_extras(extras)
    }

    async fn move_on(&self, id: JobId) -> Result<(), StoreError> {
        let edit = JobEdit {
            run_at: Some(self.inner.now().plus(workload::DEBOUNCE)),
            ..JobEdit::default()
        };
        let edit = JobCommand::Edit(edit);
        self.inner
            .run_command(vec![id], edit, Arc::default(), None)
            .await?;
        Ok(())
    }

    pub(super) async fn follow_wrongly(
        &self,
        limit: usize,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<ReleasedDependants, StoreError> {
        match self.bug {
            Bug::NothingFollows => return Ok(ReleasedDependants::default()),
            Bug::FirstReleases => self.release_too_early().await?,
            _ => {}
        }
        let followed = self.inner.release_dependants(limit, subscriptions).await?;
        if self.bug == Bug::CallbackTwice && self.every(4) {
            self.call_again().await?;
        }
        Ok(followed)
    }

    async fn call_again(&self) -> Result<(), StoreError> {
        let page = PageRequest::first(1);
        let batches = self
            .inner
            .list_batches(BatchFilter::default(), page)
            .await?;
        let on_end = batches.items.iter().filter_map(|batch| batch.on_end);
        for job in self
            .inner
            .get_jobs(on_end.collect(), JobDetail::Full)
            .await?
            .into_iter()
            .flatten()
        {
            let id = JobId::from_bits(job.id.bits() ^ 1);
            let mut again = NewJob::new(id, job.kind, job.payload, job.policy);
            (again.tenant, again.queue) = (job.tenant, job.queue);
            if let Err(EnqueueError::Store(error)) = self.inner.enqueue(vec![again], None).await {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn release_too_early(&self) -> Result<(), StoreError> {
        let scheduled = JobFilter {
            label: Some(JobLabel::Scheduled),
            ..JobFilter::default()
        };
        for job in self.some(scheduled).await? {
            if !job.is_blocked() {
                continue;
            }
            let links = self.inner.job_links(job.id, 0).await?;
            let mut states = links.after.iter().map(|(_, state)| *state);
            if states.any(|state| state == PrerequisiteState::Succeeded) {
                let release = JobCommand::Follow(DependantDecision::Release);
                self.inner
                    .run_command(vec![job.id], release, Arc::default(), None)
                    .await?;
            }
        }
        Ok(())
    }

    pub(super) fn twist_batch(&self, mut batch: OperationBatch) -> OperationBatch {
        match self.bug {
            Bug::BatchNotCounted if self.every(2) => {
                batch.cursor = None;
                batch.is_last = false;
            }
            Bug::JobPassedOver if self.every(2) => drop(batch.jobs.pop()),
            _ => {}
        }
        batch
    }

    pub(super) async fn command_with_wrong_record(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
        audit: AuditRecord,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        match self.bug {
            Bug::CancelForgotten => self.command_wrongly(jobs, command, subscriptions).await,
            Bug::AuditForgotten if self.every(5) => {
                self.inner
                    .run_command(jobs, command, subscriptions, None)
                    .await
            }
            _ => {
                let answers = self
                    .inner
                    .run_command(jobs, command, subscriptions, Some(audit.clone()))
                    .await?;
                if self.bug == Bug::AuditOfRefused && answers.iter().all(Result::is_err) {
                    let stored = self.inner.enqueue(Vec::new(), Some(audit)).await;
                    stored.map_err(|error| StoreError::broken("enqueue", error.to_string()))?;
                }
                Ok(answers)
            }
        }
    }
}
