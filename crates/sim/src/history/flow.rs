//! What may start: limits are counted anew from what the store answered, and each claim is held
//! against them.
//!
//! Whether a claim took too much is found by plain counting. Whether it left something behind that
//! might have started is asked of the rules themselves, with states that are kept here.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use steadfast_core::{
    AppliedGate, Claim, ClosedBy, FlowKey, GateLimits, GateNumber, GateState, Gates, JobId,
    JobState, Priority, Rate, Room, Tenant, Timestamp, limits,
};
use steadfast_store::ClaimRequest;

use super::{Event, History};
use crate::{Invariant, expected::ExpectedJob};

/// One in this many claims is compared with the explanations, for a few jobs.
const EXPLAIN_EVERY: usize = 4;
/// The jobs of a claim that are compared.
const EXPLAINED_MAX: usize = 3;

/// The observed gates.
#[derive(Default)]
pub struct ExpectedFlow {
    /// Those of the newest version that the store was asked with: they hold.
    pub(super) gates: Arc<Gates>,
    /// Which of them apply, for the keys that were asked for.
    applied: BTreeMap<FlowKey, Arc<[AppliedGate]>>,
    known: BTreeMap<GateNumber, ExpectedGate>,
    /// How much more than its share the second tenant has had while the first one waited, times
    /// both weights.
    lags: BTreeMap<(Tenant, Tenant), i64>,
    /// Whether tenants take turns with every job. Otherwise one may get all of a claim at once,
    /// and the others come before it in the next.
    pub turns_by_job: bool,
}

struct ExpectedGate {
    limits: Arc<GateLimits>,
    /// When these limits were first met with.
    since: Timestamp,
    /// When attempts started at this rate, by a clock that was not set back since.
    starts: Vec<Timestamp>,
    /// As a store has to remember it, but for what runs.
    state: GateState,
}

/// Attempts that run, by the gates at which they count.
type RunningCounts = BTreeMap<GateNumber, u32>;

/// Whether gates let a job start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GateStatus {
    Open,
    /// The promise does not say.
    Unclear,
    Closed,
}

impl ExpectedFlow {
    fn applied(&mut self, flow_key: &FlowKey) -> Arc<[AppliedGate]> {
        if let Some(applied) = self.applied.get(flow_key) {
            return applied.clone();
        }
        let applied: Arc<[AppliedGate]> = self.gates.applying_to(flow_key).into();
        self.applied.insert(flow_key.clone(), applied.clone());
        applied
    }

    fn gate(&mut self, gate: &AppliedGate, now: Timestamp) -> &mut ExpectedGate {
        let known = self
            .known
            .entry(gate.number)
            .or_insert_with(|| ExpectedGate {
                limits: gate.limits.clone(),
                since: now,
                starts: Vec::new(),
                state: GateState::default(),
            });
        if known.limits != gate.limits {
            if known.limits.rate != gate.limits.rate {
                known.starts.clear();
            }
            known.since = now;
            known.limits = gate.limits.clone();
        }
        known
    }
}

impl ExpectedGate {
    /// Whether the starts of this minute were all counted under these limits.
    fn knows_minute(&self, now: Timestamp) -> bool {
        minute(self.since) < minute(now)
    }

    fn start(&mut self, is_retry: bool, now: Timestamp) {
        self.starts.push(now);
        let retries = u32::from(is_retry);
        self.state = self.limits.after_starts(&self.state, 1, retries, now);
    }

    /// The most starts of any window of a rate in which the last start is.
    fn starts_in_window(&self, rate: &Rate) -> usize {
        let Some(last) = self.starts.last() else {
            return 0;
        };
        let windows = self.starts.iter().filter(|first| **first <= *last);
        windows
            .filter(|first| first.plus(rate.per) > *last)
            .map(|first| {
                let end = first.plus(rate.per);
                let within = |start: &&Timestamp| (*first..end).contains(*start);
                self.starts.iter().filter(within).count()
            })
            .max()
            .unwrap_or(0)
    }

    /// Whether one more retry would be beyond the share, if that is known; as the setting's
    /// documentation says it.
    fn is_beyond_share(&self, now: Timestamp) -> Option<bool> {
        let share = self.limits.retry_share?.get();
        let (starts, retries) = match self.state.minute == minute(now) {
            true => (self.state.starts, self.state.retries),
            false => (0, 0),
        };
        let part = share * (f64::from(starts) + 1.0);
        let is_beyond = f64::from(retries) + 1.0 > part.floor()
            && retries >= limits::RETRY_SHARE_FLOOR
            && share < 1.0;
        self.knows_minute(now).then_some(is_beyond)
    }
}

fn minute(now: Timestamp) -> i64 {
    now.as_micros() / 60_000_000
}

impl History {
    /// The gates that hold from now on.
    pub fn follow_gates(&mut self, gates: &Arc<Gates>, now: Timestamp) {
        let flow = &mut self.flow;
        if Arc::ptr_eq(gates, &flow.gates) {
            return;
        }
        let is_changed = !gates.change_since(&flow.gates).is_empty();
        flow.gates = gates.clone();
        if is_changed {
            flow.applied.clear();
            flow.lags.clear();
            self.tell(now, None, Event::GatesChanged);
        }
    }

    /// A clock that is set back makes times come again.
    pub fn clock_set_back(&mut self, from: Timestamp) {
        for gate in self.flow.known.values_mut() {
            gate.starts.clear();
        }
        self.probes.clear();
        self.quotas.clear();
        self.set_backs += 1;
        self.latest = self.latest.max(Some(from));
    }

    pub(super) fn running(&mut self) -> RunningCounts {
        let runs = |known: &&ExpectedJob| known.state == JobState::Running && !known.gone;
        let mut running = RunningCounts::new();
        for known in self.jobs.values().filter(runs) {
            for gate in &*self.flow.applied(&known.flow_key) {
                *running.entry(gate.number).or_default() += 1;
            }
        }
        running
    }

    /// One claim, before it is noted.
    pub(super) fn check_gates(
        &mut self,
        claim: &Claim,
        running: &mut RunningCounts,
        now: Timestamp,
    ) {
        let id = claim.job().id;
        let Some(known) = self.jobs.get(&id).cloned() else {
            return;
        };
        for gate in &*self.flow.applied(&known.flow_key) {
            let run = running.entry(gate.number).or_default();
            let count = *run;
            *run += 1;
            // A learned limit may be growing.
            let learned = gate.limits.learned.map(|pace| pace.at(now));
            if let Some(most) = learned.or(gate.limits.most_running()) {
                if count + 1 >= most {
                    self.count_check(Invariant::RunningLimited);
                }
                if count >= most {
                    let why = format!("claimed while {count} of {most} run at {}", gate.id);
                    self.broken(Invariant::RunningLimited, id, why);
                }
            }
            if let Some(pause) = &gate.limits.paused
                && pause.until.is_none_or(|until| until > now)
            {
                let why = format!("claimed though {} is paused", gate.id);
                self.broken(Invariant::PausesHold, id, why);
            }
            if gate.limits.ordered {
                self.check_order_of_key(id, &known);
            }
            self.check_starts(gate, id, known.used > 0, now);
        }
    }

    fn check_starts(&mut self, gate: &AppliedGate, id: JobId, is_retry: bool, now: Timestamp) {
        let known = self.flow.gate(gate, now);
        let is_beyond_share = known.is_beyond_share(now).filter(|_| is_retry);
        known.start(is_retry, now);
        let rate = gate.limits.rate;
        let in_window = rate.map(|rate| (rate, known.starts_in_window(&rate)));
        if let Some((rate, count)) = in_window {
            let most = usize::try_from(rate.limit + rate.burst).unwrap_or(usize::MAX);
            if count > 1 || most == 1 {
                self.count_check(Invariant::StartsLimited);
            }
            if count > most {
                let why = format!("{count} started at {} in {:?}: {rate}", gate.id, rate.per);
                self.broken(Invariant::StartsLimited, id, why);
            }
        }
        match is_beyond_share {
            Some(true) => {
                let why = format!("a retry beyond the share of {}", gate.id);
                self.broken(Invariant::RetriesLimited, id, why);
            }
            Some(false) => self.count_check(Invariant::RetriesLimited),
            None => {}
        }
    }

    fn check_order_of_key(&mut self, id: JobId, known: &ExpectedJob) {
        let of_key: Vec<(JobId, bool)> = self
            .others_of_key(id, known)
            .map(|(other, known_other)| (other, known_other.is_before(known) == Some(true)))
            .collect();
        if !of_key.is_empty() {
            self.count_check(Invariant::OrderKept);
        }
        if let Some((before, _)) = of_key.iter().find(|(_, is_before)| *is_before) {
            let why = format!("claimed before {before} of its ordered key");
            self.broken(Invariant::OrderKept, id, why);
        }
    }

    /// Unfinished jobs of the same concurrency key.
    fn others_of_key<'h>(
        &'h self,
        id: JobId,
        known: &'h ExpectedJob,
    ) -> impl Iterator<Item = (JobId, &'h ExpectedJob)> {
        let key = |known: &ExpectedJob| known.flow_key.concurrency_key.clone();
        let others = self.jobs.iter().filter(move |(other, _)| **other != id);
        others
            .map(|(other, known)| (*other, known))
            .filter(|(_, other)| !other.gone && !other.state.is_final())
            .filter(move |(_, other)| other.tenant == known.tenant && key(other) == key(known))
    }

    fn gate_status(
        &mut self,
        id: JobId,
        known: &ExpectedJob,
        running: &RunningCounts,
        now: Timestamp,
    ) -> GateStatus {
        let mut status = GateStatus::Open;
        for gate in &*self.flow.applied(&known.flow_key) {
            if gate.limits.ordered {
                let others = self.others_of_key(id, known);
                let before = others.map(|(_, other)| match other.is_before(known) {
                    Some(true) => GateStatus::Closed,
                    Some(false) => GateStatus::Open,
                    None => GateStatus::Unclear,
                });
                status = before.fold(status, GateStatus::max);
            }
            let expected = self.flow.gate(gate, now);
            let is_retry = known.used > 0;
            if is_retry && gate.limits.retry_share.is_some() && !expected.knows_minute(now) {
                status = status.max(GateStatus::Unclear);
            }
            let state = GateState {
                running: running.get(&gate.number).copied().unwrap_or(0),
                ..expected.state.clone()
            };
            let room = gate.limits.room_for(&state, known.guarantee, is_retry, now);
            if let Room::Closed(by) = room {
                status = GateStatus::Closed;
                match by {
                    ClosedBy::Hold { .. } | ClosedBy::ManualHold { .. } => {
                        self.count_check(Invariant::HoldsLetProbesPass);
                    }
                    ClosedBy::RetryAfter(_) | ClosedBy::Quota { .. } => {
                        self.count_check(Invariant::WaitsAreShared);
                    }
                    _ => {}
                }
            }
            if gate.limits.paused.is_some() && status == GateStatus::Closed {
                self.count_check(Invariant::PausesHold);
            }
        }
        status
    }

    /// How the gates of a job stand, for a person who looks for the reason.
    fn describe_gates(&mut self, known: &ExpectedJob, running: &RunningCounts) -> String {
        let applied = self.flow.applied(&known.flow_key);
        let gates = applied.iter().map(|gate| {
            let running = running.get(&gate.number).copied().unwrap_or(0);
            let state = self
                .flow
                .known
                .get(&gate.number)
                .map(|known| known.state.clone());
            let AppliedGate { id, limits, .. } = gate;
            format!("{running} run at {id}, {state:?}, {limits:?}")
        });
        let gates: Vec<String> = gates.collect();
        format!("retry {}, gates: {}", known.used > 0, gates.join("; "))
    }

    /// What a claim has left behind.
    pub(super) fn check_left(
        &mut self,
        request: &ClaimRequest,
        claims: &[Claim],
        running: &RunningCounts,
        now: Timestamp,
    ) {
        let left: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|(_, known)| self.is_wanted(known, request, now))
            .filter(|(_, known)| !self.may_have_moved(known))
            .map(|(id, _)| *id)
            .collect();
        let mut lowest: BTreeMap<Tenant, Priority> = BTreeMap::new();
        for job in claims.iter().map(Claim::job) {
            let known = lowest.entry(job.tenant.clone()).or_insert(job.priority);
            *known = job.priority.min(*known);
        }
        let has_room = claims.len() < request.max && request.allowance.is_none();
        let mut waiting = BTreeSet::new();
        for id in left {
            let Some(known) = self.jobs.get(&id).cloned() else {
                continue;
            };
            if has_room && !self.flow.applied(&known.flow_key).is_empty() {
                self.count_check(Invariant::OpenGates);
            }
            if self.gate_status(id, &known, running, now) != GateStatus::Open {
                continue;
            }
            if has_room {
                let why = self.describe_gates(&known, running);
                let why = format!("left behind by a claim, though it is due and may start: {why}");
                self.broken(Invariant::OpenGates, id, why);
            }
            if let Some(lowest) = lowest.get(&known.tenant) {
                self.count_check(Invariant::PriorityFirst);
                // Starts of others may have opened its gate.
                if known.priority > *lowest && known.used == 0 {
                    let why = self.describe_gates(&known, running);
                    let why = format!("passed over by a claim of something less urgent: {why}");
                    self.broken(Invariant::PriorityFirst, id, why);
                }
            }
            if known.used == 0 {
                waiting.insert(known.tenant.clone());
            }
        }
        self.check_shares(request, claims, &waiting);
    }

    /// Tenants that could have been served get their share in time.
    fn check_shares(
        &mut self,
        request: &ClaimRequest,
        claims: &[Claim],
        waiting: &BTreeSet<Tenant>,
    ) {
        let mut taken: BTreeMap<Tenant, i64> = BTreeMap::new();
        for claim in claims {
            *taken.entry(claim.job().tenant.clone()).or_default() += 1;
        }
        let flow = &mut self.flow;
        let weight = |tenant: &Tenant| i64::from(flow.gates.weight(tenant).get());
        let count = |tenant: &Tenant| taken.get(tenant).copied().unwrap_or(0);
        if request.tenant.is_none() {
            flow.lags.retain(|(behind, _), _| waiting.contains(behind));
            for behind in waiting {
                for other in taken.keys().filter(|other| *other != behind) {
                    flow.lags
                        .entry((behind.clone(), other.clone()))
                        .or_insert(0);
                }
            }
        }
        let batch = match flow.turns_by_job {
            true => 0,
            false => i64::try_from(request.max).unwrap_or(i64::MAX),
        };
        let (mut unfair, mut is_exercised) = (None, false);
        for ((behind, other), lag) in &mut flow.lags {
            let had = match request.tenant {
                Some(_) => 0,
                None => count(other) * weight(behind),
            };
            *lag = (*lag + had - count(behind) * weight(other)).max(0);
            is_exercised |= had > 0;
            // One job each, and one that may have weighed as much as any before weights changed.
            let (own, others) = (weight(behind), weight(other));
            // The other one may have been behind by as much when this one began to wait.
            let most = 2 * (own * others + 2 * others + (1 + batch) * own);
            if had > 0 && *lag > most {
                unfair = Some(format!(
                    "{other} was served while {behind} waited, {lag} of {most} too much"
                ));
            }
        }
        if is_exercised {
            self.count_check(Invariant::SharesAreFair);
        }
        if let Some(why) = unfair {
            self.broken(Invariant::SharesAreFair, None, why);
        }
    }

    /// A few due jobs, of which it is asked whether they may start; none for most claims, because it
    /// takes long to find out.
    pub fn some_due(&self, request: &ClaimRequest, now: Timestamp) -> Vec<JobId> {
        if !self.entries.len().is_multiple_of(EXPLAIN_EVERY) {
            return Vec::new();
        }
        let due = self
            .jobs
            .iter()
            .filter(|(_, known)| self.is_wanted(known, request, now));
        let due: Vec<JobId> = due.map(|(id, _)| *id).collect();
        let step = due.len().div_ceil(EXPLAINED_MAX).max(1);
        due.into_iter().step_by(step).collect()
    }

    /// What was said of due jobs before and after a claim agrees with what it did.
    pub fn explained(
        &mut self,
        request: &ClaimRequest,
        claims: &[Claim],
        before: &[(JobId, bool)],
        after: &[(JobId, bool)],
    ) {
        let has_room = claims.len() < request.max && request.allowance.is_none();
        for ((id, was_claimable), (_, is_claimable)) in before.iter().zip(after) {
            let is_taken = claims.iter().any(|claim| claim.job().id == *id);
            let flow_key = self.jobs.get(id).map(|known| known.flow_key.clone());
            let is_limited =
                flow_key.is_none_or(|flow_key| !self.flow.applied(&flow_key).is_empty());
            // Jobs that this claim does not want may stand before it at its gates.
            let (is_checked, is_wrong) = match is_taken {
                true => (!is_limited, !was_claimable),
                false => (has_room, *is_claimable),
            };
            if is_checked {
                self.count_check(Invariant::ExplainAgrees);
            }
            if is_checked && is_wrong {
                let why = match is_taken {
                    true => "claimed though it was said that it may not start",
                    false => "left behind by a claim though it is said that it may start",
                };
                self.broken(Invariant::ExplainAgrees, *id, why);
            }
        }
    }

    fn is_wanted(&self, known: &ExpectedJob, request: &ClaimRequest, now: Timestamp) -> bool {
        // What a claim has found too late may stay so when the clock is set back.
        let latest = self.latest.map_or(now, |latest| latest.max(now));
        known.state == JobState::Waiting
            && !known.gone
            && !known.cancelled
            && known.run_at <= now
            && !known.is_late(latest)
            && request
                .tenant
                .as_ref()
                .is_none_or(|tenant| *tenant == known.tenant)
            && (request.queues.is_empty() || request.queues.contains(&known.queue))
            && (request.kinds.is_empty() || request.kinds.contains(&known.kind))
            && !request.except_kinds.contains(&known.kind)
    }
}
