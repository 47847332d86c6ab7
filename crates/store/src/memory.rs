//! The reference: every verb in its shortest form, under one lock.
//!
//! It is for tests and demos, and for reading: where the contract's prose leaves a doubt, this
//! is what it means. Nothing is durable, so "before it returns" is free here.

mod documents;
mod jobs;
mod lists;
mod schedules;
mod state;

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use steadfast_core::{
    Attempt, Claim, Job, JobCommand, JobId, NewJob, Payload, Queue, Schedule, ScheduleId, StepName,
    Subscriptions, Tenant, Timestamp, Transition,
};

use crate::{
    AttemptCursor, AttemptOwner, ClaimRequest, ClaimResult, Clock, CommandError, CommitResult,
    Document, DocumentKind, DocumentSaveResult, DueSchedules, EnqueueError, EnqueueResult,
    FireRequest, FireResult, JobFilter, JobPageRequest, LaneStats, MinuteStats, Page, PageRequest,
    RenewResult, Renewal, ScheduleFilter, ScheduleSaveResult, Store, StoreError, SystemClock,
    TickRecord, Waker, Wakeups,
};
use state::Tables;

/// A store that lives and dies with the process.
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    waker: Waker,
    state: Mutex<Tables>,
}

impl MemoryStore {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            waker: Waker::default(),
            state: Mutex::default(),
        }
    }

    fn with<T>(&self, verb: impl FnOnce(&mut Tables, Timestamp) -> T) -> T {
        // No verb panics half-way through a change, so even a poisoned lock guards whole data.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = verb(&mut state, self.clock.now());
        if mem::take(&mut state.due_sooner) {
            self.waker.wake();
        }
        answer
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn wakeups(&self) -> Wakeups {
        self.waker.listen()
    }

    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<EnqueueResult>, EnqueueError> {
        self.with(|state, now| state.enqueue(jobs, now))
    }

    async fn claim(&self, request: ClaimRequest) -> Result<ClaimResult, StoreError> {
        Ok(self.with(|state, now| state.claim(&request, now)))
    }

    async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        Ok(self.with(|state, now| each(renewals, |renewal| state.renew(renewal, now))))
    }

    async fn step_result(&self, job: JobId, step: StepName) -> Result<Option<Payload>, StoreError> {
        Ok(self.with(|state, _| state.jobs.get(&job)?.steps.get(&step).cloned()))
    }

    async fn save_step(
        &self,
        job: JobId,
        step: StepName,
        result: Payload,
    ) -> Result<Payload, StoreError> {
        Ok(self.with(|state, _| match state.jobs.get_mut(&job) {
            Some(stored) => stored.steps.entry(step).or_insert(result).clone(),
            None => result,
        }))
    }

    async fn commit(&self, transitions: Vec<Transition>) -> Result<Vec<CommitResult>, StoreError> {
        Ok(self.with(|state, now| each(transitions, |transition| state.commit(transition, now))))
    }

    async fn expired_leases(&self, limit: usize) -> Result<Vec<Claim>, StoreError> {
        Ok(self.with(|state, now| state.expired(limit, now)))
    }

    async fn run_command(
        &self,
        jobs: Vec<JobId>,
        command: JobCommand,
        subscriptions: Arc<Subscriptions>,
    ) -> Result<Vec<Result<Job, CommandError>>, StoreError> {
        Ok(self.with(|state, now| {
            each(jobs, |job| {
                state.command(job, &command, &subscriptions, now)
            })
        }))
    }

    async fn get_jobs(&self, ids: Vec<JobId>) -> Result<Vec<Option<Job>>, StoreError> {
        Ok(self.with(|state, _| each(ids, |id| state.job(id))))
    }

    async fn list_jobs(
        &self,
        filter: JobFilter,
        page: JobPageRequest,
    ) -> Result<Page<Job, JobId>, StoreError> {
        Ok(self.with(|state, now| lists::listed(state.matching(&filter, now), page, |job| job.id)))
    }

    async fn count_jobs(&self, filter: JobFilter, most: u64) -> Result<u64, StoreError> {
        Ok(self.with(|state, now| most.min(state.matching(&filter, now).count() as u64)))
    }

    async fn list_attempts(
        &self,
        of: AttemptOwner,
        page: PageRequest<AttemptCursor>,
    ) -> Result<Page<Attempt, AttemptCursor>, StoreError> {
        Ok(self.with(|state, _| state.attempts(of, page)))
    }

    async fn lane_stats(&self, since: Timestamp) -> Result<Vec<LaneStats>, StoreError> {
        Ok(self.with(|state, now| state.stats(since, now)))
    }

    async fn minute_stats(
        &self,
        tenant: Option<Tenant>,
        since: Timestamp,
    ) -> Result<Vec<MinuteStats>, StoreError> {
        Ok(self.with(|state, _| state.minutes(tenant.as_ref(), since)))
    }

    async fn set_queue_paused(
        &self,
        tenant: Tenant,
        queue: Queue,
        paused: bool,
    ) -> Result<(), StoreError> {
        self.with(|state, _| {
            state::set(&mut state.paused, (tenant, queue), paused);
            state.due_sooner |= !paused;
        });
        Ok(())
    }

    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError> {
        Ok(self.with(|state, _| state.save_schedule(schedule)))
    }

    async fn delete_schedule(&self, id: ScheduleId) -> Result<bool, StoreError> {
        Ok(self.with(|state, _| {
            state.ticks.retain(|(schedule, _), _| *schedule != id);
            state.schedules.remove(&id).is_some()
        }))
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        Ok(self.with(|state, _| state.list_schedules(&filter, page)))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        Ok(self.with(|state, now| state.due_schedules(limit, now)))
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        Ok(self.with(|state, now| each(firings, |firing| state.fire(firing, now))))
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        Ok(self.with(|state, _| state.list_ticks(schedule, page)))
    }

    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError> {
        Ok(self.with(|state, now| state.save_document(document, outbox, now)))
    }

    async fn list_documents(&self, space: DocumentKind) -> Result<Vec<Document>, StoreError> {
        Ok(self.with(|state, _| {
            let all = state.documents.values();
            all.filter(|document| document.space == space)
                .cloned()
                .collect()
        }))
    }

    async fn delete_document(&self, space: DocumentKind, id: String) -> Result<bool, StoreError> {
        Ok(self.with(|state, _| state.documents.remove(&(space, id)).is_some()))
    }

    async fn prune(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        Ok(self.with(|state, now| state.prune(ended_before, limit, now)))
    }
}

fn each<In, Out>(batch: Vec<In>, verb: impl FnMut(In) -> Out) -> Vec<Out> {
    batch.into_iter().map(verb).collect()
}
