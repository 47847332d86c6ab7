//! Claiming, one job after the other: whose turn it is, and what may start, is asked anew for each.

use std::{cmp::Reverse, collections::BTreeMap};

use steadfast_core::{
    AppliedGate, CallOwner, FlowKey, GateNumber, GateState, Guarantee, Job, JobId, Room, Timestamp,
};

use super::tables::{DueRange, Tables};
use crate::store::{ClaimRequest, ClaimResult};

/// What counts during one claim.
struct ClaimCounts {
    /// Jobs that it took, by those that have an allowance.
    sent: BTreeMap<CallOwner, usize>,
    /// Attempts that run, by gate.
    running: BTreeMap<GateNumber, u32>,
}

/// What may happen with a range.
enum Next {
    /// This job may start.
    Start(Timestamp, JobId),
    /// Nothing before this time.
    Later(Timestamp),
    /// Nothing until something else happens.
    Blocked,
}

impl Tables {
    pub(super) fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> ClaimResult {
        let mut claims = Vec::new();
        let mut counts = ClaimCounts {
            sent: BTreeMap::new(),
            running: self.running(),
        };
        while claims.len() < request.max
            && let Some((range, id)) = self.next_start(request, &counts, now)
            && let Some(job) = self.job(id)
        {
            let claim = job.claim(request.worker.clone(), request.lease, now);
            let claim = match request.within_timeout {
                true => claim.within_timeout(),
                false => claim,
            };
            for gate in &*self.flow.applying_to(&range.flow_key) {
                let state = self.gate_state(gate);
                let state = gate
                    .limits
                    .after_starts(&state, 1, range.is_retry.into(), now);
                self.flow.states.insert(gate.number, state);
                *counts.running.entry(gate.number).or_insert(0) += 1;
            }
            self.flow.charge(&range.flow_key.tenant);
            for owner in CallOwner::all_of(&range.flow_key) {
                *counts.sent.entry(owner).or_insert(0) += 1;
            }
            self.update(claim.job().clone());
            claims.push(claim);
        }
        let next_due = self
            .wanted(request)
            .filter_map(|range| match self.next(range, request, &counts, now) {
                Next::Start(at, _) | Next::Later(at) => Some(at),
                Next::Blocked => None,
            })
            .min();
        ClaimResult { claims, next_due }
    }

    /// The job that should start next: of the tenant that has had least, the most urgent.
    fn next_start(
        &self,
        request: &ClaimRequest,
        counts: &ClaimCounts,
        now: Timestamp,
    ) -> Option<(DueRange, JobId)> {
        let startable = self.wanted(request).filter_map(|range| {
            let Next::Start(run_at, id) = self.next(range, request, counts, now) else {
                return None;
            };
            let share = self.flow.share(&range.flow_key.tenant);
            let order = (
                share,
                &range.flow_key.tenant,
                Reverse(range.priority),
                run_at,
                id,
            );
            Some((order, range, id))
        });
        let (_, range, id) = startable.min_by(|(one, ..), (other, ..)| one.cmp(other))?;
        Some((range.clone(), id))
    }

    fn next(
        &self,
        range: &DueRange,
        request: &ClaimRequest,
        counts: &ClaimCounts,
        now: Timestamp,
    ) -> Next {
        let gates = self.flow.applying_to(&range.flow_key);
        let is_probe = gates.iter().any(|gate| gate.limits.is_for_probes());
        let at_most_once_from = gates
            .iter()
            .filter_map(|gate| gate.limits.at_most_once_from())
            .filter(|from| *from > now)
            .max();
        let is_at_most_once = |id: JobId| {
            let job = self.job(id);
            job.is_some_and(|job| job.guarantee == Guarantee::AtMostOnce)
        };
        let may_go = |id: JobId| {
            let job = self.job(id);
            let may_start = job.is_some_and(|job| !job.has_missed_start(now));
            may_start && (at_most_once_from.is_none() || !is_at_most_once(id))
        };
        let waiting = self.waiting.get(range);
        let mut startable = waiting
            .into_iter()
            .flatten()
            .filter(|(_, id)| may_go(*id))
            .copied();
        let first = match is_probe {
            // Rather a job that is tried again if it fails.
            true => startable.min_by_key(|(run_at, id)| {
                let is_later = *run_at > now;
                (is_later, is_at_most_once(*id), *run_at, *id)
            }),
            false => startable.next(),
        };
        let Some((mut run_at, mut id)) = first else {
            return at_most_once_from.map_or(Next::Blocked, Next::Later);
        };
        if gates.iter().any(|gate| gate.limits.ordered) {
            let first = self.first_of_key(&range.flow_key);
            let Some(job) = first.filter(|job| DueRange::of(job).as_ref() == Some(range)) else {
                return Next::Blocked;
            };
            (run_at, id) = (job.progress.run_at, job.id);
            if !may_go(id) {
                return at_most_once_from.map_or(Next::Blocked, Next::Later);
            }
        }
        if run_at > now {
            return Next::Later(run_at);
        }
        let sent = |owner: &CallOwner| counts.sent.get(owner).copied().unwrap_or(0);
        if let Some(allowance) = &request.allowance
            && CallOwner::all_of(&range.flow_key).any(|owner| allowance.of(&owner) <= sent(&owner))
        {
            return Next::Blocked;
        }
        for gate in &*gates {
            let state = GateState {
                running: counts.running.get(&gate.number).copied().unwrap_or(0),
                ..self.flow.state(gate.number)
            };
            if let Room::Closed(by) = gate.limits.room(&state, range.is_retry, now) {
                return by.until().map_or(Next::Blocked, Next::Later);
            }
        }
        Next::Start(run_at, id)
    }

    /// The oldest unfinished job of a concurrency key.
    pub(super) fn first_of_key(&self, flow_key: &FlowKey) -> Option<&Job> {
        let key = (&flow_key.tenant, &flow_key.concurrency_key);
        self.jobs
            .values()
            .map(|entry| &entry.job)
            .filter(|job| !job.progress.state.is_final())
            .filter(|job| (&job.tenant, &job.concurrency_key) == key)
            .min_by_key(|job| (job.created_at, job.id))
    }

    /// Whether an attempt of a job that runs counts at a gate.
    pub(super) fn counts_at(&self, job: &Job, gate: &AppliedGate) -> bool {
        self.flow.applying_to(&FlowKey::from(job)).contains(gate)
    }

    pub(super) fn gate_state(&self, gate: &AppliedGate) -> GateState {
        let running = self.leases.iter().filter(|(_, id)| {
            let job = self.jobs.get(id).map(|entry| &entry.job);
            job.is_some_and(|job| self.counts_at(job, gate))
        });
        GateState {
            running: u32::try_from(running.count()).unwrap_or(u32::MAX),
            ..self.flow.state(gate.number)
        }
    }

    /// How many attempts run, by the gates at which they count.
    pub(super) fn running(&self) -> BTreeMap<GateNumber, u32> {
        let mut running = BTreeMap::new();
        let jobs = self.leases.iter().filter_map(|(_, id)| self.jobs.get(id));
        for flow_key in jobs.map(|entry| FlowKey::from(&entry.job)) {
            for gate in &*self.flow.applying_to(&flow_key) {
                *running.entry(gate.number).or_insert(0) += 1;
            }
        }
        running
    }

    /// Where jobs wait that a claim may take.
    fn wanted<'a>(&'a self, request: &'a ClaimRequest) -> impl Iterator<Item = &'a DueRange> {
        let is_wanted =
            |flow_key: &FlowKey| request.wants(&flow_key.tenant, &flow_key.queue, &flow_key.kind);
        let ranges = self.waiting.keys();
        ranges.filter(move |range| is_wanted(&range.flow_key))
    }
}
