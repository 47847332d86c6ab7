//! Records in the history what the store really answered, and what could be read before and
//! after.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{
    EventType, Gates, Job, JobCommand, JobId, JobState, NewJob, Payload, Schedule, StepName,
    Subscriptions, TickRule, Timestamp, Transition,
};
use steadfast_store::{
    ClaimRequest, ClaimResult, CommandError, CommitResult, Document, DocumentSaveResult,
    EnqueueError, EnqueueResult, FireRequest, FireResult, JobFilter, JobPageRequest, Page,
    RenewResult, Renewal, ScheduleSaveResult, StartQuery, StartReading, Store, StoreError,
    StoreLayer,
};

use crate::{
    Invariant,
    history::{CommitObservation, SharedHistory},
};

pub struct ObservedStore {
    pub inner: Arc<dyn Store>,
    pub history: SharedHistory,
}

impl ObservedStore {
    /// Whether jobs may start now, as it is explained to people.
    async fn explain(
        &self,
        jobs: &[JobId],
        request: &ClaimRequest,
    ) -> Result<Vec<(JobId, bool)>, StoreError> {
        let mut explained = Vec::new();
        for id in jobs {
            let of = StartQuery::Job(*id);
            let reading = self.inner.read_start(of, request.gates.clone()).await?;
            let is_claimable = |reading: StartReading| reading.is_claimable(self.inner.now());
            explained.push((*id, reading.is_some_and(is_claimable)));
        }
        Ok(explained)
    }

    /// What a change to a job had to be told with, as it is stored.
    async fn news(
        &self,
        job: &Job,
        subscriptions: &Subscriptions,
    ) -> Result<Vec<Option<Job>>, StoreError> {
        let is_cancelled = job.progress.state == JobState::Cancelled;
        let Some(at) = job.progress.finished_at.filter(|_| is_cancelled) else {
            return Ok(Vec::new());
        };
        let told = subscriptions.deliveries_of(job, EventType::JobCancelled, at);
        self.inner.get_jobs(ids(&told)).await
    }
}

#[async_trait]
impl StoreLayer for ObservedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError> {
        let answers = match self.inner.enqueue(jobs.clone()).await {
            Ok(answers) => answers,
            Err(error) => {
                if let EnqueueError::Conflict { index, job, .. } = error {
                    self.history.lock().conflicted(&jobs, index, job);
                }
                return Err(error);
            }
        };
        let stored = answers.iter().map(|answer| answer.id()).collect();
        let stored = self.inner.get_jobs(stored).await?;
        let mut history = self.history.lock();
        for ((new, answer), stored) in jobs.iter().zip(&answers).zip(stored) {
            history.enqueued(new, *answer, self.inner.now());
            if stored.is_none() {
                let why = "acknowledged, and not there";
                history.broken(Invariant::JobsStay, answer.id(), why);
            }
        }
        Ok(answers)
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        let due = self.history.lock().some_due(&request, self.inner.now());
        let before = self.explain(&due, &request).await?;
        let claimed = self.inner.claim(request.clone()).await?;
        let after = self.explain(&due, &request).await?;
        let mut history = self.history.lock();
        history.claimed(&request, &claimed.claims, self.inner.now());
        history.explained(&request, &claimed.claims, &before, &after);
        Ok(claimed)
    }

    async fn read_start(
        &self,
        of: StartQuery,
        gates: Arc<Gates>,
    ) -> Result<Option<StartReading>, StoreError> {
        let reading = self.inner.read_start(of, gates.clone()).await?;
        self.history.lock().follow_gates(&gates, self.inner.now());
        Ok(reading)
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

    async fn step_result(&self, job: JobId, step: StepName) -> Result<Option<Payload>, StoreError> {
        let answer = self.inner.step_result(job, step.clone()).await?;
        self.history.lock().recalled(job, &step, answer.as_ref());
        Ok(answer)
    }

    async fn save_step(
        &self,
        job: JobId,
        step: StepName,
        result: Payload,
    ) -> Result<Payload, StoreError> {
        let kept = self.inner.save_step(job, step.clone(), result).await?;
        let now = self.inner.now();
        self.history.lock().remembered(job, &step, &kept, now);
        Ok(kept)
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        let of: Vec<JobId> = transitions.iter().map(|to| to.job).collect();
        let mut seen = Vec::with_capacity(of.len());
        let before = self.inner.get_jobs(of.clone()).await?;
        for (transition, before) in transitions.iter().zip(before) {
            let outbox = self.inner.get_jobs(ids(&transition.outbox)).await?;
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
        let after = self.inner.get_jobs(of).await?;
        for ((seen, answer), after) in seen.iter_mut().zip(&answers).zip(after) {
            seen.answer = *answer;
            seen.after = after;
            seen.outbox_after = self.inner.get_jobs(ids(&seen.transition.outbox)).await?;
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
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let now = self.inner.now();
        let done = self
            .inner
            .run_command(jobs.clone(), command.clone(), subscriptions.clone());
        let answers = done.await?;
        for (id, answer) in jobs.into_iter().zip(&answers) {
            let news = match answer {
                Ok(job) => self.news(job, &subscriptions).await?,
                Err(_) => Vec::new(),
            };
            let job = answer.as_ref().ok();
            self.history.lock().commanded(id, &command, job, &news, now);
        }
        Ok(answers)
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        let listed = self.inner.list_jobs(filter.clone(), page).await?;
        if let Some(tenant) = filter.tenant {
            let mut history = self.history.lock();
            history.exercise(Invariant::TenantsApart);
            if let Some(job) = listed.items.iter().find(|job| job.tenant != tenant) {
                let why = format!("listed for {tenant}");
                history.broken(Invariant::TenantsApart, job.id, why);
            }
        }
        Ok(listed)
    }

    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError> {
        let saved = self.inner.save_schedule(schedule).await?;
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
            let runs = self.inner.get_jobs(ids(&firing.runs)).await?;
            self.history.lock().fired(firing, *answer, &runs, now);
            let cancel = firing.cancel.filter(|_| *answer == FireResult::Done);
            for job in self.inner.get_jobs(cancel.into_iter().collect()).await? {
                let Some(job) = job else { continue };
                let news = self.news(&job, &firing.subscriptions).await?;
                self.history.lock().replaced(&job, &news, now);
            }
        }
        Ok(answers)
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError> {
        let told = ids(&outbox);
        let saved = self.inner.save_document(document, outbox).await?;
        if matches!(saved, DocumentSaveResult::Done(_)) {
            let now = self.inner.now();
            for job in self.inner.get_jobs(told).await?.iter().flatten() {
                self.history.lock().learn(job, now);
            }
        }
        Ok(saved)
    }

    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let count = self.inner.prune(ended_before, limit).await?;
        let living = self.history.lock().living();
        let left = self.inner.get_jobs(living).await?.into_iter().flatten();
        let left: BTreeSet<JobId> = left.map(|job| job.id).collect();
        let now = self.inner.now();
        self.history.lock().pruned(ended_before, &left, now);
        Ok(count)
    }
}

fn ids(jobs: &[NewJob]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}
