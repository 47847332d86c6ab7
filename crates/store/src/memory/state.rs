//! What is stored, and the orders in which it is looked for.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{
    Attempt, Fence, IdempotencyKey, Job, JobId, JobState, Kind, NewJob, Payload, Priority, Queue,
    Schedule, ScheduleId, StepName, Tally, Tenant, Timestamp,
};

use crate::{Document, DocumentKind, TickRecord};

#[derive(Default)]
pub(super) struct Tables {
    pub(super) jobs: BTreeMap<JobId, Stored>,
    /// Apart by priority, so that future jobs of a high one are not in the way of due ones.
    pub(super) waiting: BTreeMap<(Lane, Priority), BTreeSet<(Timestamp, JobId)>>,
    pub(super) leases: BTreeSet<(Option<Timestamp>, JobId)>,
    pub(super) unfinished_runs: BTreeSet<(ScheduleId, Timestamp, JobId)>,
    pub(super) keys: BTreeMap<(Tenant, IdempotencyKey), KeyHolder>,
    pub(super) paused: BTreeSet<(Tenant, Queue)>,
    /// By the minute in which the attempts ended.
    pub(super) tallies: BTreeMap<Lane, BTreeMap<i64, Tally>>,
    pub(super) schedules: BTreeMap<ScheduleId, Schedule>,
    pub(super) ticks: BTreeMap<(ScheduleId, Timestamp), TickRecord>,
    pub(super) documents: BTreeMap<(DocumentKind, String), Document>,
    /// A verb has made something due, or may have, that sleepers do not know of.
    pub(super) due_sooner: bool,
}

/// A job, and all that goes when it goes.
pub(super) struct Stored {
    pub(super) job: Job,
    pub(super) attempts: BTreeMap<Fence, Attempt>,
    pub(super) steps: BTreeMap<StepName, Payload>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    pub(super) tenant: Tenant,
    pub(super) queue: Queue,
    pub(super) kind: Kind,
}

/// Which request an idempotency key stands for, as it was made: the job may be edited since.
#[derive(Clone, Copy)]
pub(super) struct KeyHolder {
    pub(super) job: JobId,
    pub(super) fingerprint: [u8; 16],
}

impl KeyHolder {
    pub(super) fn of(new: &NewJob) -> Self {
        Self {
            job: new.id,
            fingerprint: new.fingerprint(),
        }
    }
}

impl Lane {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            tenant: job.tenant.clone(),
            queue: job.queue.clone(),
            kind: job.kind.clone(),
        }
    }
}

impl Tables {
    pub(super) fn job(&self, id: JobId) -> Option<Job> {
        self.jobs.get(&id).map(|stored| stored.job.clone())
    }

    /// Stores a new job, unless its id or key is known.
    pub(super) fn insert(&mut self, new: NewJob, now: Timestamp) {
        if self.jobs.contains_key(&new.id) {
            return;
        }
        if let Some(key) = new.idempotency_key.clone() {
            let key = (new.tenant.clone(), key);
            if self.keys.contains_key(&key) {
                return;
            }
            self.keys.insert(key, KeyHolder::of(&new));
        }
        let job = new.stored(now);
        self.index(&job, true);
        self.jobs.insert(
            job.id,
            Stored {
                job,
                attempts: BTreeMap::new(),
                steps: BTreeMap::new(),
            },
        );
    }

    /// Writes a job that is stored already. Every change of a job passes through here.
    pub(super) fn update(&mut self, job: Job) {
        let Some(stored) = self.jobs.get_mut(&job.id) else {
            return;
        };
        let old = std::mem::replace(&mut stored.job, job.clone());
        self.index(&old, false);
        self.index(&job, true);
        // The end of a run may let a queued tick go.
        self.due_sooner |= job.progress.state.is_final() && job.scheduled_run.is_some();
    }

    pub(super) fn remove(&mut self, id: JobId) {
        let Some(Stored { job, .. }) = self.jobs.remove(&id) else {
            return;
        };
        self.index(&job, false);
        if let Some(key) = job.idempotency_key {
            self.keys.remove(&(job.tenant, key));
        }
    }

    fn index(&mut self, job: &Job, present: bool) {
        let progress = &job.progress;
        match progress.state {
            JobState::Waiting => {
                let place = (Lane::of(job), job.priority);
                let lane = self.waiting.entry(place).or_default();
                set(lane, (progress.run_at, job.id), present);
                self.due_sooner |= present;
            }
            JobState::Running => set(&mut self.leases, (progress.lease_until, job.id), present),
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => return,
        }
        if let Some(run) = job.scheduled_run {
            let run = (run.schedule, run.tick, job.id);
            set(&mut self.unfinished_runs, run, present);
        }
    }
}

pub(super) fn set<T: Ord>(set: &mut BTreeSet<T>, item: T, present: bool) {
    if present {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}
