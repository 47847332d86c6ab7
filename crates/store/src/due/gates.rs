//! What gates hold back, and when they let it through.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    AppliedGate, ClosedBy, Destination, GateNumber, GateState, Gates, GatesChange, Room, Sublane,
    Timestamp,
};

use super::{DueIndex, NEVER, Strip, SublaneId, Writers, view::Park};
use crate::limits::GATE_POLL;

/// A gate that limits a known sublane.
pub(super) struct GateEntry {
    pub gate: AppliedGate,
    pub state: GateState,
    /// How many sublanes pass it; without any, it is forgotten.
    pub sublanes: usize,
}

impl DueIndex {
    /// The gates that hold from now on. Answers whether gates were set, changed or deleted.
    ///
    /// The health of a few destinations changes from second to second during an outage, so that is
    /// taken in without looking at the jobs of others.
    pub(crate) fn set_gates(&mut self, gates: &Arc<Gates>) -> bool {
        if gates.version() <= self.gates.version() {
            return false;
        }
        let change = gates.change_since(&self.gates);
        self.gates = gates.clone();
        match change {
            GatesChange::All => {
                self.apply_gates();
                true
            }
            GatesChange::Destinations(changed) => {
                if !changed.is_empty() {
                    self.apply_health(&changed);
                }
                false
            }
        }
    }

    fn apply_gates(&mut self) {
        let states: HashMap<_, _> = std::mem::take(&mut self.states);
        self.openings.clear();
        // What was held back is looked at anew.
        self.views.clear();
        for entry in self.sublanes.values_mut() {
            entry.gates = self.gates.applying_to(&entry.sublane).into();
            for gate in &*entry.gates {
                let kept = states.get(&gate.number).map(|entry| entry.state);
                let kept = kept.or_else(|| self.idle_states.get(&gate.number).copied());
                let known = self.states.entry(gate.number).or_insert_with(|| GateEntry {
                    gate: gate.clone(),
                    state: GateState {
                        running: 0,
                        ..kept.unwrap_or_default()
                    },
                    sublanes: 0,
                });
                known.sublanes += 1;
                known.state.running = known.state.running.saturating_add(entry.running);
            }
        }
        self.keep_idle(states);
    }

    fn apply_health(&mut self, changed: &[Destination]) {
        let affected = changed.iter();
        let affected = affected.flat_map(|destination| self.lists.of_destination(destination));
        let affected: Vec<SublaneId> = affected.copied().collect();
        let mut strips = Vec::new();
        for id in affected {
            let Some(entry) = self.sublanes.get_mut(&id) else {
                continue;
            };
            let before = std::mem::replace(
                &mut entry.gates,
                self.gates.applying_to(&entry.sublane).into(),
            );
            // Attempts are not counted where health decides, so what runs stays as it is.
            for gate in &*entry.gates {
                let known = self.states.entry(gate.number).or_insert_with(|| GateEntry {
                    gate: gate.clone(),
                    state: GateState::default(),
                    sublanes: 0,
                });
                known.gate = gate.clone();
                known.sublanes += 1;
            }
            // What was passed over as long as only probes were let through may start now.
            let now = self.now;
            for (level, bound) in &mut entry.strips {
                if let Some(now) = now.filter(|now| bound.run_at != NEVER && bound.run_at > *now) {
                    bound.run_at = now;
                    bound.is_exact = false;
                }
                strips.push(Strip {
                    sublane: id,
                    level: *level,
                });
            }
            self.leave_gates(&before);
            // What health decides next begins anew.
            for gate in &*before {
                if !self.states.contains_key(&gate.number) {
                    self.idle_states.remove(&gate.number);
                }
            }
        }
        let states = &self.states;
        self.openings
            .retain(|(_, number)| states.contains_key(number));
        for strip in strips {
            for view in &mut self.views {
                view.remove(strip);
            }
            self.place(strip);
        }
    }

    /// The gates that hold.
    pub(crate) fn gates(&self) -> &Arc<Gates> {
        &self.gates
    }

    /// A sublane does not pass these gates any more. How one stands that no other sublane passes is kept
    /// if it may still count here; where there are many writers, the database knows it.
    pub(super) fn leave_gates(&mut self, gates: &[AppliedGate]) {
        let now = self.now.unwrap_or(Timestamp::EPOCH);
        for gate in gates {
            let Some(known) = self.states.get_mut(&gate.number) else {
                continue;
            };
            known.sublanes = known.sublanes.saturating_sub(1);
            if known.sublanes > 0 {
                continue;
            }
            let state = GateState {
                running: 0,
                ..known.state
            };
            self.states.remove(&gate.number);
            self.unused_room.remove(&gate.number);
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

    /// Keeps what is known of gates that no sublane passes any more, for as long as it matters.
    fn keep_idle(&mut self, states: HashMap<GateNumber, GateEntry>) {
        let Self {
            states: used,
            idle_states,
            ..
        } = self;
        let unused = states
            .into_iter()
            .filter(|(number, _)| !used.contains_key(number));
        idle_states.extend(unused.map(|(number, entry)| {
            let running = 0;
            (
                number,
                GateState {
                    running,
                    ..entry.state
                },
            )
        }));
        let now = self.now.unwrap_or(Timestamp::EPOCH);
        idle_states.retain(|number, state| !used.contains_key(number) && state.matters_at(now));
    }

    /// Room that a strip was let through for and did not use is there for others.
    pub(super) fn offer_unused_room(&mut self, now: Timestamp) {
        for number in std::mem::take(&mut self.unused_room) {
            self.review(number, now);
        }
    }

    /// What a driver knows of a gate, such as what it read from its table.
    pub(crate) fn set_state(&mut self, number: GateNumber, state: GateState, now: Timestamp) {
        if let Some(entry) = self.states.get_mut(&number) {
            entry.state = state;
            self.review(number, now);
        } else if self.writers == Writers::One && state.matters_at(now) {
            self.idle_states.insert(number, state);
        }
    }

    /// What is known of a gate.
    pub(crate) fn state(&self, number: GateNumber) -> Option<GateState> {
        self.states.get(&number).map(|entry| entry.state)
    }

    /// Attempts run that this index has not planned: they were running when it was filled.
    #[cfg_attr(
        not(any(feature = "sqlite", test)),
        expect(dead_code, reason = "the other driver reads what runs from rows")
    )]
    pub(crate) fn add_running(
        &mut self,
        id: SublaneId,
        sublane: impl FnOnce() -> Sublane,
        count: u32,
    ) {
        let entry = self.entry(id, sublane);
        entry.running = entry.running.saturating_add(count);
        for gate in &*entry.gates.clone() {
            if let Some(known) = self.states.get_mut(&gate.number) {
                known.state.running = known.state.running.saturating_add(count);
            }
        }
    }

    /// An attempt ended.
    pub(crate) fn remove_running(&mut self, id: SublaneId, now: Timestamp) {
        let Some(entry) = self.sublanes.get_mut(&id) else {
            return;
        };
        entry.running = entry.running.saturating_sub(1);
        let gates = entry.gates.clone();
        for gate in &*gates {
            let Some(known) = self.states.get_mut(&gate.number) else {
                continue;
            };
            let most = gate.limits.most_running();
            let was_full = most.is_some_and(|most| known.state.running >= most);
            known.state.running = known.state.running.saturating_sub(1);
            self.open(gate.number, now);
            // Those who wait at a full gate do not know when its rate lets the next one start.
            if was_full {
                self.tell_opening(gate.number, now);
            }
        }
        self.drop_if_unused(id);
    }

    /// A job that waits was ended or changed: another one may be the first of an ordered key.
    pub(crate) fn order_changed(&mut self, id: SublaneId, now: Timestamp) {
        let Some(entry) = self.sublanes.get(&id) else {
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
        // Its strips may wait for the time of a job that has gone.
        let now = self.now.unwrap_or(now);
        let Some(entry) = self.sublanes.get_mut(&id) else {
            return;
        };
        let mut strips = Vec::new();
        for (level, bound) in &mut entry.strips {
            if bound.run_at != NEVER && bound.run_at > now {
                bound.run_at = now;
                bound.is_exact = false;
                strips.push(*level);
            }
        }
        for level in strips {
            self.place(Strip { sublane: id, level });
        }
    }

    /// Lets through what a gate holds back, as far as it has room now; otherwise notes when to
    /// look again.
    pub(super) fn review(&mut self, number: GateNumber, now: Timestamp) {
        // Many writers wake each other by what they say of their own changes.
        match self.writers {
            Writers::One => self.open(number, now),
            Writers::Many => drop(self.let_through(number, now)),
        }
    }

    /// The same, and callers learn of what it let through, however many write.
    fn open(&mut self, number: GateNumber, now: Timestamp) {
        let through = self.let_through(number, now);
        self.opened.extend(through.iter().map(|id| (*id, now)));
    }

    /// Answers with what it let through.
    fn let_through(&mut self, number: GateNumber, now: Timestamp) -> Vec<SublaneId> {
        let mut opened = Vec::new();
        if !self.views.iter().any(|view| view.has_parked(number)) {
            return opened;
        }
        let Some(entry) = self.states.get(&number) else {
            return opened;
        };
        let limits = entry.gate.limits.clone();
        for (park, is_retry) in parks(number) {
            match limits.room(&entry.state, is_retry, now) {
                Room::For(room) => {
                    // Which of the strips has the first job of the key is found by looking.
                    let room = if limits.ordered { u32::MAX } else { room };
                    let room = usize::try_from(room).unwrap_or(usize::MAX);
                    let shares = &self.shares;
                    for view in &mut self.views {
                        let through = view.unpark(&park, room, |tenant| shares.get(tenant));
                        opened.extend(through.iter().map(|strip| strip.sublane));
                    }
                }
                Room::Closed(by) => {
                    for view in &mut self.views {
                        view.close(&park);
                    }
                    if let Some(at) = opening(&by, self.writers, now) {
                        self.openings.insert((at, number));
                    }
                }
            }
        }
        opened
    }

    /// Says of what waits at a gate that is closed when time opens it.
    fn tell_opening(&mut self, number: GateNumber, now: Timestamp) {
        let Some(entry) = self.states.get(&number) else {
            return;
        };
        for (park, is_retry) in parks(number) {
            let room = entry.gate.limits.room(&entry.state, is_retry, now);
            let Room::Closed(by) = room else { continue };
            let Some(at) = by.until() else { continue };
            let waiting = self.views.iter().filter_map(|view| view.first_at(&park));
            self.opened.extend(waiting.map(|strip| (strip.sublane, at)));
        }
    }
}

/// Where strips wait at a gate, and whether for a retry.
fn parks(number: GateNumber) -> [(Park, bool); 2] {
    [(Park::Gate(number), false), (Park::Retries(number), true)]
}

/// When to look at a closed gate again, if time may have opened it.
pub(super) fn opening(by: &ClosedBy, writers: Writers, now: Timestamp) -> Option<Timestamp> {
    match by {
        // Others may not say that an attempt of theirs has ended.
        ClosedBy::MaxRunning if writers == Writers::Many => Some(now.plus(GATE_POLL)),
        by => by.until(),
    }
}
