//! Where the index sends those who explain the start of a job.

use std::{cmp::Ordering, collections::HashSet};

use steadfast_core::{
    AppliedGate, Destination, FlowKey, GateNumber, GateState, Job, Queue, Room, Tenant, Timestamp,
};

use super::{DueIndex, DueRange, Entry, FlowKeyId, Level};
use crate::lane::Lane;
use crate::limits::{
    DESTINATION_RANGES_MAX, FIRST_RANGES_MAX, FLOW_KEYS_LOOKED_MAX, RANGES_AHEAD_MAX,
};

/// A waiting job, and the range in which it waits.
pub(crate) struct WaitingJob {
    pub range: DueRange,
    pub flow_key: FlowKey,
    pub run_at: Timestamp,
}

impl From<&Job> for WaitingJob {
    fn from(job: &Job) -> Self {
        let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
        Self {
            range: DueRange {
                flow_key: FlowKeyId {
                    lane: Lane::from(job).number(),
                    number: FlowKey::number(destination, key),
                },
                level: Level::new(job.priority.get(), job.progress.is_retry()),
            },
            flow_key: FlowKey::from(job),
            run_at: job.progress.run_at,
        }
    }
}

/// What the index knows about the start of a job.
pub(crate) struct IndexedStart {
    /// The gates that apply to it.
    pub gates: Vec<AppliedGate>,
    /// Where jobs may wait that are claimed before it; none if it is not due.
    pub before: Vec<RangeAhead>,
    /// There are more such places.
    pub is_cut: bool,
}

/// A range with jobs that are claimed before another one.
pub(crate) struct RangeAhead {
    pub range: DueRange,
    /// No living row is earlier.
    pub oldest_live: Timestamp,
    /// Jobs until this time are.
    pub until: Timestamp,
    /// Of those of exactly that time, only those that were stored before it are.
    pub is_by_order: bool,
    /// It is the job's own.
    pub is_same_class: bool,
    /// How many of them may start, as far as gates decide that the job itself does not pass.
    pub most: u64,
    /// The gates that it passes as well.
    pub shared: Vec<GateNumber>,
}

impl DueIndex {
    /// What is known of the start of a job.
    pub(crate) fn start(&self, job: &WaitingJob, now: Timestamp) -> IndexedStart {
        let gates = self.gates.applying_to(&job.flow_key);
        let (before, is_cut) = match job.run_at <= now {
            true => self.before(job, &gates, now),
            false => (Vec::new(), false),
        };
        IndexedStart {
            gates,
            before,
            is_cut,
        }
    }

    /// The last known state of a gate, also of one that no job passes now.
    #[cfg(feature = "sqlite")]
    pub(crate) fn last_state(&self, number: GateNumber) -> GateState {
        let idle = || self.idle_states.get(&number).cloned();
        self.state(number).or_else(idle).unwrap_or_default()
    }

    /// Those of some destinations for which jobs of a tenant wait.
    pub(crate) fn waiting_destinations(
        &self,
        tenant: &Tenant,
        among: &[Destination],
    ) -> Vec<Destination> {
        let of_tenant = self.lists.of_tenant(tenant);
        let entries = of_tenant
            .take(FLOW_KEYS_LOOKED_MAX)
            .filter_map(|id| self.flow_keys.get(id));
        let is_waiting = |entry: &&Entry| {
            let mut bounds = entry.ranges.iter().map(|(_, bound)| bound);
            bounds.any(|bound| bound.run_at != super::NEVER)
        };
        let used: HashSet<_> = entries
            .filter(is_waiting)
            .filter_map(|entry| entry.flow_key.destination.as_ref())
            .collect();
        let among = among.iter().filter(|it| used.contains(it));
        among.cloned().collect()
    }

    fn before(
        &self,
        job: &WaitingJob,
        gates: &[AppliedGate],
        now: Timestamp,
    ) -> (Vec<RangeAhead>, bool) {
        let own = job.range.flow_key;
        let of_tenant = self.lists.of_tenant(&job.flow_key.tenant);
        let others = of_tenant.filter(|id| **id != own);
        let (mut before, mut looked) = (Vec::new(), 0);
        for id in std::iter::once(&own).chain(others) {
            let Some(entry) = self.flow_keys.get(id) else {
                continue;
            };
            looked += 1;
            if looked > FLOW_KEYS_LOOKED_MAX || before.len() >= RANGES_AHEAD_MAX {
                return (before, true);
            }
            before.extend(self.ranges_before(*id, entry, job, gates, now));
        }
        (before, false)
    }

    fn ranges_before(
        &self,
        id: FlowKeyId,
        entry: &Entry,
        job: &WaitingJob,
        gates: &[AppliedGate],
        now: Timestamp,
    ) -> impl Iterator<Item = RangeAhead> {
        let own = job.range;
        entry.ranges.iter().filter_map(move |(level, bound)| {
            let range = DueRange {
                flow_key: id,
                level: *level,
            };
            let (until, is_by_order) = match level.priority().cmp(&own.level.priority()) {
                Ordering::Greater => (now, false),
                Ordering::Equal => (job.run_at, true),
                Ordering::Less => return None,
            };
            if bound.run_at > until {
                return None;
            }
            let is_shared = |gate: &&AppliedGate| gates.iter().any(|own| own.number == gate.number);
            let others = entry.gates.iter().filter(|gate| !is_shared(gate));
            let most = others.map(|gate| self.room_at(gate, *level, now)).min();
            let most = most.unwrap_or(u64::MAX);
            let shared = entry.gates.iter().filter(is_shared);
            (most > 0).then(|| RangeAhead {
                range,
                oldest_live: bound.oldest_live,
                until,
                is_by_order,
                is_same_class: range == own,
                most,
                shared: shared.map(|gate| gate.number).collect(),
            })
        })
    }

    fn room_at(&self, gate: &AppliedGate, level: Level, now: Timestamp) -> u64 {
        let state = self.state(gate.number).unwrap_or_default();
        match gate.limits.room(&state, level.is_retry(), now) {
            Room::For(room) => room.into(),
            Room::Closed(_) => 0,
        }
    }

    /// Where the first job of a tenant's queue may be, the likeliest first.
    pub(crate) fn first_ranges(
        &self,
        tenant: &Tenant,
        queue: &Queue,
        now: Timestamp,
    ) -> Vec<FirstRange> {
        let of_tenant = self.lists.of_tenant(tenant);
        let mut found = Vec::new();
        for id in of_tenant.take(FLOW_KEYS_LOOKED_MAX) {
            let entry = self.flow_keys.get(id);
            let Some(entry) = entry.filter(|entry| entry.flow_key.queue == *queue) else {
                continue;
            };
            for (level, bound) in &entry.ranges {
                if bound.run_at == super::NEVER {
                    continue;
                }
                let rooms = entry
                    .gates
                    .iter()
                    .map(|gate| self.room_at(gate, *level, now));
                let first = FirstRange {
                    range: DueRange {
                        flow_key: *id,
                        level: *level,
                    },
                    is_open: rooms.min().is_none_or(|room| room > 0),
                };
                found.push((first.order(bound.run_at, now), first));
            }
        }
        found.sort_by_key(|(order, _)| *order);
        found.truncate(FIRST_RANGES_MAX);
        found.into_iter().map(|(_, first)| first).collect()
    }
}

impl DueIndex {
    /// Where jobs for a destination may be due, of one tenant or of all, with the time before which
    /// no living row is. The answer says whether there are more such places.
    pub(crate) fn due_ranges(
        &self,
        destination: &Destination,
        tenant: Option<&Tenant>,
        now: Timestamp,
    ) -> (Vec<(DueRange, Timestamp)>, bool) {
        let mut found = Vec::new();
        for id in self.lists.of_destination(destination) {
            let entry = self.flow_keys.get(id);
            let wanted =
                entry.filter(|entry| tenant.is_none_or(|tenant| entry.flow_key.tenant == *tenant));
            for (level, bound) in wanted.into_iter().flat_map(|entry| &entry.ranges) {
                if bound.run_at > now {
                    continue;
                }
                if found.len() >= DESTINATION_RANGES_MAX {
                    return (found, true);
                }
                let range = DueRange {
                    flow_key: *id,
                    level: *level,
                };
                found.push((range, bound.oldest_live));
            }
        }
        (found, false)
    }
}

/// Where the first job of a queue may be.
#[derive(Clone, Copy)]
pub(crate) struct FirstRange {
    pub range: DueRange,
    /// No gate keeps its jobs from starting.
    pub is_open: bool,
}

impl FirstRange {
    /// The less, the earlier a claim would look at it, if its first job is due at a time.
    pub(crate) fn order(&self, run_at: Timestamp, now: Timestamp) -> (bool, bool, u8, Timestamp) {
        let is_due = run_at <= now;
        let priority = self.range.level.priority();
        let urgency = if is_due { priority } else { 0 };
        (
            !is_due,
            !(is_due && self.is_open),
            u8::MAX - urgency,
            run_at,
        )
    }
}
