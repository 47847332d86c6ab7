//! Which range of waiting jobs a claim takes from next; see `docs/design/claim.md`.
//!
//! A claim must not examine every tenant, queue, kind, destination and key only to learn that
//! nothing may start there. So this is held in memory: for each flow key and level (a priority, first
//! attempts and retries apart) a lower bound of the earliest `runAt`. Due ranges are ordered by
//! tenant, the one that was served least first; the others lie by their time; a range that finds a
//! gate closed waits at that gate until the gate has room, by time or because an attempt ended.
//! So the cost of a claim does not depend on how many there are of anything.
//!
//! Callers with the same filter share one view of all this. The bounds are hints: they may be too
//! early, never too late, and the claim itself reads the rows. [`DueIndex::choose`] names one range
//! and [`DueIndex::plan`] several, and the driver answers with what it found there.

mod choose;
mod gates;
mod in_flight;
mod lists;
mod order;
#[cfg(any(feature = "postgres", test))]
mod plan;
mod range;
mod request;
mod shares;
mod start;
mod view;
mod views;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use steadfast_core::{
    AppliedGate, FlowKey, GateNumber, GateState, Gates, Tenant, Timestamp, limits::CLOCK_STEP_MAX,
};

use crate::limits::{FLOW_KEYS_PER_TENANT_MAX, ORDER_POLL, ROOM_SEARCH_EVERY};
use choose::Search;
use gates::GateEntry;
use in_flight::InFlightClaims;
use lists::FlowKeyLists;
use view::{BlockedBy, View};
use views::{NoView, ViewCredits};

pub(crate) use choose::{Pick, SentJobs};
#[cfg(feature = "postgres")]
pub(crate) use plan::TenantBatch;
pub(crate) use range::{DueRange, FlowKeyId, Head, Level};
pub use request::{Allowance, ClaimRequest};
pub(crate) use shares::Shares;
pub(crate) use start::{RangeAhead, WaitingJob};

/// How a driver uses the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// One, which makes nearly all changes itself: the index is exact.
    One,
    /// Many at once, here and on other nodes: the index is a cache. Several claims read the same
    /// ranges, and what one has found may be out of date when it says so.
    Many,
}

pub(crate) struct DueIndex {
    writers: Writers,
    flow_keys: HashMap<FlowKeyId, Entry>,
    lists: FlowKeyLists,
    views: Vec<View>,
    view_credits: ViewCredits,
    /// When flow keys of tenants that have all they may were last looked through.
    searched_for_room: HashMap<Tenant, Timestamp>,
    /// Claims that have a plan and have not yet said what they found.
    in_flight: InFlightClaims,
    shares: Shares,
    gates: Arc<Gates>,
    states: HashMap<GateNumber, GateEntry>,
    /// The states of gates that no known flow key passes: starts count although the jobs have ended.
    idle_states: HashMap<GateNumber, GateState>,
    /// Beyond twice this number, those that no longer count are removed.
    idle_states_checked: usize,
    /// Flow keys of which ranges were unblocked since the driver last asked, or will be at a time that
    /// callers may not know.
    wake_list: Vec<(FlowKeyId, Timestamp)>,
    /// When time may open a closed gate.
    reopen_at: BTreeSet<(Timestamp, GateNumber)>,
    /// The latest time that was seen.
    now: Option<Timestamp>,
    /// Counts claims, to find the view that was not used for longest.
    uses: u64,
}

/// One flow key with jobs that wait or run.
struct Entry {
    flow_key: Arc<FlowKey>,
    gates: Arc<[AppliedGate]>,
    ranges: Vec<(Level, Bound)>,
    running: u32,
}

impl Entry {
    fn bound(&self, level: Level) -> Option<&Bound> {
        let known = self.ranges.iter().find(|(known, _)| *known == level);
        known.map(|(_, bound)| bound)
    }
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    /// No job is earlier; [`NEVER`] if none waits.
    run_at: Timestamp,
    /// A job waits for exactly this time.
    is_exact: bool,
    /// No living row is earlier.
    oldest_live: Timestamp,
    /// Counts what came, so that a claim does not forget what it has not seen.
    changes: u32,
}

/// No job waits, and where the living begin is worth remembering.
const NEVER: Timestamp = Timestamp::MAX;

impl DueIndex {
    pub(crate) fn new(writers: Writers) -> Self {
        Self {
            writers,
            flow_keys: HashMap::new(),
            lists: FlowKeyLists::default(),
            views: Vec::new(),
            view_credits: ViewCredits::default(),
            searched_for_room: HashMap::new(),
            in_flight: InFlightClaims::default(),
            shares: Shares::default(),
            gates: Arc::default(),
            states: HashMap::new(),
            idle_states: HashMap::new(),
            idle_states_checked: 0,
            wake_list: Vec::new(),
            reopen_at: BTreeSet::new(),
            now: None,
            uses: 0,
        }
    }

    /// Forgets where jobs wait and what runs, because rows changed behind its back. What tenants
    /// have had stays, and so do the states of gates, which the driver may replace.
    #[cfg(feature = "sqlite")]
    pub(crate) fn clear(&mut self) {
        self.flow_keys.clear();
        self.lists = FlowKeyLists::default();
        self.views.clear();
        self.in_flight.clear();
        self.states.clear();
        self.idle_states.clear();
        self.reopen_at.clear();
    }

    /// The latest time at which it was asked.
    #[cfg(feature = "postgres")]
    pub(crate) fn now(&self) -> Timestamp {
        self.now.unwrap_or(Timestamp::EPOCH)
    }

    /// Flow keys of which ranges were unblocked since the last call, or will be then: callers may be
    /// waiting for them.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn take_wake_list(&mut self) -> Vec<(FlowKeyId, Timestamp)> {
        std::mem::take(&mut self.wake_list)
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn flow_key(&self, id: FlowKeyId) -> Option<&FlowKey> {
        Some(&*self.flow_keys.get(&id)?.flow_key)
    }

    /// Whether unfinished jobs of a tenant are in as many flow keys as they may be. Flow keys in which
    /// nothing waits any more are forgotten before it is refused, once a second at most.
    pub(crate) fn is_full_for(&mut self, tenant: &Tenant, now: Timestamp) -> bool {
        if self.lists.count_of(tenant) < FLOW_KEYS_PER_TENANT_MAX {
            return false;
        }
        let searched = self.searched_for_room.get(tenant);
        if searched.is_some_and(|at| *at <= now && now.since(*at) < ROOM_SEARCH_EVERY) {
            return true;
        }
        self.searched_for_room
            .retain(|_, at| *at <= now && now.since(*at) < ROOM_SEARCH_EVERY);
        self.searched_for_room.insert(tenant.clone(), now);
        let of_tenant: Vec<FlowKeyId> = self.lists.of_tenant(tenant).copied().collect();
        for id in of_tenant {
            if let Some(entry) = self.flow_keys.get_mut(&id) {
                entry.ranges.retain(|(_, bound)| bound.run_at != NEVER);
            }
            self.drop_if_unused(id);
        }
        self.lists.count_of(tenant) >= FLOW_KEYS_PER_TENANT_MAX
    }

    pub(crate) fn knows(&self, flow_key: FlowKeyId) -> bool {
        self.flow_keys.contains_key(&flow_key)
    }

    /// A job waits. Answers whether that is earlier than was known.
    pub(crate) fn add(
        &mut self,
        range: DueRange,
        flow_key: impl FnOnce() -> FlowKey,
        run_at: Timestamp,
    ) -> bool {
        self.in_flight.add(range, run_at);
        let entry = self.entry(range.flow_key, flow_key);
        let known = entry
            .ranges
            .iter_mut()
            .find(|(level, _)| *level == range.level);
        let Some((_, known)) = known else {
            let bound = Bound {
                run_at,
                is_exact: true,
                oldest_live: Timestamp::EPOCH,
                changes: 0,
            };
            entry.ranges.push((range.level, bound));
            self.place(range);
            return true;
        };
        known.changes = known.changes.wrapping_add(1);
        known.oldest_live = known.oldest_live.min(run_at);
        let is_earlier = run_at < known.run_at;
        if run_at <= known.run_at {
            known.run_at = run_at;
            known.is_exact = true;
        }
        if is_earlier {
            self.place(range);
        }
        is_earlier
    }

    /// A job of a flow key that is known waits.
    pub(crate) fn add_known(&mut self, range: DueRange, run_at: Timestamp) -> bool {
        let Some(entry) = self.flow_keys.get(&range.flow_key) else {
            return true;
        };
        let flow_key = entry.flow_key.clone();
        self.add(range, || (*flow_key).clone(), run_at)
    }

    /// The number of a flow key's concurrency key.
    #[cfg(feature = "sqlite")]
    pub(crate) fn key_number(&self, flow_key: FlowKeyId) -> Option<i64> {
        let flow_key = &self.flow_keys.get(&flow_key)?.flow_key;
        let key = flow_key.concurrency_key.as_ref()?;
        Some(FlowKey::key_number(&flow_key.tenant, key))
    }

    /// A job does not wait any more. If it was the first, the next one's time is not known.
    pub(crate) fn remove(&mut self, range: DueRange, run_at: Timestamp) {
        if let Some(bound) = self.bound_mut(range)
            && bound.run_at == run_at
        {
            bound.is_exact = false;
        }
    }

    /// The first job of a range was looked up.
    pub(crate) fn set_head(&mut self, range: DueRange, head: Head) {
        match head {
            Head::None => self.drop_range(range),
            Head::At(run_at) | Head::RetryAt(run_at) => {
                if let Some(bound) = self.bound_mut(range) {
                    bound.run_at = run_at;
                    bound.is_exact = true;
                    self.place(range);
                }
            }
            Head::BlockedByOrder => self.block_behind(range),
        }
    }

    /// What is known of a range: its time, and whether a job waits for exactly that time.
    pub(crate) fn bound(&self, range: DueRange) -> Option<(Timestamp, bool)> {
        let bound = self.flow_keys.get(&range.flow_key)?.bound(range.level)?;
        Some((bound.run_at, bound.is_exact))
    }

    /// A number that is another one after something came to a range.
    #[cfg(feature = "postgres")]
    pub(crate) fn changes(&self, range: DueRange) -> Option<u32> {
        let bound = self.flow_keys.get(&range.flow_key)?.bound(range.level)?;
        Some(bound.changes)
    }

    /// Takes in what time, gates and the caller's allowance have opened since the last claim.
    #[cfg(any(feature = "sqlite", test))]
    pub(crate) fn catch_up(&mut self, request: &ClaimRequest, now: Timestamp) {
        if let Ok(view) = self.view(request, now) {
            let sent = SentJobs::default();
            self.advance(&Search::new(view, request, &sent, now));
        }
    }

    /// Forgets ranges in which nothing has waited for a while: where their living rows begin will be
    /// found again.
    #[cfg(feature = "postgres")]
    pub(crate) fn forget_idle(&mut self, now: Timestamp) {
        let idle = now.minus(crate::limits::IDLE_RANGES_KEPT);
        let mut unused = Vec::new();
        for (id, entry) in &mut self.flow_keys {
            entry
                .ranges
                .retain(|(_, bound)| bound.run_at != NEVER || bound.oldest_live > idle);
            if entry.ranges.is_empty() && entry.running == 0 {
                unused.push(*id);
            }
        }
        for id in unused {
            self.drop_if_unused(id);
        }
        let flow_keys = &self.flow_keys;
        self.in_flight
            .retain(|range| flow_keys.contains_key(&range.flow_key));
    }

    /// When to claim again: in the past if something is due already.
    pub(crate) fn next_due(&mut self, request: &ClaimRequest, now: Timestamp) -> Option<Timestamp> {
        let view = match self.view(request, now) {
            Ok(view) => &self.views[view],
            Err(NoView::Nothing) => return None,
            Err(NoView::Later(at)) => return Some(at),
        };
        if let Some((_, run_at)) = view.first_ready() {
            return Some(run_at);
        }
        if view.has_with_room() {
            return Some(now);
        }
        let reopens = self
            .reopen_at
            .iter()
            .find(|(_, number)| view.has_blocked(*number))
            .map(|(at, _)| *at);
        let later = view.first_later().map(|(_, run_at)| run_at);
        reopens.into_iter().chain(later).min()
    }

    /// The range of a request that may have the earliest job, if its time is not known exactly.
    pub(crate) fn inexact_earliest(
        &mut self,
        request: &ClaimRequest,
        now: Timestamp,
    ) -> Option<DueRange> {
        let view = self.view(request, now).ok()?;
        let view = &self.views[view];
        let (range, _) = view.first_ready().or_else(|| view.first_later())?;
        let (_, is_exact) = self.bound(range)?;
        (!is_exact).then_some(range)
    }

    fn entry(&mut self, id: FlowKeyId, flow_key: impl FnOnce() -> FlowKey) -> &mut Entry {
        let Self {
            flow_keys,
            lists,
            gates,
            states,
            idle_states,
            ..
        } = self;
        flow_keys.entry(id).or_insert_with(|| {
            let flow_key = flow_key();
            let applied: Arc<[AppliedGate]> = gates.applying_to(&flow_key).into();
            for gate in &*applied {
                let known = states.entry(gate.number).or_insert_with(|| GateEntry {
                    gate: gate.clone(),
                    state: idle_states.remove(&gate.number).unwrap_or_default(),
                    flow_keys: 0,
                });
                known.flow_keys += 1;
            }
            lists.add(&flow_key, id);
            Entry {
                flow_key: Arc::new(flow_key),
                gates: applied,
                // Most flow keys have one level.
                ranges: Vec::with_capacity(1),
                running: 0,
            }
        })
    }

    fn bound_mut(&mut self, range: DueRange) -> Option<&mut Bound> {
        let entry = self.flow_keys.get_mut(&range.flow_key)?;
        let known = entry
            .ranges
            .iter_mut()
            .find(|(level, _)| *level == range.level)?;
        Some(&mut known.1)
    }

    /// Puts a range where its bound belongs, in every view that wants it.
    fn place(&mut self, range: DueRange) {
        let Some(entry) = self.flow_keys.get(&range.flow_key) else {
            return;
        };
        let Some(bound) = entry.bound(range.level) else {
            return;
        };
        let is_out = bound.run_at == NEVER;
        for view in &mut self.views {
            if is_out {
                view.remove(range);
            } else if view.wants(&entry.flow_key) {
                let is_due = self.now.is_some_and(|now| bound.run_at <= now);
                let share = self.shares.get(&entry.flow_key.tenant);
                view.place(range, &entry.flow_key.tenant, share, bound.run_at, is_due);
            }
        }
    }

    fn block_behind(&mut self, range: DueRange) {
        let Some(entry) = self.flow_keys.get(&range.flow_key) else {
            return;
        };
        let Some(bound) = entry.bound(range.level) else {
            return;
        };
        let Some(gate) = entry.gates.iter().find(|gate| gate.limits.ordered) else {
            return;
        };
        if self.writers == Writers::Many {
            // Others may not say that an older job has come back to the key.
            let now = self.now.unwrap_or(Timestamp::EPOCH);
            self.reopen_at.insert((now.plus(ORDER_POLL), gate.number));
        }
        for view in &mut self.views {
            if view.wants(&entry.flow_key) {
                let share = self.shares.get(&entry.flow_key.tenant);
                let at = BlockedBy::Gate(gate.number);
                view.block(range, &entry.flow_key.tenant, share, bound.run_at, at);
            }
        }
    }

    /// No job waits in a range.
    fn drop_range(&mut self, range: DueRange) {
        let Some(entry) = self.flow_keys.get_mut(&range.flow_key) else {
            return;
        };
        match self.writers {
            Writers::One => entry.ranges.retain(|(level, _)| *level != range.level),
            // Where the living begin is still needed: dead rows may lie in front.
            Writers::Many => {
                for (_, bound) in entry
                    .ranges
                    .iter_mut()
                    .filter(|(level, _)| *level == range.level)
                {
                    bound.run_at = NEVER;
                }
            }
        }
        for view in &mut self.views {
            view.remove(range);
        }
        self.drop_if_unused(range.flow_key);
    }

    fn drop_if_unused(&mut self, id: FlowKeyId) {
        let Some(entry) = self.flow_keys.get(&id) else {
            return;
        };
        if !entry.ranges.is_empty() || entry.running > 0 {
            return;
        }
        let flow_key = entry.flow_key.clone();
        self.lists.remove(&flow_key, id);
        if let Some(entry) = self.flow_keys.remove(&id) {
            self.leave_gates(&entry.gates);
        }
    }

    /// What was due by a clock that was set back is not due any more.
    fn follow_clock(&mut self, now: Timestamp) {
        let slack = match self.writers {
            Writers::One => Duration::ZERO,
            // Callers that ask at the same time are answered in any order.
            Writers::Many => CLOCK_STEP_MAX,
        };
        let is_set_back = self.now.is_some_and(|known| now.plus(slack) < known);
        if is_set_back {
            self.views.clear();
            self.view_credits = ViewCredits::default();
            self.reopen_at.clear();
            self.now = None;
        }
        self.now = self.now.max(Some(now));
    }

    /// Takes in which gates time has opened, and which ranges it has made due.
    fn advance(&mut self, search: &Search<'_>) {
        let now = search.now;
        while let Some((at, number)) = self.reopen_at.first().copied()
            && at <= now
        {
            self.reopen_at.pop_first();
            // The database alone knows how many attempts run: it is worth asking.
            if self.writers == Writers::Many
                && let Some(entry) = self.states.get_mut(&number)
            {
                entry.state.running = 0;
            }
            self.review(number, now);
        }
        let (flow_keys, shares) = (&self.flow_keys, &self.shares);
        let view = &mut self.views[search.view];
        view.advance(now, |range| {
            let entry = flow_keys.get(&range.flow_key)?;
            Some((
                entry.flow_key.tenant.clone(),
                shares.get(&entry.flow_key.tenant),
            ))
        });
        view.unblock_allowed(&|owner| search.allowance(owner), |tenant| {
            shares.get(tenant)
        });
    }
}

#[cfg(test)]
mod tests;
