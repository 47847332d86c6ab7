//! Where a claim should look, and what it found there.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{
    AppliedGate, ClosedBy, Destination, GateLimits, GateNumber, GateState, Room, Sublane, Tenant,
    Timestamp,
};

use super::{DueIndex, Head, Level, Strip, Writers, gates::opening, unordered, view::Park};
use crate::store::ClaimRequest;

/// Where a claim should look.
#[derive(Debug)]
pub(crate) struct Plan {
    pub turns: Vec<Turn>,
}

/// What one tenant may start.
#[derive(Debug)]
pub(crate) struct Turn {
    /// How many jobs in all.
    pub count: usize,
    /// Where they wait, the most urgent first.
    pub picks: Vec<Pick>,
}

/// What one claim has taken so far, by destination.
#[derive(Default)]
pub(crate) struct SentJobs(HashMap<Destination, usize>);

impl SentJobs {
    pub(crate) fn add(&mut self, pick: &Pick, taken: usize) {
        if let Some(destination) = &pick.sublane.destination {
            *self.0.entry(destination.clone()).or_default() += taken;
        }
    }

    fn to(&self, destination: &Destination) -> usize {
        self.0.get(destination).copied().unwrap_or(0)
    }
}

/// One strip that has due jobs which may start.
#[derive(Debug)]
pub(crate) struct Pick {
    pub strip: Strip,
    pub sublane: Arc<Sublane>,
    /// No job is earlier.
    pub bound: Timestamp,
    /// No living row is earlier; there may be dead ones.
    #[cfg_attr(
        not(any(feature = "postgres", test)),
        expect(dead_code, reason = "dead rows are theirs")
    )]
    pub low: Timestamp,
    /// How many may start at most.
    pub most: usize,
    pub gates: Arc<[AppliedGate]>,
    /// What was known when it was planned.
    changes: u32,
    /// By which the index knows it, if many claims may be under way.
    pub(super) look: u64,
}

impl Pick {
    /// Whether only the oldest unfinished job of its concurrency key may start.
    pub(crate) fn is_ordered(&self) -> bool {
        self.gates.iter().any(|gate| gate.limits.ordered)
    }

    /// Whether what it takes shows if a destination works again: it is likely to fail, so a job that
    /// is not tried again is passed over.
    pub(crate) fn is_probe(&self) -> bool {
        self.gates.iter().any(|gate| gate.limits.is_for_probes())
    }
}

impl DueIndex {
    /// Where a claim of up to `max` jobs should look. What is planned must be finished with
    /// [`DueIndex::finish`], each pick once.
    pub(crate) fn plan(
        &mut self,
        request: &ClaimRequest,
        max: usize,
        sent: &SentJobs,
        now: Timestamp,
    ) -> Plan {
        let view = self.view(request, now);
        let allowance = |destination: &Destination| match &request.allowance {
            Some(allowance) => allowance
                .of(destination)
                .saturating_sub(sent.to(destination)),
            None => usize::MAX,
        };
        self.offer_unused_room(now);
        self.advance(view, &allowance, now);
        let mut planner = Planner {
            index: self,
            view,
            allowance: &allowance,
            now,
            given: HashMap::new(),
            sent: HashMap::new(),
            is_waiting: false,
            given_away: Vec::new(),
        };
        let mut turns = planner.turns(max);
        for park in planner.given_away {
            self.views[view].open(park);
        }
        if self.writers == Writers::Many {
            for pick in turns.iter_mut().flat_map(|turn| &mut turn.picks) {
                self.place(pick.strip);
                pick.look = self.looks.begin(pick.strip);
            }
        }
        Plan { turns }
    }

    /// What a claim found in a strip: how many jobs it took, and what the next one is. Answers whether
    /// nothing else is known of it; otherwise something came meanwhile.
    pub(crate) fn finish(&mut self, pick: &Pick, taken: usize, head: Head, now: Timestamp) -> bool {
        let strip = pick.strip;
        if taken > 0
            && let Some(entry) = self.sublanes.get_mut(&strip.sublane)
        {
            let starts = u32::try_from(taken).unwrap_or(u32::MAX);
            let tenant = entry.sublane.tenant.clone();
            let gates = self.gates.clone();
            self.shares.charge(&tenant, taken, &gates);
            if self.writers == Writers::One {
                entry.running = entry.running.saturating_add(starts);
                let retries = if strip.level.is_retry() { starts } else { 0 };
                for gate in &*pick.gates {
                    if let Some(known) = self.states.get_mut(&gate.number) {
                        let state = &known.state;
                        known.state = gate.limits.after_starts(state, starts, retries, now);
                    }
                }
            }
        }
        let came = self.looks.end(strip, pick.look);
        let mut is_all = false;
        if let Some(bound) = self.bound_mut(strip) {
            // What comes later says so, so nothing that lives is earlier than what was found, nor
            // than what came meanwhile. Of an ordered key, others may wait before the one that was
            // looked at.
            let living = match head {
                _ if pick.is_ordered() => None,
                Head::At(run_at) => Some(run_at),
                Head::None => Some(now),
                Head::Behind | Head::LookAgainAt(_) => None,
            };
            if let Some((living, came)) = living.zip(came) {
                bound.low = bound.low.max(living.min(came));
            }
            // What came meanwhile was not seen: then the bound stays, which is early.
            is_all = bound.changes == pick.changes;
            match is_all {
                true => self.set_head(strip, head),
                false => self.place(strip),
            }
        }
        // What waits behind another job of an ordered key comes back when that one ends.
        for gate in pick.gates.iter().filter(|gate| !gate.limits.ordered) {
            self.review(gate.number, now);
        }
        is_all
    }
}

/// The making of one plan.
struct Planner<'p> {
    index: &'p mut DueIndex,
    view: usize,
    allowance: &'p dyn Fn(&Destination) -> usize,
    now: Timestamp,
    /// What this plan has given away of the room at gates.
    given: HashMap<GateNumber, GivenRoom>,
    /// What it sends to destinations.
    sent: HashMap<Destination, usize>,
    /// Whether something has to wait until it is known what this plan leads to.
    is_waiting: bool,
    /// Where strips wait for what this plan leads to.
    given_away: Vec<Park>,
}

/// Why nothing of a strip may start.
enum Obstacle {
    /// It must wait there.
    Closed(Park),
    /// All room of a gate was given to others in this plan.
    Given,
}

/// How many may start at a gate by what was planned so far.
#[derive(Clone, Copy, Default)]
struct GivenRoom {
    starts: u32,
    retries: u32,
}

impl GivenRoom {
    /// The state of a gate as if all of them had started. That makes no room for retries yet: those
    /// who were given room may not use it.
    fn added_to(self, state: &GateState, limits: &GateLimits, now: Timestamp) -> GateState {
        if self.starts == 0 {
            return *state;
        }
        let state = limits.after_starts(state, self.starts, self.retries, now);
        GateState {
            starts: state.starts - (self.starts - self.retries),
            ..state
        }
    }
}

impl Planner<'_> {
    fn turns(&mut self, max: usize) -> Vec<Turn> {
        let mut turns = Vec::new();
        let mut served = HashSet::new();
        let mut left = max;
        while left > 0 {
            let Some(tenant) = self.next_tenant() else {
                break;
            };
            // Its other strips have their turn when it is known what these held.
            if !served.insert(tenant.clone()) {
                break;
            }
            self.let_through(&tenant, left);
            let tenants = self.index.views[self.view].ready_tenants();
            let weight = usize::from(self.index.gates.weight(&tenant).get());
            let fair = left.div_ceil(tenants.max(1)).saturating_mul(weight);
            let count = fair.clamp(1, left);
            let picks = self.picks(&tenant, count);
            if picks.is_empty() {
                if self.is_waiting {
                    break;
                }
                served.remove(&tenant);
                continue;
            }
            left -= count;
            turns.push(Turn { count, picks });
        }
        turns
    }

    /// The tenant that has had least, of those that have something ready or wait where there is room.
    fn next_tenant(&mut self) -> Option<Tenant> {
        loop {
            let DueIndex { views, shares, .. } = &mut *self.index;
            let view = &mut views[self.view];
            let ready = view.next_tenant(|tenant| shares.get(tenant));
            let Some((tenant, park)) = view.first_open(|tenant| shares.get(tenant)) else {
                return ready;
            };
            if let Some(ready) = ready
                && shares.get(&ready) <= shares.get(&tenant)
            {
                return Some(ready);
            }
            if self.room_at(&park, self.given_at(&park)) > 0 {
                return Some(tenant);
            }
            if self.room_at(&park, GivenRoom::default()) > 0 {
                // What waits there has its turn when it is known what others leave of the room.
                self.index.views[self.view].close(&park);
                self.given_away.push(park);
            } else {
                self.close(&park);
            }
        }
    }

    /// Nothing may start of what waits somewhere.
    fn close(&mut self, park: &Park) {
        self.index.views[self.view].close(park);
        if let Park::Gate(number) | Park::Retries(number) = park {
            self.index.review(*number, self.now);
        }
    }

    /// In the turn of a tenant its most urgent job comes first, though others were let through where
    /// it waits. No more are of use than the claim may take.
    fn let_through(&mut self, tenant: &Tenant, most: usize) {
        let mut parks = self.index.views[self.view].open_to(tenant);
        parks.extend_from_slice(&self.given_away);
        for park in parks {
            let room = self.room_at(&park, GivenRoom::default());
            if room == 0 {
                self.close(&park);
                continue;
            }
            let DueIndex { views, shares, .. } = &mut *self.index;
            views[self.view].unpark_of(tenant, shares.get(tenant), &park, room.min(most));
        }
    }

    /// What this plan has given away of the room somewhere.
    fn given_at(&self, park: &Park) -> GivenRoom {
        let given = match park {
            Park::Gate(number) | Park::Retries(number) => self.given.get(number),
            Park::Destination(_) => None,
        };
        given.copied().unwrap_or_default()
    }

    /// How many may start of what waits somewhere.
    fn room_at(&self, park: &Park, given: GivenRoom) -> usize {
        let (number, is_retry) = match park {
            Park::Gate(number) => (number, false),
            Park::Retries(number) => (number, true),
            Park::Destination(destination) => {
                let sent = self.sent.get(destination).copied().unwrap_or(0);
                return (self.allowance)(destination).saturating_sub(sent);
            }
        };
        let Some(entry) = self.index.states.get(number) else {
            return 0;
        };
        let limits = &entry.gate.limits;
        let state = given.added_to(&entry.state, limits, self.now);
        match limits.room(&state, is_retry, self.now) {
            Room::For(room) => usize::try_from(room).unwrap_or(usize::MAX),
            Room::Closed(_) => 0,
        }
    }

    /// The most urgent strips of a tenant that may start something; the others are parked.
    fn picks(&mut self, tenant: &Tenant, count: usize) -> Vec<Pick> {
        let mut picks = Vec::new();
        while picks.len() < count {
            let view = &mut self.index.views[self.view];
            let Some(strip) = view.take_first(tenant) else {
                break;
            };
            let Some(entry) = self.index.sublanes.get(&strip.sublane) else {
                continue;
            };
            let Some((_, bound)) = entry.strips.iter().find(|(level, _)| *level == strip.level)
            else {
                continue;
            };
            let (gates, bound) = (entry.gates.clone(), *bound);
            let sublane = entry.sublane.clone();
            match self.room(&sublane, &gates, strip.level) {
                Ok(room) => {
                    let most = room.min(count);
                    self.give(&sublane, &gates, most, strip.level);
                    for view in &mut self.index.views {
                        view.remove(strip);
                    }
                    picks.push(Pick {
                        strip,
                        sublane,
                        bound: bound.run_at,
                        low: bound.low,
                        most,
                        gates,
                        changes: bound.changes,
                        look: 0,
                    });
                }
                // Those before it may not use the room; what is less urgent must not pass it.
                Err(Obstacle::Given) => {
                    self.index.place(strip);
                    self.is_waiting = true;
                    break;
                }
                Err(Obstacle::Closed(park)) => {
                    let share = self.index.shares.get(tenant);
                    let leaves_room = self.leaves_room(tenant, count, &gates, &park);
                    self.index.views[self.view].park(strip, tenant, share, bound.run_at, park);
                    if leaves_room {
                        self.is_waiting = true;
                        break;
                    }
                }
            }
        }
        picks
    }

    /// A strip was held back that other gates have let through: what waits there may start instead,
    /// and comes before what is less urgent. Answers whether that is seen only when it is known what
    /// this plan leads to.
    fn leaves_room(
        &mut self,
        tenant: &Tenant,
        count: usize,
        gates: &[AppliedGate],
        park: &Park,
    ) -> bool {
        let views = &self.index.views;
        let is_wanted = |number: &GateNumber| views.iter().any(|view| view.has_parked(*number));
        let others = unordered(gates).filter(|number| !park.is_at(*number));
        let unused: Vec<GateNumber> = others.filter(is_wanted).collect();
        self.index.unused_room.extend(unused);
        if self.index.unused_room.is_empty() {
            return false;
        }
        if !self.given.is_empty() {
            return true;
        }
        self.index.offer_unused_room(self.now);
        self.let_through(tenant, count);
        false
    }

    /// How many jobs of a sublane may start, or where it must wait.
    fn room(
        &mut self,
        sublane: &Sublane,
        gates: &[AppliedGate],
        level: Level,
    ) -> Result<usize, Obstacle> {
        let mut room = usize::MAX;
        if let Some(destination) = &sublane.destination {
            let sent = self.sent.get(destination).copied().unwrap_or(0);
            room = (self.allowance)(destination).saturating_sub(sent);
            if room == 0 {
                return Err(Obstacle::Closed(Park::Destination(destination.clone())));
            }
        }
        for gate in gates {
            let Some(known) = self.index.states.get(&gate.number) else {
                continue;
            };
            // Which strip has the first job of an ordered key is found by looking at each.
            let given = match gate.limits.ordered {
                true => GivenRoom::default(),
                false => self.given.get(&gate.number).copied().unwrap_or_default(),
            };
            let state = given.added_to(&known.state, &gate.limits, self.now);
            match gate.limits.room(&state, level.is_retry(), self.now) {
                Room::For(at_gate) => {
                    room = room.min(usize::try_from(at_gate).unwrap_or(usize::MAX));
                }
                Room::Closed(by) => {
                    let is_open = |state| gate.limits.room(state, level.is_retry(), self.now);
                    if matches!(is_open(&known.state), Room::For(_)) {
                        return Err(Obstacle::Given);
                    }
                    let is_share = matches!(by, ClosedBy::RetryShare(_));
                    if let Some(at) = opening(&by, self.index.writers, self.now) {
                        self.index.openings.insert((at, gate.number));
                    }
                    return Err(Obstacle::Closed(match is_share {
                        true => Park::Retries(gate.number),
                        false => Park::Gate(gate.number),
                    }));
                }
            }
        }
        Ok(room)
    }

    fn give(&mut self, sublane: &Sublane, gates: &[AppliedGate], count: usize, level: Level) {
        if let Some(destination) = &sublane.destination {
            let sent = self.sent.entry(destination.clone()).or_default();
            *sent = sent.saturating_add(count);
        }
        for gate in gates {
            let given = self.given.entry(gate.number).or_default();
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            given.starts = given.starts.saturating_add(count);
            if level.is_retry() {
                given.retries = given.retries.saturating_add(count);
            }
        }
    }
}
