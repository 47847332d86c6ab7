//! Which ranges gates block, and when they unblock them.

use std::{collections::HashSet, sync::Arc};

use steadfast_core::{
    AppliedGate, ClosedBy, Cost, CostChange, FlowKey, GateNumber, GateState, Gates, GatesChange,
    Room, Timestamp, Usage,
};

use super::{DueIndex, DueRange, FlowKeyId, NEVER, Pick, Writers, view::BlockedBy};
use crate::limits::GATE_POLL;

/// A gate that limits a known flow key.
pub(super) struct GateEntry {
    pub gate: AppliedGate,
    pub state: GateState,
    /// How many flow keys pass it; without any, it is forgotten.
    pub flow_keys: usize,
}

impl DueIndex {
    /// The gates that hold from now on. Answers whether gates were set, changed or deleted, and not only
    /// the health of destinations.
    ///
    /// Only flow keys that pass a changed gate are examined: the health of a few destinations changes
    /// from second to second during an outage.
    pub(crate) fn set_gates(&mut self, gates: &Arc<Gates>) -> bool {
        if Arc::ptr_eq(gates, &self.gates) {
            return false;
        }
        let change = gates.change_since(&self.gates);
        self.gates = gates.clone();
        for id in self.affected(&change) {
            self.apply_gates(id);
        }
        let states = &self.states;
        self.reopen_at
            .retain(|(_, number)| states.contains_key(number));
        change.changes_set()
    }

    /// The flow keys that pass a changed gate.
    pub(super) fn affected(&self, change: &GatesChange) -> Vec<FlowKeyId> {
        if change.defaults {
            return self.flow_keys.keys().copied().collect();
        }
        let mut affected = Vec::new();
        for id in &change.set {
            affected.extend(self.lists.at_gate(id));
        }
        for destination in &change.destinations {
            affected.extend(self.lists.of_destination(destination).copied());
        }
        affected.sort_unstable();
        affected.dedup();
        affected
    }

    /// Applies the gates anew to one flow key.
    fn apply_gates(&mut self, id: FlowKeyId) {
        let Some(entry) = self.flow_keys.get_mut(&id) else {
            return;
        };
        let after: Arc<[AppliedGate]> = self.gates.applying_to(&entry.flow_key).into();
        let before = std::mem::replace(&mut entry.gates, after.clone());
        let has = |gates: &[AppliedGate], number| gates.iter().any(|gate| gate.number == number);
        for gate in &*after {
            let known = self.states.entry(gate.number).or_insert_with(|| GateEntry {
                gate: gate.clone(),
                state: self.idle_states.remove(&gate.number).unwrap_or_default(),
                flow_keys: 0,
            });
            known.gate = gate.clone();
            known.flow_keys += 1;
            if !has(&before, gate.number) && counts_running(gate) {
                known.state.running = known.state.running.saturating_add(entry.running);
            }
        }
        for gate in before.iter().filter(|gate| counts_running(gate)) {
            if !has(&after, gate.number)
                && let Some(known) = self.states.get_mut(&gate.number)
            {
                known.state.running = known.state.running.saturating_sub(entry.running);
            }
        }
        // A range may wait for the first job of an ordered key, or for one that may be a probe,
        // although earlier jobs of it may start now.
        let skips = |gates: &[AppliedGate]| {
            let mut limits = gates.iter().map(|gate| &gate.limits);
            limits.any(|limits| limits.ordered || limits.is_for_probes())
        };
        let now = self.now.filter(|_| skips(&before));
        let mut levels = Vec::with_capacity(entry.ranges.len());
        for (level, bound) in &mut entry.ranges {
            if let Some(now) = now.filter(|now| bound.run_at != NEVER && bound.run_at > *now) {
                bound.run_at = now;
                bound.is_exact = false;
            }
            levels.push(*level);
        }
        self.leave_gates(&before);
        // What health decides next begins anew.
        for gate in before.iter().filter(|gate| !counts_running(gate)) {
            if !self.states.contains_key(&gate.number) {
                self.idle_states.remove(&gate.number);
            }
        }
        for level in levels {
            let range = DueRange {
                flow_key: id,
                level,
            };
            for view in &mut self.views {
                view.remove(range);
            }
            self.place(range);
        }
    }

    /// The gates that hold.
    pub(crate) fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// A flow key no longer passes these gates. The state of one that no other flow key passes is kept
    /// if it still counts; where there are many writers, the database has it.
    pub(super) fn leave_gates(&mut self, gates: &[AppliedGate]) {
        let now = self.now.unwrap_or(Timestamp::EPOCH);
        for gate in gates {
            let Some(known) = self.states.get_mut(&gate.number) else {
                continue;
            };
            known.flow_keys = known.flow_keys.saturating_sub(1);
            if known.flow_keys > 0 {
                continue;
            }
            let state = GateState {
                running: 0,
                ..known.state.clone()
            };
            self.states.remove(&gate.number);
            if self.writers == Writers::One && gate.limits.counts_starts() && state.matters_at(now)
            {
                self.idle_states.insert(gate.number, state);
            }
        }
        // As often as their number doubles, which costs each of them little.
        if self.idle_states.len() > 2 * self.idle_states_checked + 100 {
            self.idle_states.retain(|_, state| state.matters_at(now));
            self.idle_states_checked = self.idle_states.len();
        }
    }

    /// The state of a gate, as a driver has read it.
    pub(crate) fn set_state(&mut self, number: GateNumber, state: GateState, now: Timestamp) {
        if let Some(entry) = self.states.get_mut(&number) {
            // A state that is known opens nothing. Above all, ranges that were found behind another
            // job of an ordered key would be examined again and again.
            if entry.state != state {
                entry.state = state;
                self.review(number, now);
            }
        } else if self.writers == Writers::One && state.matters_at(now) {
            self.idle_states.insert(number, state);
        }
    }

    /// What is known of a gate.
    pub(crate) fn state(&self, number: GateNumber) -> Option<GateState> {
        self.states.get(&number).map(|entry| entry.state.clone())
    }

    /// Attempts run that this index has not planned: they were running when it was filled.
    #[cfg_attr(
        not(any(feature = "sqlite", test)),
        expect(dead_code, reason = "the other driver reads what runs from rows")
    )]
    pub(crate) fn add_running(
        &mut self,
        id: FlowKeyId,
        flow_key: impl FnOnce() -> FlowKey,
        count: u32,
    ) {
        let entry = self.entry(id, flow_key);
        entry.running = entry.running.saturating_add(count);
        for gate in &*entry.gates.clone() {
            if let Some(known) = self.states.get_mut(&gate.number) {
                known.state.running = known.state.running.saturating_add(count);
            }
        }
    }

    /// Takes what the next job of a range costs, at all its gates or at none. If it does not fit, the
    /// gate keeps it for that job, and is closed to others until then.
    #[cfg_attr(
        not(any(feature = "sqlite", test)),
        expect(dead_code, reason = "the other driver takes it from rows")
    )]
    pub(crate) fn take_cost(&mut self, pick: &Pick, cost: &Cost, now: Timestamp) -> bool {
        if !pick.counts_usage() {
            return true;
        }
        for gate in &*pick.gates {
            let Some(known) = self.states.get_mut(&gate.number) else {
                continue;
            };
            if let Err(wait) = gate.limits.fits(&known.state, cost, now) {
                gate.limits.keep_for(&mut known.state, &wait);
                return false;
            }
        }
        for gate in &*pick.gates {
            if let Some(known) = self.states.get_mut(&gate.number) {
                gate.limits.charge(&mut known.state, cost, now);
            }
        }
        true
    }

    /// An attempt used more or less than what was reserved for it. Answers with the gates that count
    /// it.
    #[cfg_attr(
        not(any(feature = "sqlite", test)),
        expect(dead_code, reason = "the other driver stores it as a row")
    )]
    pub(crate) fn settle_cost(
        &mut self,
        id: FlowKeyId,
        change: &CostChange,
        now: Timestamp,
    ) -> HashSet<GateNumber> {
        let mut settled = HashSet::new();
        let Some(entry) = self.flow_keys.get(&id) else {
            return settled;
        };
        for gate in entry.gates.iter().filter(|gate| gate.limits.counts_usage()) {
            if let Some(known) = self.states.get_mut(&gate.number) {
                gate.limits.settle(&mut known.state, change, now);
                settled.insert(gate.number);
            }
        }
        settled
    }

    /// An attempt ended.
    pub(crate) fn remove_running(&mut self, id: FlowKeyId, now: Timestamp) {
        let Some(entry) = self.flow_keys.get_mut(&id) else {
            return;
        };
        entry.running = entry.running.saturating_sub(1);
        let gates = entry.gates.clone();
        for gate in &*gates {
            let Some(known) = self.states.get_mut(&gate.number) else {
                continue;
            };
            // What was given back is known to the database alone.
            if self.writers == Writers::Many {
                known.state.usage = Usage::default();
            }
            let most = gate.limits.most_running();
            let was_full = most.is_some_and(|most| known.state.running >= most);
            known.state.running = known.state.running.saturating_sub(1);
            self.open(gate.number, now);
            // Callers that wait at a full gate do not know when its rate lets the next job start.
            if was_full {
                self.wake_at_opening(gate.number, now);
            }
        }
        self.drop_if_unused(id);
    }

    /// A job that waits was ended or changed: another one may be the first of an ordered key.
    pub(crate) fn order_changed(&mut self, id: FlowKeyId, now: Timestamp) {
        let Some(entry) = self.flow_keys.get(&id) else {
            return;
        };
        let gates = entry.gates.clone();
        let mut is_ordered = false;
        for gate in gates.iter().filter(|gate| gate.limits.ordered) {
            is_ordered = true;
            self.open(gate.number, now);
        }
        if !is_ordered {
            return;
        }
        // Its ranges may wait for the time of a job that has gone.
        let now = self.now.unwrap_or(now);
        let Some(entry) = self.flow_keys.get_mut(&id) else {
            return;
        };
        let mut ranges = Vec::new();
        for (level, bound) in &mut entry.ranges {
            if bound.run_at != NEVER && bound.run_at > now {
                bound.run_at = now;
                bound.is_exact = false;
                ranges.push(*level);
            }
        }
        for level in ranges {
            self.place(DueRange {
                flow_key: id,
                level,
            });
        }
    }

    /// Unblocks ranges at a gate if it has room; otherwise remembers when time may open it.
    pub(super) fn review(&mut self, number: GateNumber, now: Timestamp) {
        // Many writers wake each other by what they say of their own changes.
        match self.writers {
            Writers::One => self.open(number, now),
            Writers::Many => drop(self.unblock(number, now)),
        }
    }

    /// The same, and callers are woken, however many write.
    fn open(&mut self, number: GateNumber, now: Timestamp) {
        let unblocked = self.unblock(number, now);
        let woken = unblocked.iter().map(|range| (range.flow_key, now));
        self.wake_list.extend(woken);
    }

    fn unblock(&mut self, number: GateNumber, now: Timestamp) -> Vec<DueRange> {
        let mut unblocked = Vec::new();
        if !self.views.iter().any(|view| view.has_blocked(number)) {
            return unblocked;
        }
        let Some(entry) = self.states.get(&number) else {
            return unblocked;
        };
        let limits = &entry.gate.limits;
        for (at, is_retry) in places(number) {
            match limits.room(&entry.state, is_retry, now) {
                Room::For(room) => {
                    // Which of the ranges has the first job of the key is found by examining each.
                    let room = if limits.ordered { u32::MAX } else { room };
                    let room = usize::try_from(room).unwrap_or(usize::MAX);
                    let shares = &self.shares;
                    for view in &mut self.views {
                        unblocked.extend(view.unblock(&at, room, |tenant| shares.get(tenant)));
                    }
                }
                Room::Closed(by) => {
                    for view in &mut self.views {
                        view.set_closed(&at);
                    }
                    if let Some(at) = reopens_at(&by, self.writers, now) {
                        self.reopen_at.insert((at, number));
                    }
                }
            }
        }
        unblocked
    }

    /// Callers that wait at a closed gate are told when time opens it.
    fn wake_at_opening(&mut self, number: GateNumber, now: Timestamp) {
        let Some(entry) = self.states.get(&number) else {
            return;
        };
        for (at, is_retry) in places(number) {
            let room = entry.gate.limits.room(&entry.state, is_retry, now);
            let Room::Closed(by) = room else { continue };
            let Some(until) = by.until() else { continue };
            let waiting = self.views.iter().filter_map(|view| view.first_at(&at));
            let woken = waiting.map(|range| (range.flow_key, until));
            self.wake_list.extend(woken);
        }
    }
}

/// Where ranges wait at a gate, and whether for a retry.
fn places(number: GateNumber) -> [(BlockedBy, bool); 2] {
    [
        (BlockedBy::Gate(number), false),
        (BlockedBy::Retries(number), true),
    ]
}

/// Attempts are not counted where the health of a destination decides.
fn counts_running(gate: &AppliedGate) -> bool {
    gate.limits.destination.is_none()
}

/// When to examine a closed gate again, if time may have opened it.
pub(super) fn reopens_at(by: &ClosedBy, writers: Writers, now: Timestamp) -> Option<Timestamp> {
    match by {
        // Other nodes may not say that an attempt of theirs has ended.
        ClosedBy::MaxRunning if writers == Writers::Many => Some(now.plus(GATE_POLL)),
        ClosedBy::Pace { until, .. } if writers == Writers::Many => {
            let poll = now.plus(GATE_POLL);
            Some(until.map_or(poll, |until| until.min(poll)))
        }
        // Nor that one has given back what it did not use.
        ClosedBy::Usage(wait) if writers == Writers::Many => {
            Some(wait.until.min(now.plus(GATE_POLL)))
        }
        by => by.until(),
    }
}
