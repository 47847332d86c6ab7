//! Why a job has not started, for people: everything that stands between now and its start.
//!
//! It is read from the states that a claim would see, with the functions that a claim uses.

mod by_hand;
mod destination;
mod estimate;
mod gate;
mod job;
mod queue;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    job::{Job, attempt::Attempt},
    state::{JobLabel, JobState},
    values::{JobId, Tenant, Timestamp, WorkerName, string_enum},
    webhook::endpoint::Endpoint,
};

use super::{
    flow_key::FlowKey,
    gate::{GateId, GateLimits, GateScope},
    gate_state::{ClosedBy, GateState},
    gates::{AppliedGate, Gates},
    health::{IncidentCause, SharedRetryAfter},
    room::Room,
    shared_quota::SharedQuota,
};

pub use queue::{QueueExplanation, QueueFacts};

/// The facts about the start of a job, collected by the store and the engine.
#[derive(Clone, Debug)]
pub struct StartFacts<'a> {
    /// The job.
    pub job: &'a Job,
    /// Its newest attempt, whose decision set `runAt`.
    pub last_attempt: Option<&'a Attempt>,
    /// The gates that apply to it, in the order in which people should read of them.
    pub gates: Vec<GateSnapshot>,
    /// The job before it, if it has an ordered concurrency key and is not the next.
    pub before_in_key: Option<JobSnapshot>,
    /// Jobs that must end first.
    pub runs_after: Vec<JobSnapshot>,
    /// Its endpoint, if it is a delivery.
    pub endpoint: Option<Endpoint>,
    /// Who could run it.
    pub workers: WorkerSnapshot,
    /// Where it stands among the due jobs of its tenant; `None` if it is not due.
    pub place: Option<PlaceSnapshot>,
    /// The current number of starts per second of the job's tenant, if it is known.
    pub starts_per_second: Option<f64>,
    /// The reader may see the jobs of its tenant only: jobs, workers and failures of others are not
    /// named.
    pub is_of_tenant: bool,
}

/// A gate, as a claim sees it.
#[derive(Clone, Debug)]
pub struct GateSnapshot {
    /// The gate.
    pub gate: AppliedGate,
    /// Its stored state.
    pub state: GateState,
    /// Due jobs of the job's tenant that wait at it and are claimed before the job, up to the
    /// limit of the count.
    pub ahead: u64,
    /// Some of the running attempts.
    pub holders: Vec<GateHolder>,
}

/// Where a due job stands among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceSnapshot {
    /// Due jobs of its tenant that are claimed before it.
    pub ahead: u64,
    /// Those of them that are like it to every gate, of its priority, and retries if it is one: room
    /// at a gate is theirs first.
    pub alike: u64,
    /// There are more ahead: counting stopped.
    pub at_least: bool,
}

/// A running job that counts at a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct GateHolder {
    /// The running job.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job: JobId,
    /// Tenant of the job.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub tenant: Tenant,
    /// The worker or node that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub worker: Option<WorkerName>,
    /// Start time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub since: Timestamp,
}

/// Another job that must come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSnapshot {
    /// The job.
    pub job: JobId,
    /// Where it stands.
    pub label: JobLabel,
    /// When it is due.
    pub run_at: Timestamp,
}

/// Nodes and workers that serve a job's kind and queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSnapshot {
    /// How many live ones there are.
    pub live: usize,
    /// How many of these have no slot for the job.
    pub full: usize,
    /// The last one that was seen, and when.
    pub last_seen: Option<(WorkerName, Timestamp)>,
}

string_enum! {
    /// The kinds of reasons why a job does not start.
    #[non_exhaustive]
    BlockerKind, "kind" {
        /// It does not wait: it runs, or has ended.
        State = "state",
        /// It did not start in time, and never will.
        Expired = "expired",
        /// It is not due yet.
        RunAt = "run_at",
        /// It is a delivery to an endpoint that is disabled.
        EndpointDisabled = "endpoint_disabled",
        /// It runs after other jobs.
        RunsAfter = "runs_after",
        /// A person has paused a gate.
        Paused = "paused",
        /// The destination does not work, or a person holds it.
        Held = "held",
        /// The destination asked its callers to wait.
        RetryAfter = "retry_after",
        /// Little or nothing remains of the destination's own limits.
        Quota = "quota",
        /// As many calls run as the destination was found to take.
        Pace = "pace",
        /// The destination works again, and jobs start faster from second to second.
        Ramping = "ramping",
        /// As many attempts run as may.
        MaxRunning = "max_running",
        /// As many attempts have started as may.
        Rate = "rate",
        /// What it needs of a unit is not free, or is kept for the next job.
        Usage = "usage",
        /// As many retries have started as may.
        RetryShare = "retry_share",
        /// Another job of its ordered key is before it.
        Ordered = "ordered",
        /// No live node or worker serves its kind and queue.
        NoWorker = "no_worker",
        /// No node that serves it has a free slot for its tenant.
        NoSlot = "no_slot",
        /// Other due jobs of its tenant are claimed first.
        Behind = "behind",
    }
}

impl BlockerKind {
    /// Whether a claim would not take the job. Without a worker or a slot there is no claim, its
    /// turn comes with the next claims, and whether an endpoint is disabled is found when it is sent.
    pub fn closes_claim(self) -> bool {
        !matches!(
            self,
            Self::NoWorker | Self::NoSlot | Self::Behind | Self::EndpointDisabled
        )
    }
}

/// One reason why a job does not start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Blocker {
    /// The kind of blocker.
    pub kind: BlockerKind,
    /// The blocker as a sentence.
    pub sentence: String,
    /// When the blocker ends, if only time is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub until: Option<Timestamp>,
    /// The gate, if a gate blocks the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// Some of the running attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<GateHolder>>))]
    pub holders: Vec<GateHolder>,
    /// Who paused or held it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Start of the pause or hold, or when a worker was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub since: Option<Timestamp>,
    /// Why a destination is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub evidence: Option<IncidentCause>,
    /// The job that received the `Retry-After`; hidden from keys for one tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub retry_after: Option<SharedRetryAfter>,
    /// What the destination says remains of its own limits; hidden from keys for one tenant if it
    /// applies to all tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub quota: Option<SharedQuota>,
    /// The jobs ahead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<String>>))]
    pub jobs: Vec<JobId>,
    /// Number of jobs ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Whether `ahead` is a lower bound; absent means false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub ahead_at_least: bool,
    /// A suggested action.
    #[serde(skip)]
    action: String,
    /// When the job would start if this were all, if that is later than `until`.
    #[serde(skip)]
    likely: Option<Timestamp>,
}

impl Blocker {
    fn new(kind: BlockerKind, sentence: String, until: Option<Timestamp>, action: String) -> Self {
        Self {
            kind,
            sentence,
            until,
            gate: None,
            holders: Vec::new(),
            by: None,
            since: None,
            evidence: None,
            retry_after: None,
            quota: None,
            jobs: Vec::new(),
            ahead: None,
            ahead_at_least: false,
            action,
            likely: until,
        }
    }
}

/// Why a job has not started, and when it is expected to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StartExplanation {
    /// `job_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub job: JobId,
    /// Whether a large enough claim for its kind and queue would take it now.
    pub claimable: bool,
    /// Everything that blocks the start of the job.
    pub blockers: Vec<Blocker>,
    /// Estimated start; absent if it does not depend on time alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<StartEstimate>,
    /// The action that would start it sooner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The place of the blocker that the action is about.
    #[serde(skip)]
    pub action_blocker: Option<usize>,
}

/// Estimated start of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct StartEstimate {
    /// Estimated time.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub at: Timestamp,
    /// Basis of the estimate.
    pub basis: String,
}

impl StartExplanation {
    /// Whether no live node or worker serves the job.
    pub fn has_no_worker(&self) -> bool {
        let mut blockers = self.blockers.iter();
        blockers.any(|blocker| blocker.kind == BlockerKind::NoWorker)
    }
}

impl StartFacts<'_> {
    /// Why the job has not started, and when it will.
    pub fn explain(&self, now: Timestamp) -> StartExplanation {
        let mut blockers = Vec::new();
        if self.job.progress.state == JobState::Waiting {
            blockers.extend(self.expired(now));
            blockers.extend(self.endpoint_disabled());
            blockers.extend(self.run_at(now));
            let others = self.runs_after.iter();
            blockers.extend(others.map(|job| self.runs_after_job(job, now)));
            if self.job.is_blocked() && self.runs_after.is_empty() {
                blockers.push(job::runs_after_others());
            }
            blockers.extend(self.ordered(now));
            let gates = self.gates.iter();
            blockers.extend(gates.flat_map(|gate| self.at_gate(gate, now)));
            blockers.extend(self.no_worker(now));
            blockers.extend(self.no_slot());
            blockers.extend(self.behind(now));
        } else {
            blockers.push(self.state(now));
        }
        let action = action(&blockers);
        StartExplanation {
            job: self.job.id,
            claimable: !blockers.iter().any(|blocker| blocker.kind.closes_claim()),
            estimate: self.estimate(&blockers, now),
            action: action.map(|place| blockers[place].action.clone()),
            action_blocker: action,
            blockers,
        }
    }

    /// What a gate says to this job, each of its limits by itself: a claim asks for all at once and
    /// stops at the first that is closed.
    fn at_gate(&self, reading: &GateSnapshot, now: Timestamp) -> Vec<Blocker> {
        let is_retry = self.job.progress.is_retry();
        let limits = reading.gate.limits.one_by_one();
        let mut visible = reading.clone();
        visible
            .holders
            .retain(|holder| !self.is_of_tenant || holder.tenant == self.job.tenant);
        let reading = &visible;
        let rooms = limits.into_iter().filter_map(|limits| {
            // The job before it says more.
            if limits.ordered && self.before_in_key.is_some() {
                return None;
            }
            match limits.room_for(&reading.state, self.job.guarantee, is_retry, now) {
                Room::For(room) => match limits.fits(&reading.state, self.job.cost(), now) {
                    Ok(()) => self.behind_others(reading, &limits, room, now),
                    Err(wait) => Some(self.closed(reading, ClosedBy::Usage(wait), now)),
                },
                Room::Closed(closed_by) => Some(self.closed(reading, closed_by, now)),
            }
        });
        rooms.collect()
    }

    /// How many jobs like it take room at gates before it.
    fn alike(&self) -> u64 {
        // Of an ordered key only one may start, whatever is due earlier.
        let is_ordered = self.gates.iter().any(|gate| gate.gate.limits.ordered);
        let place = self.place.filter(|_| !is_ordered);
        place.map_or(0, |place| place.alike)
    }
}

impl Gates {
    /// What these gates say to a job that is due by themselves, without knowing how many attempts run
    /// or have started: who has closed a gate or holds a destination, and what destinations asked
    /// for.
    pub fn known_blockers(&self, job: &Job, is_of_tenant: bool, now: Timestamp) -> Vec<Blocker> {
        if job.is_blocked() {
            return vec![job::runs_after_others()];
        }
        if job.progress.state != JobState::Waiting || job.progress.run_at > now {
            return Vec::new();
        }
        let gates = self.applying_to(&FlowKey::from(job)).into_iter();
        let facts = StartFacts {
            job,
            last_attempt: None,
            gates: gates
                .map(|gate| GateSnapshot {
                    gate,
                    state: GateState::default(),
                    ahead: 0,
                    holders: Vec::new(),
                })
                .collect(),
            before_in_key: None,
            runs_after: Vec::new(),
            endpoint: None,
            workers: WorkerSnapshot {
                live: 1,
                ..WorkerSnapshot::default()
            },
            place: None,
            starts_per_second: None,
            is_of_tenant,
        };
        facts.explain(now).blockers
    }
}

/// The place of the blocker that lasts longest, if something can be done about it: first those that
/// need a person, then those that take most time.
fn action(blockers: &[Blocker]) -> Option<usize> {
    let lasts = |(_, blocker): &(usize, &Blocker)| {
        let is_last = blocker.kind == BlockerKind::Behind;
        // A limit may have room by the time that there is a worker.
        let is_limit = matches!(blocker.kind, BlockerKind::MaxRunning | BlockerKind::Pace);
        let lasts = blocker.likely.is_none();
        (!is_last, lasts, !is_limit, blocker.likely)
    };
    // Of two that last equally long, the first.
    let (place, longest) = blockers.iter().enumerate().rev().max_by_key(lasts)?;
    (!longest.action.is_empty()).then_some(place)
}

impl GateLimits {
    /// Each limit as a gate of its own.
    fn one_by_one(&self) -> Vec<Self> {
        let none = Self::default;
        vec![
            Self {
                paused: self.paused.clone(),
                ..none()
            },
            Self {
                destination: self.destination.clone(),
                ..none()
            },
            Self {
                max_running: self.max_running,
                ordered: self.ordered,
                ..none()
            },
            Self {
                learned: self.learned,
                ..none()
            },
            Self {
                rate: self.rate,
                ..none()
            },
            Self {
                rates: self.rates.clone(),
                ..none()
            },
            Self {
                retry_share: self.retry_share,
                ..none()
            },
        ]
    }
}

/// `Queue mail`, `Key customer 7 of tenant acme`.
fn subject(id: &GateId) -> String {
    let name = match id.scope {
        GateScope::Queue => "Queue",
        GateScope::Kind => "Kind",
        GateScope::Tenant => "Tenant",
        GateScope::Destination => "Destination",
        GateScope::Key => "Key",
    };
    match &id.tenant {
        Some(tenant) => format!("{name} {} of tenant {tenant}", id.key),
        None => format!("{name} {}", id.key),
    }
}

#[cfg(test)]
mod tests;
