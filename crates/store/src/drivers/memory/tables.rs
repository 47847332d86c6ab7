//! What is stored, and the orders in which it is searched.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{
    Attempt, AuditId, AuditRecord, BatchId, FailureGroup, FailureKey, Fence, FlowKey,
    IdempotencyKey, Job, JobId, JobState, NewJob, OperationId, OperationJob, Payload, Priority,
    ScheduleId, StepName, Tally, Tenant, Timestamp,
};

use super::{event_entry::EventEntry, flow::Flow, record_entry::RecordEntry};
use crate::{
    damage::DamageLog,
    drivers::transaction::{PendingStep, RecordKind},
    failures::FailureTallies,
    lane::Lane,
    store::{DocumentKind, TickRecord},
    wake::WakeReasons,
};

#[derive(Default)]
pub(super) struct Tables {
    pub(super) jobs: BTreeMap<JobId, JobEntry>,
    /// None is empty.
    pub(super) waiting: BTreeMap<DueRange, BTreeSet<(Timestamp, JobId)>>,
    pub(super) leases: BTreeSet<(Option<Timestamp>, JobId)>,
    pub(super) unfinished_runs: BTreeSet<(ScheduleId, Timestamp, JobId)>,
    pub(super) keys: BTreeMap<(Tenant, IdempotencyKey), KeyHolder>,
    /// By the minute in which the attempts ended.
    pub(super) tallies: BTreeMap<Lane, BTreeMap<i64, Tally>>,
    pub(super) failures: BTreeMap<FailureKey, FailureGroup>,
    /// On their way to their groups.
    pub(super) failure_counts: FailureTallies,
    pub(super) ticks: BTreeMap<(ScheduleId, Timestamp), TickRecord>,
    pub(super) records: BTreeMap<(RecordKind, String), RecordEntry>,
    pub(super) document_versions: BTreeMap<DocumentKind, u64>,
    pub(super) operation_jobs: BTreeMap<(OperationId, JobId), (OperationJob, PendingStep)>,
    pub(super) audit: BTreeMap<AuditId, AuditRecord>,
    /// By the job that waits and what it waits for: whether that has succeeded.
    pub(super) dependencies: BTreeMap<(JobId, JobId), bool>,
    /// What is waited for, and the job that waits.
    pub(super) dependants: BTreeSet<(JobId, JobId)>,
    pub(super) batch_jobs: BTreeMap<JobId, BatchId>,
    pub(super) events: BTreeMap<i64, EventEntry>,
    pub(super) last_event: i64,
    /// Nothing here is ever corrupt.
    pub(super) damage: DamageLog,
    /// When lanes without jobs were looked for last.
    pub(super) names_searched: Option<Timestamp>,
    pub(super) flow: Flow,
    /// What a verb may have made due earlier than waiting callers know.
    pub(super) wakes: WakeReasons,
}

/// Jobs that wait and are alike to every gate, apart by priority, so that future jobs of a high one
/// are not in the way of due ones.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DueRange {
    pub(super) flow_key: FlowKey,
    pub(super) priority: Priority,
    pub(super) is_retry: bool,
}

impl DueRange {
    /// Where a job waits, if it does.
    pub(super) fn of(job: &Job) -> Option<Self> {
        (job.progress.state == JobState::Waiting).then(|| Self {
            flow_key: FlowKey::from(job),
            priority: job.priority,
            is_retry: job.progress.attempt > job.progress.attempts_before,
        })
    }
}

/// A job, and what is deleted with it.
pub(super) struct JobEntry {
    pub(super) job: Job,
    pub(super) attempts: BTreeMap<Fence, Attempt>,
    pub(super) steps: BTreeMap<StepName, Payload>,
    /// By claim.
    pub(super) logs: BTreeMap<Fence, MemoryLog>,
}

/// The log of a claim.
pub(super) struct MemoryLog {
    pub(super) attempt: u32,
    pub(super) first_line: u64,
    pub(super) body: String,
}

/// Which request an idempotency key stands for: the job may have been edited since. The key of a
/// schedule has its id in place of a job's.
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

impl Tables {
    pub(super) fn job(&self, id: JobId) -> Option<Job> {
        self.jobs.get(&id).map(|stored| stored.job.clone())
    }

    /// Stores a new job, unless its id or key is stored already.
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
        let job = new.into_job(now);
        self.index(&job, true);
        self.jobs.insert(
            job.id,
            JobEntry {
                job,
                attempts: BTreeMap::new(),
                steps: BTreeMap::new(),
                logs: BTreeMap::new(),
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
        self.note_change(&old, &job);
        // What ends may open a gate.
        if self.flow.has_gates() && old.progress.state != job.progress.state {
            self.wakes.wake_all();
        }
        // The end of a run may let a queued tick fire.
        if job.progress.state.is_final() && job.scheduled_run.is_some() {
            self.wakes.schedule_waits();
        }
    }

    pub(super) fn remove(&mut self, id: JobId) {
        let Some(JobEntry { job, .. }) = self.jobs.remove(&id) else {
            return;
        };
        self.index(&job, false);
        self.note_removal(&job);
        if let Some(key) = job.idempotency_key {
            self.keys.remove(&(job.tenant, key));
        }
    }

    fn index(&mut self, job: &Job, present: bool) {
        let progress = &job.progress;
        if let Some(range) = DueRange::of(job) {
            if present {
                self.wakes.jobs_wait(&Lane::from(job), 1, progress.run_at);
            }
            let jobs = self.waiting.entry(range.clone()).or_default();
            set_present(jobs, (progress.run_at, job.id), present);
            if jobs.is_empty() {
                self.waiting.remove(&range);
            }
        }
        match progress.state {
            JobState::Waiting => {}
            JobState::Running => {
                set_present(&mut self.leases, (progress.lease_until, job.id), present);
            }
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => return,
        }
        if let Some(run) = job.scheduled_run {
            let run = (run.schedule, run.tick, job.id);
            set_present(&mut self.unfinished_runs, run, present);
        }
    }
}

fn set_present<T: Ord>(set: &mut BTreeSet<T>, item: T, present: bool) {
    if present {
        set.insert(item);
    } else {
        set.remove(&item);
    }
}
