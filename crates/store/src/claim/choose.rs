//! Which range a claim takes from next.
//!
//! The tenant that was served least, of those that have a ready range or wait where there is room;
//! of that tenant, the most urgent range whose gates all have room. A range that finds a gate closed
//! moves to that gate, and the next one is examined. Nothing is reserved for a range before it
//! starts, so no room is left over.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    AppliedGate, CallOwner, ClosedBy, FlowKey, GateLimits, GateNumber, GateState, Room, Tenant,
    Timestamp,
};

use super::{
    DueIndex, DueRange, Head, Level, Writers, gates::reopens_at, request::ClaimRequest,
    view::BlockedBy,
};

/// What one claim has taken so far, by those that have an allowance.
#[derive(Default)]
pub(crate) struct SentJobs(HashMap<CallOwner, usize>);

impl SentJobs {
    pub(crate) fn add(&mut self, pick: &Pick, taken: usize) {
        for owner in CallOwner::all_of(&pick.flow_key) {
            *self.0.entry(owner).or_default() += taken;
        }
    }

    fn of(&self, owner: &CallOwner) -> usize {
        self.0.get(owner).copied().unwrap_or(0)
    }
}

/// A range to take jobs from.
#[derive(Debug)]
pub(crate) struct Pick {
    pub range: DueRange,
    pub flow_key: Arc<FlowKey>,
    /// No job is earlier.
    #[cfg_attr(
        not(any(feature = "postgres", test)),
        expect(dead_code, reason = "the other driver assumes it if a statement fails")
    )]
    pub bound: Timestamp,
    /// No living row is earlier; there may be dead ones.
    #[cfg_attr(
        not(any(feature = "postgres", test)),
        expect(dead_code, reason = "dead rows are theirs")
    )]
    pub oldest_live: Timestamp,
    /// How many may start at most.
    pub most: usize,
    pub gates: Arc<[AppliedGate]>,
    /// What was known when it was chosen.
    pub(super) changes: u32,
    /// By which the index knows it, if many claims may be under way.
    pub(super) in_flight: u64,
}

impl Pick {
    /// Whether only the oldest unfinished job of its concurrency key may start.
    pub(crate) fn is_ordered(&self) -> bool {
        self.gates.iter().any(|gate| gate.limits.ordered)
    }

    /// Whether its jobs probe a destination that failed.
    pub(crate) fn is_probe(&self) -> bool {
        self.gates.iter().any(|gate| gate.limits.is_for_probes())
    }

    /// Whether jobs that start at most once are passed over.
    pub(crate) fn leaves_out_at_most_once(&self, now: Timestamp) -> bool {
        let mut gates = self.gates.iter();
        gates.any(|gate| gate.limits.at_most_once_from() > Some(now))
    }
}

/// One search for ranges.
pub(super) struct Search<'s> {
    pub view: usize,
    pub now: Timestamp,
    request: &'s ClaimRequest,
    sent: &'s SentJobs,
    /// What a plan has promised to ranges before it was taken.
    pub reserved: Reserved,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        view: usize,
        request: &'s ClaimRequest,
        sent: &'s SentJobs,
        now: Timestamp,
    ) -> Self {
        Self {
            view,
            now,
            request,
            sent,
            reserved: Reserved::default(),
        }
    }

    /// How many more of these jobs the caller takes.
    pub(super) fn allowance(&self, owner: &CallOwner) -> usize {
        let Some(allowance) = &self.request.allowance else {
            return usize::MAX;
        };
        let reserved = self.reserved.sent.get(owner).copied().unwrap_or(0);
        let allowance = allowance.of(owner);
        allowance.saturating_sub(self.sent.of(owner).saturating_add(reserved))
    }

    /// How many more jobs of a flow key the caller takes, or which allowance is used up.
    fn allowance_of(&self, flow_key: &FlowKey) -> Result<usize, CallOwner> {
        let mut most = usize::MAX;
        if self.request.allowance.is_some() {
            for owner in CallOwner::all_of(flow_key) {
                match self.allowance(&owner) {
                    0 => return Err(owner),
                    allowance => most = most.min(allowance),
                }
            }
        }
        Ok(most)
    }
}

/// Room that one plan has promised to its ranges. Empty where ranges are chosen one at a time.
#[derive(Default)]
pub(super) struct Reserved {
    starts: HashMap<GateNumber, ReservedStarts>,
    sent: HashMap<CallOwner, usize>,
    /// Gates whose room is all promised: ranges that wait there have to wait for the outcome.
    pub gates: Vec<BlockedBy>,
}

#[derive(Clone, Copy, Default)]
struct ReservedStarts {
    starts: u32,
    retries: u32,
}

impl ReservedStarts {
    /// The state of a gate as if all of them had started. First attempts make no room for retries
    /// yet: they may not start after all.
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

impl Reserved {
    #[cfg(any(feature = "postgres", test))]
    pub(super) fn add(&mut self, pick: &Pick) {
        for owner in CallOwner::all_of(&pick.flow_key) {
            let sent = self.sent.entry(owner).or_default();
            *sent = sent.saturating_add(pick.most);
        }
        let count = u32::try_from(pick.most).unwrap_or(u32::MAX);
        for gate in &*pick.gates {
            let reserved = self.starts.entry(gate.number).or_default();
            reserved.starts = reserved.starts.saturating_add(count);
            if pick.range.level.is_retry() {
                reserved.retries = reserved.retries.saturating_add(count);
            }
        }
    }

    fn at(&self, number: GateNumber) -> ReservedStarts {
        self.starts.get(&number).copied().unwrap_or_default()
    }
}

/// The next range of a tenant.
pub(super) enum NextRange {
    Start(Pick),
    /// The most urgent one needs room that the plan has promised to others: it is decided when the
    /// outcome is known, and less urgent ranges must not pass it.
    Reserved,
    None,
}

/// Why no job of a range may start.
enum Obstacle {
    Closed(BlockedBy),
    Reserved,
}

impl DueIndex {
    /// The range that a claim of up to `max` more jobs takes from next, and the time until which its
    /// jobs come first. The range must be finished with [`DueIndex::finish`]. A claim begins with
    /// [`DueIndex::catch_up`].
    #[cfg(any(feature = "sqlite", test))]
    pub(crate) fn choose(
        &mut self,
        request: &ClaimRequest,
        max: usize,
        sent: &SentJobs,
        now: Timestamp,
    ) -> Option<(Pick, Timestamp)> {
        let view = self.view(request, now).ok()?;
        let mut search = Search::new(view, request, sent, now);
        loop {
            let Some(tenant) = self.next_tenant(&mut search) else {
                // Tenants at closed gates keep what they have missed.
                if !self.views[view].has_any_blocked() {
                    self.shares.pass_all();
                }
                return None;
            };
            self.shares.pass(&tenant);
            if max == 0 {
                return None;
            }
            let count = self.fair_count(view, &tenant, max);
            if let NextRange::Start(pick) = self.next_range(&tenant, count, &mut search) {
                let until = match self.views[view].first_ready_of(&tenant) {
                    Some((other, run_at))
                        if other.level.priority() == pick.range.level.priority() =>
                    {
                        run_at.min(now)
                    }
                    _ => now,
                };
                return Some((pick, until));
            }
        }
    }

    /// How many of `left` jobs a tenant may take before it is another tenant's turn.
    pub(super) fn fair_count(&self, view: usize, tenant: &Tenant, left: usize) -> usize {
        let tenants = self.views[view].ready_tenants();
        let weight = usize::from(self.gates.weight(tenant).get());
        let fair = left.div_ceil(tenants.max(1)).saturating_mul(weight);
        fair.clamp(1, left)
    }

    /// The tenant that was served least, of those that have a ready range or wait where there is
    /// room. Its ranges that wait where there is room are made ready.
    pub(super) fn next_tenant(&mut self, search: &mut Search<'_>) -> Option<Tenant> {
        let tenant = loop {
            let Self { views, shares, .. } = &mut *self;
            let view = &mut views[search.view];
            let ready = view.next_ready(|tenant| shares.get(tenant));
            let Some((tenant, at)) = view.next_with_room(|tenant| shares.get(tenant)) else {
                break ready?;
            };
            if let Some(ready) = ready
                && shares.get(&ready) <= shares.get(&tenant)
            {
                break ready;
            }
            if self.blocked_room(&at, search, &search.reserved) > 0 {
                break tenant;
            }
            if self.blocked_room(&at, search, &Reserved::default()) > 0 {
                self.views[search.view].set_closed(&at);
                search.reserved.gates.push(at);
            } else {
                self.close(&at, search);
            }
        };
        self.unblock_for(&tenant, search);
        Some(tenant)
    }

    /// A gate was found closed.
    fn close(&mut self, at: &BlockedBy, search: &Search<'_>) {
        self.views[search.view].set_closed(at);
        if let BlockedBy::Gate(number) | BlockedBy::Retries(number) = at {
            self.review(*number, search.now);
        }
    }

    /// Makes a tenant's ranges ready that wait where there is room, so that its most urgent one is
    /// found.
    fn unblock_for(&mut self, tenant: &Tenant, search: &Search<'_>) {
        let mut places = self.views[search.view].with_room_for(tenant);
        places.extend_from_slice(&search.reserved.gates);
        for at in places {
            let room = self.blocked_room(&at, search, &Reserved::default());
            if room == 0 {
                self.close(&at, search);
                continue;
            }
            let Self { views, shares, .. } = &mut *self;
            let view = &mut views[search.view];
            view.unblock_of(tenant, shares.get(tenant), &at, room);
        }
    }

    /// How many starts there is room for.
    fn blocked_room(&self, at: &BlockedBy, search: &Search<'_>, reserved: &Reserved) -> usize {
        let (number, is_retry) = match at {
            BlockedBy::Gate(number) => (number, false),
            BlockedBy::Retries(number) => (number, true),
            BlockedBy::Allowance(owner) => return search.allowance(owner),
        };
        let Some(entry) = self.states.get(number) else {
            return 0;
        };
        let limits = &entry.gate.limits;
        let state = reserved.at(*number);
        let state = state.added_to(&entry.state, limits, search.now);
        match limits.room(&state, is_retry, search.now) {
            Room::For(room) => usize::try_from(room).unwrap_or(usize::MAX),
            Room::Closed(_) => 0,
        }
    }

    /// The most urgent range of a tenant that may start up to `count` jobs, taken out of the view.
    /// Ranges before it that find a gate closed move there.
    pub(super) fn next_range(
        &mut self,
        tenant: &Tenant,
        count: usize,
        search: &mut Search<'_>,
    ) -> NextRange {
        while let Some((range, run_at)) = self.views[search.view].first_ready_of(tenant) {
            // It was due by a clock that is a little ahead.
            if run_at > search.now {
                let share = self.shares.get(tenant);
                self.views[search.view].place(range, tenant, share, run_at, false);
                continue;
            }
            let known = self.flow_keys.get(&range.flow_key);
            let Some((entry, bound)) = known.and_then(|it| Some((it, *it.bound(range.level)?)))
            else {
                self.views[search.view].remove(range);
                continue;
            };
            let (gates, flow_key) = (entry.gates.clone(), entry.flow_key.clone());
            match self.room(&flow_key, &gates, range.level, search) {
                Ok(room) => {
                    self.views[search.view].remove(range);
                    return NextRange::Start(Pick {
                        range,
                        flow_key,
                        bound: bound.run_at,
                        oldest_live: bound.oldest_live,
                        most: room.min(count),
                        gates,
                        changes: bound.changes,
                        in_flight: 0,
                    });
                }
                Err(Obstacle::Reserved) => return NextRange::Reserved,
                Err(Obstacle::Closed(at)) => {
                    let share = self.shares.get(tenant);
                    let view = &mut self.views[search.view];
                    view.set_closed(&at);
                    view.block(range, tenant, share, run_at, at);
                    // Where it was let through, another range of the tenant may be the next.
                    self.unblock_for(tenant, search);
                }
            }
        }
        NextRange::None
    }

    /// How many jobs of a range may start, or where it must wait.
    fn room(
        &mut self,
        flow_key: &FlowKey,
        gates: &[AppliedGate],
        level: Level,
        search: &Search<'_>,
    ) -> Result<usize, Obstacle> {
        let mut room = search
            .allowance_of(flow_key)
            .map_err(|owner| Obstacle::Closed(BlockedBy::Allowance(owner)))?;
        for gate in gates {
            let Some(known) = self.states.get(&gate.number) else {
                continue;
            };
            // Which range has the first job of an ordered key is found by examining each.
            let reserved = match gate.limits.ordered {
                true => ReservedStarts::default(),
                false => search.reserved.at(gate.number),
            };
            let is_retry = level.is_retry();
            let state = reserved.added_to(&known.state, &gate.limits, search.now);
            let by = match gate.limits.room(&state, is_retry, search.now) {
                Room::For(at_gate) => {
                    room = room.min(usize::try_from(at_gate).unwrap_or(usize::MAX));
                    continue;
                }
                Room::Closed(by) => by,
            };
            let real = gate.limits.room(&known.state, is_retry, search.now);
            if matches!(real, Room::For(_)) {
                return Err(Obstacle::Reserved);
            }
            if let Some(at) = reopens_at(&by, self.writers, search.now) {
                self.reopen_at.insert((at, gate.number));
            }
            return Err(Obstacle::Closed(match by {
                ClosedBy::RetryShare(_) => BlockedBy::Retries(gate.number),
                _ => BlockedBy::Gate(gate.number),
            }));
        }
        Ok(room)
    }

    /// What a claim found in a range: how many jobs it took, and what the next one is. Answers whether
    /// nothing came to the range meanwhile.
    pub(crate) fn finish(&mut self, pick: &Pick, taken: usize, head: Head, now: Timestamp) -> bool {
        self.count_starts(pick, taken, now);
        let range = pick.range;
        let came = self.in_flight.end(range, pick.in_flight);
        let mut is_unchanged = false;
        if let Some(bound) = self.bound_mut(range) {
            // No living row is earlier than the next job, nor than those that came meanwhile. Of an
            // ordered key, other jobs may wait before the one that was found.
            let oldest_live = match head {
                _ if pick.is_ordered() => None,
                Head::At(run_at) => Some(run_at),
                Head::None => Some(now),
                Head::BlockedByOrder | Head::RetryAt(_) => None,
            };
            if let Some((oldest_live, came)) = oldest_live.zip(came) {
                bound.oldest_live = bound.oldest_live.max(oldest_live.min(came));
            }
            // The claim has not seen what came meanwhile: then the bound stays, which is early.
            is_unchanged = bound.changes == pick.changes;
            match is_unchanged {
                true => self.set_head(range, head),
                false => self.place(range),
            }
        }
        // Ranges behind another job of an ordered key come back when that one ends.
        for gate in pick.gates.iter().filter(|gate| !gate.limits.ordered) {
            self.review(gate.number, now);
        }
        is_unchanged
    }

    fn count_starts(&mut self, pick: &Pick, taken: usize, now: Timestamp) {
        let Some(entry) = self.flow_keys.get_mut(&pick.range.flow_key) else {
            return;
        };
        if taken == 0 {
            return;
        }
        self.shares
            .charge(&entry.flow_key.tenant, taken, &self.gates);
        // Where there are many writers, the database counts.
        if self.writers == Writers::Many {
            return;
        }
        let starts = u32::try_from(taken).unwrap_or(u32::MAX);
        entry.running = entry.running.saturating_add(starts);
        let retries = if pick.range.level.is_retry() {
            starts
        } else {
            0
        };
        for gate in &*pick.gates {
            if let Some(known) = self.states.get_mut(&gate.number) {
                let state = &known.state;
                known.state = gate.limits.after_starts(state, starts, retries, now);
            }
        }
    }
}
