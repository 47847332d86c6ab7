//! Everything that was observed, and the one checker of it.
//!
//! What the store answers is the truth about what it promised, even where faults above it lose
//! the answer; so it is recorded here before they do. Each answer is held against what all answers
//! before it have promised.

mod batches;
mod changes;
mod claims;
mod ends;
mod flow;
mod holds;
mod links;
mod operations;
mod ticks;
mod unique;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use steadfast_core::{
    AttemptStatus, AuditId, AuditRecord, BatchId, Fence, IdempotencyKey, Job, JobId, JobState,
    OperationId, ScheduleId, StepName, Tenant, Timestamp, UniqueKey, UniqueResult, WorkerName,
};
use steadfast_store::CommitResult;

use crate::{Counters, Invariant, expected::ExpectedJob};
use batches::ExpectedBatch;
pub use ends::CommitObservation;
use flow::ExpectedFlow;
use holds::{ExpectedProbes, ExpectedQuotas};
pub use operations::{ExpectedOperation, OperationObservation};
pub use ticks::ExpectedSchedule;

/// What happened, with the details that explain a failure.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Enqueued,
    EnqueuedAgain,
    Unique {
        result: UniqueResult,
        run_at: Timestamp,
    },
    Claimed {
        fence: Fence,
        worker: WorkerName,
        run_at: Timestamp,
    },
    Started {
        fence: Fence,
    },
    Renewed {
        fence: Fence,
        held: bool,
    },
    Committed {
        fence: Fence,
        answer: CommitResult,
        to: JobState,
        status: Option<AttemptStatus>,
        run_at: Timestamp,
    },
    Commanded {
        command: &'static str,
        to: Option<JobState>,
    },
    Operated {
        operation: OperationId,
    },
    Fired {
        tick: Timestamp,
    },
    StepRan {
        fence: Fence,
        step: StepName,
    },
    StepKept {
        step: StepName,
    },
    Pruned,
    Crashed {
        node: usize,
    },
    Frozen {
        node: usize,
    },
    Woken {
        node: usize,
    },
    ClockSet,
    GatesChanged,
    Healed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub at: Timestamp,
    pub job: Option<JobId>,
    pub event: Event,
}

/// An invariant that did not hold, with the life of the job concerned.
#[derive(Clone, Debug)]
pub struct Violation {
    pub invariant: Invariant,
    pub job: Option<JobId>,
    pub why: String,
    pub events: Vec<Entry>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "invariant {} is broken", self.invariant)?;
        match self.job {
            Some(job) => writeln!(f, "by {job}: {}", self.why)?,
            None => writeln!(f, "{}", self.why)?,
        }
        for Entry { at, event, .. } in &self.events {
            writeln!(f, "  {at} {event:?}")?;
        }
        Ok(())
    }
}

#[derive(Default)]
pub struct History {
    pub(crate) entries: Vec<Entry>,
    pub(crate) jobs: BTreeMap<JobId, ExpectedJob>,
    pub(crate) keys: BTreeMap<(Tenant, IdempotencyKey), JobId>,
    pub(crate) schedules: BTreeMap<ScheduleId, ExpectedSchedule>,
    pub(crate) operations: BTreeMap<OperationId, ExpectedOperation>,
    pub(crate) batches: BTreeMap<BatchId, ExpectedBatch>,
    /// Records of commands that were carried out.
    pub(crate) audit: BTreeMap<AuditId, AuditRecord>,
    /// Requests for each unique key whose answer has not arrived. They may have moved its job.
    unique_requests: BTreeMap<(Tenant, UniqueKey), u32>,
    pub(crate) flow: ExpectedFlow,
    probes: ExpectedProbes,
    quotas: ExpectedQuotas,
    /// How often the clock was set back, and the latest time from which it was.
    set_backs: u32,
    latest: Option<Timestamp>,
    pub(crate) counters: Counters,
    violation: Option<Violation>,
}

/// A history that many write to.
#[derive(Clone, Default)]
pub struct SharedHistory(Arc<Mutex<History>>);

impl SharedHistory {
    pub fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap()
    }
}

impl History {
    /// The first violation; what comes after it means little.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn tell(&mut self, at: Timestamp, job: impl Into<Option<JobId>>, event: Event) {
        let job = job.into();
        self.entries.push(Entry { at, job, event });
    }

    pub(crate) fn count_check(&mut self, invariant: Invariant) {
        self.counters.count(invariant);
    }

    pub(crate) fn broken(
        &mut self,
        invariant: Invariant,
        job: impl Into<Option<JobId>>,
        why: impl Into<String>,
    ) {
        if self.violation.is_some() {
            return;
        }
        let job = job.into();
        let born = self.entries.iter().position(|entry| entry.job == job);
        let life = &self.entries[born.unwrap_or_default()..];
        let concerns = |entry: &&Entry| entry.job.is_none() || entry.job == job;
        self.violation = Some(Violation {
            invariant,
            job,
            why: why.into(),
            events: life.iter().filter(concerns).cloned().collect(),
        });
    }

    /// A job that the store now holds, and must not lose.
    pub(crate) fn learn(&mut self, job: &Job, at: Timestamp) {
        // A create that is repeated after retention deleted the job makes another one: an id is
        // known for as long as its record.
        if self.jobs.get(&job.id).is_some_and(|known| !known.gone) {
            return;
        }
        if let Some(key) = &job.idempotency_key {
            self.keys.insert((job.tenant.clone(), key.clone()), job.id);
        }
        let born = self.entries.len();
        self.jobs.insert(job.id, ExpectedJob::new(job, born));
        self.tell(at, job.id, Event::Enqueued);
    }

    /// The jobs that there are, each with its tenant.
    pub(crate) fn tenants_of_living(&self) -> Vec<(JobId, Tenant)> {
        let living = self.jobs.iter().filter(|(_, known)| !known.gone);
        living
            .map(|(id, known)| (*id, known.tenant.clone()))
            .collect()
    }

    pub(crate) fn living(&self) -> Vec<JobId> {
        let living = self.jobs.iter().filter(|(_, known)| !known.gone);
        living.map(|(id, _)| *id).collect()
    }
}
