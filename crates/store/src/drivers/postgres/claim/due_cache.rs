//! A node's cache of the due ranges.
//!
//! The rows decide; this says where to search. It learns from the writes of this node, from the
//! notifications of others, and from what claims find. A notification is lost if its node dies before
//! it is sent; a full scan of all ranges finds such jobs. It runs often while there are few ranges.
//! While there are many, it runs in the background and takes a small part of the time.

mod sync;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::Gates;

use crate::{
    claim::{DueIndex, DueRange, FlowKeyId, Writers},
    drivers::{current_gates::CurrentGates, postgres::known_gates::KnownGates},
    lane::{Lane, LaneId},
    limits::{
        DUE_CACHE_RANGES_FEW, DUE_CACHE_STALE_COST_FACTOR, DUE_CACHE_SYNC_COST_FACTOR,
        DUE_CACHE_SYNC_EVERY, DUE_CACHE_SYNC_LATE, DUE_CACHE_UNKNOWN_MAX,
    },
    wake::WakeReasons,
};

pub(crate) struct DueCache {
    state: Mutex<DueCacheState>,
    pub gates: CurrentGates,
    /// One full scan at a time.
    sync: tokio::sync::Mutex<()>,
}

pub(crate) struct DueCacheState {
    pub index: DueIndex,
    /// Ranges that other nodes have named, of flow keys that this node has yet to read.
    unresolved: HashSet<DueRange>,
    /// Something changed, and it is not known where.
    is_stale: bool,
    /// A claim has found a full scan due and left it to the background.
    full_scan_due: bool,
    synced: Option<LastSync>,
    /// The last poll, on a node that cannot listen.
    polled: Option<LastSync>,
    pub known_gates: KnownGates,
    /// Running attempts are still to be counted at the gates.
    is_uncounted: bool,
}

#[derive(Clone, Copy)]
struct LastSync {
    at: Instant,
    took: Duration,
    /// How many ranges there were.
    ranges: usize,
}

impl LastSync {
    fn began_at(&self) -> Option<Instant> {
        self.at.checked_sub(self.took)
    }

    /// How long to wait before the next one after a change in an unknown range.
    fn stale_pause(&self) -> Duration {
        match self.ranges <= DUE_CACHE_RANGES_FEW {
            true => Duration::ZERO,
            false => self.took * DUE_CACHE_STALE_COST_FACTOR,
        }
    }
}

impl Default for DueCache {
    fn default() -> Self {
        let state = DueCacheState {
            index: DueIndex::new(Writers::Many),
            unresolved: HashSet::new(),
            is_stale: true,
            full_scan_due: false,
            synced: None,
            polled: None,
            known_gates: KnownGates::default(),
            is_uncounted: false,
        };
        Self {
            state: Mutex::new(state),
            gates: CurrentGates::default(),
            sync: tokio::sync::Mutex::default(),
        }
    }
}

impl DueCache {
    pub(crate) fn lock(&self) -> MutexGuard<'_, DueCacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another server may answer, whose rows may be older, and notifications may have been missed: the
    /// next claim scans all ranges, whatever that costs.
    pub(crate) fn forget(&self) {
        self.lock().synced = None;
        self.forget_gates();
    }

    /// Nothing known of gates counts for a server whose rows may be older.
    pub(crate) fn forget_gates(&self) {
        self.lock().known_gates = KnownGates::default();
        self.gates.forget_versions();
    }

    /// Takes note of what a write of this node or another one has made due. Answers with what gates
    /// have let through since, for which callers of this node may be waiting.
    pub(crate) fn learn(&self, reasons: &WakeReasons) -> WakeReasons {
        let mut state = self.lock();
        let now = state.index.now();
        state.is_stale |= reasons.is_unknown();
        for (range, hint) in reasons.ranges() {
            match &hint.flow_key {
                Some(flow_key) => {
                    state
                        .index
                        .add(*range, || (**flow_key).clone(), hint.run_at);
                }
                None if state.index.knows(range.flow_key) => {
                    state.index.add_known(*range, hint.run_at);
                }
                None if state.unresolved.len() < DUE_CACHE_UNKNOWN_MAX => {
                    state.unresolved.insert(*range);
                }
                None => state.is_stale = true,
            }
        }
        for (range, run_at) in reasons.left() {
            state.index.remove(*range, *run_at);
        }
        for flow_key in reasons.ended() {
            state.index.remove_running(*flow_key, now);
            state.index.order_changed(*flow_key, now);
        }
        let mut opened = WakeReasons::default();
        for (flow_key, at) in state.index.take_wake_list() {
            if let Some(flow_key) = state.index.flow_key(flow_key) {
                opened.jobs_wait(&Lane::from(flow_key), 1, at);
            }
        }
        opened
    }
}

impl DueCacheState {
    /// The gates that hold from now on. Answers with those at which the attempts that run must still
    /// be counted.
    pub(crate) fn set_gates(&mut self, gates: &CurrentGates) -> Option<Arc<Gates>> {
        // Attempts are not counted where the health of a destination decides.
        self.is_uncounted |= self.index.set_gates(&gates.of_claims());
        self.is_uncounted.then(|| self.index.gates().clone())
    }

    /// The attempts that run are counted at these gates.
    pub(crate) fn set_counted(&mut self, gates: &Gates) {
        self.is_uncounted &= !std::ptr::eq(gates, &**self.index.gates());
    }

    /// How long a full scan is put off although something has changed.
    pub(crate) fn sync_pause(&self) -> Option<Duration> {
        let last = self.synced.filter(|_| self.is_stale)?;
        Some(last.stale_pause().saturating_sub(last.at.elapsed()))
    }

    fn sync_state(&self) -> SyncState {
        let Some(last) = self.synced else {
            return SyncState::First;
        };
        let elapsed = last.at.elapsed();
        let is_due =
            elapsed >= DUE_CACHE_SYNC_EVERY && elapsed >= last.took * DUE_CACHE_SYNC_COST_FACTOR;
        let is_urgent = self.is_stale && elapsed >= last.stale_pause();
        let is_few = last.ranges <= DUE_CACHE_RANGES_FEW;
        let is_late = elapsed >= last.took * DUE_CACHE_SYNC_COST_FACTOR + DUE_CACHE_SYNC_LATE;
        match is_due {
            _ if is_urgent => SyncState::Due,
            false => SyncState::NotDue,
            true if is_few || is_late => SyncState::Due,
            true => SyncState::DueInBackground,
        }
    }
}

/// Whether a full scan is due.
#[derive(Debug, PartialEq)]
enum SyncState {
    /// There was none, so nothing is known.
    First,
    /// It is, and there are so many ranges that no claim should wait for it.
    DueInBackground,
    Due,
    NotDue,
}

/// Ranges, as statements take them.
#[derive(Default)]
pub(crate) struct RangeColumns {
    pub lanes: Vec<LaneId>,
    pub flow_keys: Vec<i64>,
    pub levels: Vec<i32>,
}

impl RangeColumns {
    pub(crate) fn of<'s>(ranges: impl Iterator<Item = &'s DueRange>) -> Self {
        let mut columns = Self::default();
        for range in ranges {
            let FlowKeyId { lane, number } = range.flow_key;
            columns.lanes.push(lane);
            columns.flow_keys.push(number);
            let level = i32::try_from(range.level.number());
            columns.levels.push(level.unwrap_or(i32::MAX));
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_claim_waits_for_a_scan_of_many_ranges_unless_something_has_changed() {
        let cache = DueCache::default();
        let mut state = cache.lock();
        assert_eq!(state.sync_state(), SyncState::First);
        let mut after = |pause, ranges, is_stale| {
            state.is_stale = is_stale;
            let at = Instant::now().checked_sub(pause);
            state.synced = at.map(|at| LastSync {
                at,
                took: Duration::ZERO,
                ranges,
            });
            state.sync_state()
        };
        let (few, many) = (DUE_CACHE_RANGES_FEW, DUE_CACHE_RANGES_FEW + 1);
        for (pause, ranges, is_stale, expected) in [
            (Duration::ZERO, many, false, SyncState::NotDue),
            (DUE_CACHE_SYNC_EVERY, few, false, SyncState::Due),
            (
                DUE_CACHE_SYNC_EVERY,
                many,
                false,
                SyncState::DueInBackground,
            ),
            (DUE_CACHE_SYNC_EVERY, many, true, SyncState::Due),
            // The upkeep does not come to it.
            (DUE_CACHE_SYNC_LATE, many, false, SyncState::Due),
        ] {
            let found = after(pause, ranges, is_stale);
            assert_eq!(found, expected, "{pause:?} {ranges} {is_stale}");
        }
    }
}
