//! What stands between a job and its start, as a claim would find it.

use steadfast_core::{
    GateSnapshot, Job, JobId, JobSnapshot, PlaceSnapshot, Queue, StartFacts, Tenant, Timestamp,
    WorkerSnapshot,
};

/// Which job is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartQuery {
    /// This one.
    Job(JobId),
    /// The one of a tenant's queue that a claim would look at first: of those that are due and no
    /// gate keeps from starting, or else of those that are due, or else the one that is due next.
    FirstOf(Tenant, Queue),
}

/// What stands between a job and its start.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StartSnapshot {
    /// The job.
    pub job: Job,
    /// The gates that apply to it, if it waits.
    pub gates: Vec<GateSnapshot>,
    /// The job before it, if it has an ordered concurrency key and is not the next.
    pub before_in_key: Option<JobSnapshot>,
    /// Its place, if it waits and is due.
    pub place: Option<PlaceSnapshot>,
}

impl StartSnapshot {
    /// Of a job with nothing in its way.
    pub fn new(job: Job) -> Self {
        Self {
            job,
            gates: Vec::new(),
            before_in_key: None,
            place: None,
        }
    }

    /// What is known from here, for a job that a live worker would run.
    pub fn facts(&self) -> StartFacts<'_> {
        StartFacts {
            job: &self.job,
            last_attempt: None,
            gates: self.gates.clone(),
            before_in_key: self.before_in_key,
            runs_after: Vec::new(),
            endpoint: None,
            workers: WorkerSnapshot {
                live: 1,
                ..WorkerSnapshot::default()
            },
            place: self.place,
            starts_per_second: None,
            is_of_tenant: false,
        }
    }

    /// Whether a claim for its tenant, queue and kind would take it now, if it takes enough and
    /// others do not take the room at a gate first that it shares with them.
    pub fn is_claimable(&self, now: Timestamp) -> bool {
        self.facts().explain(now).claimable
    }

    /// Takes in how many jobs are before it in one place, with the gates that these share with it.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn add_before(
        &mut self,
        count: u64,
        is_same_class: bool,
        shared: &[steadfast_core::GateNumber],
    ) {
        if let Some(place) = &mut self.place {
            place.ahead += count;
            place.alike += if is_same_class { count } else { 0 };
        }
        for gate in &mut self.gates {
            if shared.contains(&gate.gate.number) {
                gate.ahead += count;
            }
        }
    }

    /// Bounds what was counted.
    pub(crate) fn bound_counts(&mut self, most: u64, is_cut: bool) {
        if let Some(place) = &mut self.place {
            place.at_least = is_cut || place.ahead > most;
            place.ahead = place.ahead.min(most);
            place.alike = place.alike.min(most);
        }
        for gate in &mut self.gates {
            gate.ahead = gate.ahead.min(most);
        }
    }
}
