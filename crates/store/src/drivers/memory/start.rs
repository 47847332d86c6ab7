//! What stands between a job and its start.

use std::{
    cmp::{Ordering, Reverse},
    collections::BTreeSet,
};

use steadfast_core::{
    AppliedGate, Destination, FlowKey, GateHolder, GateId, GateSnapshot, GateState, Job, JobId,
    JobSnapshot, JobState, PlaceSnapshot, Queue, Room, Tenant, Timestamp,
};

use super::tables::{DueRange, Tables};
use crate::{
    limits::{GATE_HOLDERS_MAX, JOBS_AHEAD_MAX},
    store::{StartQuery, StartSnapshot},
};

impl Tables {
    pub(super) fn explain_start(&self, of: &StartQuery, now: Timestamp) -> Option<StartSnapshot> {
        let id = match of {
            StartQuery::Job(id) => *id,
            StartQuery::FirstOf(tenant, queue) => self.first_of(tenant, queue, now)?,
        };
        let mut reading = StartSnapshot::new(self.job(id)?);
        let Some(range) = DueRange::of(&reading.job) else {
            return Some(reading);
        };
        let gates = self.flow.applying_to(&range.flow_key);
        let is_ordered = gates.iter().any(|gate| gate.limits.ordered);
        reading.before_in_key = self
            .first_of_key(&range.flow_key)
            .filter(|first| is_ordered && first.id != id)
            .map(|first| JobSnapshot {
                job: first.id,
                label: first.label(now),
                run_at: first.progress.run_at,
            });
        reading.gates = self.gate_readings(&gates);
        if reading.job.progress.run_at <= now {
            self.count_before(&mut reading, &range, now);
            reading.bound_counts(JOBS_AHEAD_MAX, false);
        }
        Some(reading)
    }

    /// How gates stand; one that is not set has nothing to say.
    pub(super) fn gate_states(&self, of: &[GateId]) -> Vec<GateState> {
        let running = self.running();
        let state = |gate: AppliedGate| GateState {
            running: running.get(&gate.number).copied().unwrap_or(0),
            ..self.flow.state(gate.number)
        };
        let gates = of.iter().map(|id| self.flow.gate(id));
        gates
            .map(|gate| gate.map_or_else(GateState::default, state))
            .collect()
    }

    pub(super) fn waiting_destinations(
        &self,
        tenant: &Tenant,
        mut among: Vec<Destination>,
    ) -> Vec<Destination> {
        let own = self
            .waiting
            .keys()
            .filter(|range| range.flow_key.tenant == *tenant);
        let used: BTreeSet<_> = own
            .filter_map(|range| range.flow_key.destination.as_ref())
            .collect();
        among.retain(|destination| used.contains(destination));
        among
    }

    fn gate_readings(&self, gates: &[AppliedGate]) -> Vec<GateSnapshot> {
        let readings = gates.iter().map(|gate| GateSnapshot {
            gate: gate.clone(),
            state: self.gate_state(gate),
            ahead: 0,
            holders: self.holders(gate),
        });
        readings.collect()
    }

    fn holders(&self, gate: &AppliedGate) -> Vec<GateHolder> {
        if gate.limits.most_running().is_none() {
            return Vec::new();
        }
        let running = self.leases.iter().filter_map(|(_, id)| self.jobs.get(id));
        let counted = running
            .map(|entry| &entry.job)
            .filter(|job| self.counts_at(job, gate));
        let holders = counted.map(|job| GateHolder {
            job: job.id,
            tenant: job.tenant.clone(),
            worker: job.progress.worker.clone(),
            since: job.progress.started_at.unwrap_or(job.created_at),
        });
        holders.take(GATE_HOLDERS_MAX).collect()
    }

    fn count_before(&self, reading: &mut StartSnapshot, own: &DueRange, now: Timestamp) {
        let (run_at, id) = (reading.job.progress.run_at, reading.job.id);
        let mut place = PlaceSnapshot::default();
        for (range, jobs) in &self.waiting {
            let until = match range.priority.cmp(&own.priority) {
                Ordering::Greater => (now, JobId::from_bits(u128::MAX)),
                Ordering::Equal => (run_at, id),
                Ordering::Less => continue,
            };
            let most = self.most_before(reading, range, own, now);
            let count = jobs.range(..until).count();
            let count = u64::try_from(count).unwrap_or(u64::MAX).min(most);
            place.ahead += count;
            place.alike += if range == own { count } else { 0 };
            let shared = self.flow.applying_to(&range.flow_key);
            for gate in &mut reading.gates {
                gate.ahead += if shared.contains(&gate.gate) {
                    count
                } else {
                    0
                };
            }
        }
        reading.place = Some(place);
    }

    /// How many of a range's jobs may start as far as gates decide that the job does not pass.
    fn most_before(
        &self,
        reading: &StartSnapshot,
        range: &DueRange,
        own: &DueRange,
        now: Timestamp,
    ) -> u64 {
        if range.flow_key.tenant != own.flow_key.tenant {
            return 0;
        }
        let gates = self.flow.applying_to(&range.flow_key);
        let others = gates
            .iter()
            .filter(|gate| !reading.gates.iter().any(|own| own.gate == **gate));
        let rooms = others.map(|gate| self.room(gate, range.is_retry, now));
        rooms.min().unwrap_or(u64::MAX)
    }

    fn room(&self, gate: &AppliedGate, is_retry: bool, now: Timestamp) -> u64 {
        match gate.limits.room(&self.gate_state(gate), is_retry, now) {
            Room::For(room) => room.into(),
            Room::Closed(_) => 0,
        }
    }

    fn first_of(&self, tenant: &Tenant, queue: &Queue, now: Timestamp) -> Option<JobId> {
        let waiting = self.jobs.values().map(|entry| &entry.job);
        let waiting = waiting.filter(|job| {
            job.progress.state == JobState::Waiting && (&job.tenant, &job.queue) == (tenant, queue)
        });
        let order = |job: &&Job| {
            let is_due = job.progress.run_at <= now;
            let priority = job.priority.get();
            (
                Reverse(is_due),
                Reverse(is_due && self.is_open(job, now)),
                Reverse(if is_due { priority } else { 0 }),
                job.progress.run_at,
                job.id,
            )
        };
        waiting.min_by_key(order).map(|job| job.id)
    }

    fn is_open(&self, job: &Job, now: Timestamp) -> bool {
        let gates = self.flow.applying_to(&FlowKey::from(job));
        gates
            .iter()
            .all(|gate| self.room(gate, job.progress.is_retry(), now) > 0)
    }
}
