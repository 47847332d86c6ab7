//! What callers with the same filter see: each of their ranges is ready, waits for its time, or waits
//! at exactly one closed gate.
//!
//! When a gate gets room, the first ranges that wait there become ready, in fair order. The others
//! stay, and the gate is remembered as one with room until it is found closed: a tenant that was let
//! through may have more urgent jobs, and then the room is for the next tenant.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::Hash,
};

use steadfast_core::{CallOwner, FlowKey, GateNumber, Kind, Queue, Share, Tenant, Timestamp};

use super::{DueRange, order::TenantOrder, request::ClaimRequest};
use crate::limits::GATES_WITH_ROOM_EXAMINED_MAX;

/// Which jobs a caller wants.
struct ClaimFilter {
    tenant: Option<Tenant>,
    queues: HashSet<Queue>,
    kinds: HashSet<Kind>,
    except_kinds: HashSet<Kind>,
    /// Callers with allowances of their own see destinations differently.
    has_allowance: bool,
}

impl ClaimFilter {
    fn of(request: &ClaimRequest) -> Self {
        Self {
            tenant: request.tenant.clone(),
            queues: request.queues.iter().cloned().collect(),
            kinds: request.kinds.iter().cloned().collect(),
            except_kinds: request.except_kinds.iter().cloned().collect(),
            has_allowance: request.allowance.is_some(),
        }
    }

    /// Whether a request has this filter. A name that it has twice makes it another filter, which is
    /// served as well.
    fn is_of(&self, request: &ClaimRequest) -> bool {
        fn same<N: Hash + Eq>(wanted: &HashSet<N>, names: &[N]) -> bool {
            wanted.len() == names.len() && names.iter().all(|name| wanted.contains(name))
        }
        self.tenant == request.tenant
            && self.has_allowance == request.allowance.is_some()
            && same(&self.queues, &request.queues)
            && same(&self.kinds, &request.kinds)
            && same(&self.except_kinds, &request.except_kinds)
    }

    /// As [`ClaimRequest::wants`] says.
    fn contains(&self, flow_key: &FlowKey) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| *tenant == flow_key.tenant)
            && (self.queues.is_empty() || self.queues.contains(&flow_key.queue))
            && (self.kinds.is_empty() || self.kinds.contains(&flow_key.kind))
            && !self.except_kinds.contains(&flow_key.kind)
    }
}

/// Where a range waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum BlockedBy {
    /// A gate that is closed for all jobs.
    Gate(GateNumber),
    /// A gate that is closed for retries only, by its retry share.
    Retries(GateNumber),
    /// The caller has reached its allowance for these jobs.
    Allowance(CallOwner),
}

pub(super) struct View {
    filter: ClaimFilter,
    /// When it was used last.
    pub used: u64,
    ready: TenantOrder,
    later: BTreeSet<(Timestamp, DueRange)>,
    blocked: HashMap<BlockedBy, BlockedRanges>,
    /// Allowances at which ranges are blocked: every claim examines these, and gates may be many.
    full: HashSet<CallOwner>,
    /// Where ranges are blocked although there is room, by the tenant there that was served least.
    with_room: BTreeSet<(Share, BlockedBy)>,
    ranges: HashMap<DueRange, RangeEntry>,
}

/// The ranges that wait at one gate.
#[derive(Default)]
struct BlockedRanges {
    order: TenantOrder,
    /// The gate's place in `with_room`, if it has room.
    room_share: Option<Share>,
}

struct RangeEntry {
    tenant: Tenant,
    run_at: Timestamp,
    state: RangeState,
}

enum RangeState {
    Ready,
    Later,
    Blocked(BlockedBy),
}

impl View {
    pub(super) fn new(request: &ClaimRequest, used: u64) -> Self {
        Self {
            filter: ClaimFilter::of(request),
            used,
            ready: TenantOrder::default(),
            later: BTreeSet::new(),
            blocked: HashMap::new(),
            full: HashSet::new(),
            with_room: BTreeSet::new(),
            ranges: HashMap::new(),
        }
    }

    /// The tenant whose jobs it has; `None` for those of all.
    pub(super) fn tenant(&self) -> Option<&Tenant> {
        self.filter.tenant.as_ref()
    }

    /// How many ranges it has.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    pub(super) fn is_for(&self, request: &ClaimRequest) -> bool {
        self.filter.is_of(request)
    }

    pub(super) fn wants(&self, flow_key: &FlowKey) -> bool {
        self.filter.contains(flow_key)
    }

    /// Puts a range where its time belongs. One that is due and blocked stays blocked.
    pub(super) fn place(
        &mut self,
        range: DueRange,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
        is_due: bool,
    ) {
        if is_due
            && let Some(entry) = self.ranges.get_mut(&range)
            && let RangeState::Blocked(at) = &entry.state
            && let Some(blocked) = self.blocked.get_mut(at)
        {
            // The new time first, so that the tenant keeps its place.
            blocked.order.insert(range, tenant, share, run_at);
            if entry.run_at != run_at {
                blocked.order.remove(range, tenant, entry.run_at);
            }
            entry.run_at = run_at;
            return;
        }
        self.remove(range);
        let state = match is_due {
            true => {
                self.ready.insert(range, tenant, share, run_at);
                RangeState::Ready
            }
            false => {
                self.later.insert((run_at, range));
                RangeState::Later
            }
        };
        self.set_entry(range, tenant, run_at, state);
    }

    /// Moves a range to a place that is closed.
    pub(super) fn block(
        &mut self,
        range: DueRange,
        tenant: &Tenant,
        share: Share,
        run_at: Timestamp,
        at: BlockedBy,
    ) {
        self.remove(range);
        if let BlockedBy::Allowance(owner) = &at {
            self.full.insert(owner.clone());
        }
        let blocked = self.blocked.entry(at.clone()).or_default();
        blocked.order.insert(range, tenant, share, run_at);
        self.set_entry(range, tenant, run_at, RangeState::Blocked(at));
    }

    fn set_entry(
        &mut self,
        range: DueRange,
        tenant: &Tenant,
        run_at: Timestamp,
        state: RangeState,
    ) {
        let entry = RangeEntry {
            tenant: tenant.clone(),
            run_at,
            state,
        };
        self.ranges.insert(range, entry);
    }

    pub(super) fn remove(&mut self, range: DueRange) {
        let Some(entry) = self.ranges.remove(&range) else {
            return;
        };
        let RangeEntry {
            tenant,
            run_at,
            state,
        } = &entry;
        match state {
            RangeState::Ready => self.ready.remove(range, tenant, *run_at),
            RangeState::Later => drop(self.later.remove(&(*run_at, range))),
            RangeState::Blocked(at) => {
                if let Some(blocked) = self.blocked.get_mut(at) {
                    blocked.order.remove(range, tenant, *run_at);
                    if blocked.order.is_empty() {
                        self.set_closed(at);
                        self.blocked.remove(at);
                        if let BlockedBy::Allowance(owner) = at {
                            self.full.remove(owner);
                        }
                    }
                }
            }
        }
    }

    /// Moves ranges whose time has come.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        tenant: impl Fn(DueRange) -> Option<(Tenant, Share)>,
    ) {
        while let Some((run_at, range)) = self.later.first().copied()
            && run_at <= now
        {
            match tenant(range) {
                Some((tenant, share)) => self.place(range, &tenant, share, run_at, true),
                None => self.remove(range),
            }
        }
    }

    pub(super) fn has_blocked(&self, number: GateNumber) -> bool {
        self.blocked.contains_key(&BlockedBy::Gate(number))
            || self.blocked.contains_key(&BlockedBy::Retries(number))
    }

    pub(super) fn has_any_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// One of the ranges that wait there.
    pub(super) fn first_at(&self, at: &BlockedBy) -> Option<DueRange> {
        let (range, _) = self.blocked.get(at)?.order.first()?;
        Some(range)
    }

    /// There is room for `count` starts: makes as many ranges ready, in fair order.
    pub(super) fn unblock(
        &mut self,
        at: &BlockedBy,
        count: usize,
        share: impl Fn(&Tenant) -> Share,
    ) -> Vec<DueRange> {
        let mut unblocked = Vec::new();
        while unblocked.len() < count
            && let Some(blocked) = self.blocked.get_mut(at)
            && let Some(tenant) = blocked.order.next_tenant(&share)
            && let Some((range, run_at)) = blocked.order.first_of(&tenant)
        {
            self.remove(range);
            self.place(range, &tenant, share(&tenant), run_at, true);
            unblocked.push(range);
        }
        if count > 0 {
            self.set_with_room(at, Share::default());
        }
        unblocked
    }

    /// Makes up to `count` ranges of one tenant ready, the most urgent first.
    pub(super) fn unblock_of(
        &mut self,
        tenant: &Tenant,
        share: Share,
        at: &BlockedBy,
        count: usize,
    ) {
        for _ in 0..count {
            let blocked = self.blocked.get(at);
            let Some((range, run_at)) = blocked.and_then(|it| it.order.first_of(tenant)) else {
                break;
            };
            self.remove(range);
            self.place(range, tenant, share, run_at, true);
        }
    }

    /// Makes ranges ready for which the caller has room again.
    pub(super) fn unblock_allowed(
        &mut self,
        allowance: &dyn Fn(&CallOwner) -> usize,
        share: impl Fn(&Tenant) -> Share,
    ) {
        let rooms = self.full.iter();
        let rooms = rooms.map(|owner| (owner.clone(), allowance(owner)));
        let open: Vec<(CallOwner, usize)> = rooms.filter(|(_, room)| *room > 0).collect();
        for (owner, room) in open {
            self.unblock(&BlockedBy::Allowance(owner), room, &share);
        }
    }

    /// Ranges wait where there is room. `share` is that of the tenant there that was served least,
    /// or less.
    pub(super) fn set_with_room(&mut self, at: &BlockedBy, share: Share) {
        self.set_closed(at);
        if let Some(blocked) = self.blocked.get_mut(at) {
            blocked.room_share = Some(share);
            self.with_room.insert((share, at.clone()));
        }
    }

    pub(super) fn set_closed(&mut self, at: &BlockedBy) {
        let blocked = self.blocked.get_mut(at);
        if let Some(share) = blocked.and_then(|blocked| blocked.room_share.take()) {
            self.with_room.remove(&(share, at.clone()));
        }
    }

    /// Whether ranges wait where there is room.
    pub(super) fn has_with_room(&self) -> bool {
        !self.with_room.is_empty()
    }

    /// Of the tenants that wait where there is room, the one that was served least, and where.
    pub(super) fn next_with_room(
        &mut self,
        share: impl Fn(&Tenant) -> Share,
    ) -> Option<(Tenant, BlockedBy)> {
        loop {
            let (known, at) = self.with_room.first()?.clone();
            let blocked = self.blocked.get_mut(&at)?;
            let tenant = blocked.order.next_tenant(&share)?;
            let share = share(&tenant);
            if share <= known {
                return Some((tenant, at));
            }
            self.set_with_room(&at, share);
        }
    }

    /// Where there is room and a tenant waits, among the first
    /// [`GATES_WITH_ROOM_EXAMINED_MAX`] of such places.
    pub(super) fn with_room_for(&self, tenant: &Tenant) -> Vec<BlockedBy> {
        let first = self.with_room.iter().take(GATES_WITH_ROOM_EXAMINED_MAX);
        let waits = |at: &&BlockedBy| self.blocked.get(at).is_some_and(|it| it.order.has(tenant));
        first.map(|(_, at)| at).filter(waits).cloned().collect()
    }

    /// A range whose time has come and that is not blocked.
    pub(super) fn first_ready(&self) -> Option<(DueRange, Timestamp)> {
        self.ready.first()
    }

    /// The range whose time comes next.
    pub(super) fn first_later(&self) -> Option<(DueRange, Timestamp)> {
        let (run_at, range) = self.later.first()?;
        Some((*range, *run_at))
    }

    pub(super) fn ready_tenants(&self) -> usize {
        self.ready.tenants()
    }

    pub(super) fn next_ready(&mut self, share: impl Fn(&Tenant) -> Share) -> Option<Tenant> {
        self.ready.next_tenant(share)
    }

    /// A tenant's most urgent ready range, with its time.
    pub(super) fn first_ready_of(&self, tenant: &Tenant) -> Option<(DueRange, Timestamp)> {
        self.ready.first_of(tenant)
    }
}
