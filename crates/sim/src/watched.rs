//! Tells the history what the store really answered, and what could be read before and after.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use steadfast_core::{
    Command, EventType, Hooks, Job, JobId, NewJob, OnceName, Payload, Queue, Schedule, State,
    Tenant, TickRule, Timestamp, Transition,
};
use steadfast_store::{
    ClaimRequest, Claimed, CommandError, Committed, Document, DocumentSaved, EnqueueError,
    Enqueued, Fired, Firing, JobFilter, JobPage, Listed, Renewal, Renewed, Saved, Store,
    StoreError,
};

use crate::{
    Invariant,
    history::{CommitSeen, Shared},
    layer::Layer,
};

pub struct Watched {
    pub inner: Arc<dyn Store>,
    pub history: Shared,
}

impl Watched {
    /// What a change to a job had to be told with, as it is stored.
    async fn news(&self, job: &Job, hooks: &Hooks) -> Result<Vec<Option<Job>>, StoreError> {
        let is_cancelled = job.progress.state == State::Cancelled;
        let Some(at) = job.progress.finished_at.filter(|_| is_cancelled) else {
            return Ok(Vec::new());
        };
        let told = hooks.tell(job, EventType::JobCancelled, at);
        self.inner.jobs(ids(&told)).await
    }
}

#[async_trait]
impl Layer for Watched {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, EnqueueError> {
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
        let stored = self.inner.jobs(stored).await?;
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

    async fn claim(&self, request: ClaimRequest) -> Result<Claimed, StoreError> {
        let claimed = self.inner.claim(request.clone()).await?;
        let now = self.inner.now();
        let mut history = self.history.lock();
        history.claimed(&request, &claimed.claims, now);
        Ok(claimed)
    }

    async fn renew(&self, mut renewals: Vec<Renewal>) -> Result<Vec<Renewed>, StoreError> {
        let answers = self.inner.renew(renewals.clone()).await?;
        let now = self.inner.now();
        let mut seen: Vec<(Renewal, Renewed)> =
            renewals.drain(..).zip(answers.iter().copied()).collect();
        // They come in a map's order, which differs from run to run.
        seen.sort_by_key(|(renewal, _)| (renewal.job, renewal.fence));
        let mut history = self.history.lock();
        for (renewal, answer) in seen {
            history.renewed(&renewal, answer, now);
        }
        Ok(answers)
    }

    async fn recall(&self, job: JobId, step: OnceName) -> Result<Option<Payload>, StoreError> {
        let answer = self.inner.recall(job, step.clone()).await?;
        self.history.lock().recalled(job, &step, answer.as_ref());
        Ok(answer)
    }

    async fn remember(
        &self,
        job: JobId,
        step: OnceName,
        result: Payload,
    ) -> Result<Payload, StoreError> {
        let kept = self.inner.remember(job, step.clone(), result).await?;
        let now = self.inner.now();
        self.history.lock().remembered(job, &step, &kept, now);
        Ok(kept)
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<Committed>, StoreError> {
        let of: Vec<JobId> = transitions.iter().map(|to| to.job).collect();
        let mut seen = Vec::with_capacity(of.len());
        let before = self.inner.jobs(of.clone()).await?;
        for (transition, before) in transitions.iter().zip(before) {
            let outbox = self.inner.jobs(ids(&transition.outbox)).await?;
            seen.push(CommitSeen {
                transition: transition.clone(),
                answer: Committed::Stale,
                before,
                after: None,
                outbox_before: outbox.iter().map(Option::is_some).collect(),
                outbox_after: Vec::new(),
            });
        }
        let answers = self.inner.commit(transitions).await?;
        let after = self.inner.jobs(of).await?;
        for ((seen, answer), after) in seen.iter_mut().zip(&answers).zip(after) {
            seen.answer = *answer;
            seen.after = after;
            seen.outbox_after = self.inner.jobs(ids(&seen.transition.outbox)).await?;
        }
        let now = self.inner.now();
        let mut history = self.history.lock();
        for seen in &seen {
            history.committed(seen, now);
        }
        Ok(answers)
    }

    async fn command(
        &self,
        jobs: Vec<JobId>,
        command: Command,
        hooks: Arc<Hooks>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        let now = self.inner.now();
        let done = self
            .inner
            .command(jobs.clone(), command.clone(), hooks.clone());
        let answers = done.await?;
        for (id, answer) in jobs.into_iter().zip(&answers) {
            let news = match answer {
                Ok(job) => self.news(job, &hooks).await?,
                Err(_) => Vec::new(),
            };
            let job = answer.as_ref().ok();
            self.history.lock().commanded(id, &command, job, &news, now);
        }
        Ok(answers)
    }

    async fn list(
        &self,
        filter: JobFilter,
        page: JobPage,
    ) -> Result<Listed<Job, JobId>, StoreError> {
        let listed = self.inner.list(filter.clone(), page).await?;
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

    async fn set_paused(
        &self,
        tenant: Tenant,
        queue: Queue,
        paused: bool,
    ) -> Result<(), StoreError> {
        let done = self.inner.set_paused(tenant.clone(), queue.clone(), paused);
        done.await?;
        let mut history = self.history.lock();
        match paused {
            true => history.paused.insert((tenant, queue)),
            false => history.paused.remove(&(tenant, queue)),
        };
        Ok(())
    }

    async fn save_schedule(&self, schedule: Schedule) -> Result<Saved, StoreError> {
        let saved = self.inner.save_schedule(schedule).await?;
        if let Saved::Done(schedule) = &saved
            && let TickRule::Every(every) = schedule.timetable.rule()
        {
            let mut history = self.history.lock();
            history.scheduled(schedule.id, *every, schedule.progress);
        }
        Ok(saved)
    }

    async fn fire(&self, firings: Vec<Firing>) -> Result<Vec<Fired>, StoreError> {
        let answers = self.inner.fire(firings.clone()).await?;
        let now = self.inner.now();
        for (firing, answer) in firings.iter().zip(&answers) {
            let runs = self.inner.jobs(ids(&firing.runs)).await?;
            self.history.lock().fired(firing, *answer, &runs, now);
            let cancel = firing.cancel.filter(|_| *answer == Fired::Done);
            for job in self.inner.jobs(cancel.into_iter().collect()).await? {
                let Some(job) = job else { continue };
                let news = self.news(&job, &firing.hooks).await?;
                self.history.lock().replaced(&job, &news, now);
            }
        }
        Ok(answers)
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaved, StoreError> {
        let told = ids(&outbox);
        let saved = self.inner.save_document(document, outbox).await?;
        if matches!(saved, DocumentSaved::Done(_)) {
            let now = self.inner.now();
            for job in self.inner.jobs(told).await?.iter().flatten() {
                self.history.lock().learn(job, now);
            }
        }
        Ok(saved)
    }

    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let count = self.inner.prune(ended_before, limit).await?;
        let living = self.history.lock().living();
        let left = self.inner.jobs(living).await?.into_iter().flatten();
        let left: BTreeSet<JobId> = left.map(|job| job.id).collect();
        let now = self.inner.now();
        self.history.lock().pruned(ended_before, &left, now);
        Ok(count)
    }
}

fn ids(jobs: &[NewJob]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}
