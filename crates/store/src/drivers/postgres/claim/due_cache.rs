//! A node's cache of the due ranges.
//!
//! The rows decide; this says where to search. It learns from the writes of this node, from the
//! notifications of others, and from what claims find. A notification is lost if its node dies before
//! it is sent; a full scan of all ranges finds such jobs. It runs often while there are few ranges.
//! While there are many, it runs in the background and takes a small part of the time.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::{ConcurrencyKey, Destination, FlowKey, Gates, Timestamp};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    damage::pass_over,
    driver_error::DriverError,
    known_gates::KnownGates,
    names::load_lanes,
    session::Session,
    values::{parse_option, time},
};
use crate::{
    claim::{DueIndex, DueRange, FlowKeyId, Level, Writers},
    drivers::current_gates::CurrentGates,
    lane::{Lane, LaneId},
    limits::{
        DUE_CACHE_RANGES_FEW, DUE_CACHE_SLICE, DUE_CACHE_STALE_COST_FACTOR,
        DUE_CACHE_SYNC_COST_FACTOR, DUE_CACHE_SYNC_EVERY, DUE_CACHE_SYNC_LATE,
        DUE_CACHE_UNKNOWN_MAX,
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

    /// Brings this up to what a claim needs.
    pub(crate) async fn refresh(&self, session: &Session<'_>) -> Result<(), DriverError> {
        let unresolved: Vec<DueRange> = self.lock().unresolved.drain().collect();
        if !unresolved.is_empty() {
            self.look_up(session, &unresolved).await?;
        }
        let sync = self.lock().sync_state();
        match sync {
            SyncState::NotDue => Ok(()),
            SyncState::DueInBackground => {
                self.lock().full_scan_due = true;
                Ok(())
            }
            SyncState::Due => self.sync_alone(session).await,
            SyncState::First => {
                let _turn = self.sync.lock().await;
                // Another caller may have done it meanwhile.
                let is_first = self.lock().synced.is_none();
                match is_first {
                    true => self.sync(session).await,
                    false => Ok(()),
                }
            }
        }
    }

    /// Looks at all ranges for a caller that takes no for an answer, if there are few. Says whether
    /// that was done. Callers that come meanwhile share the next look.
    pub(crate) async fn refresh_few(&self, session: &Session<'_>) -> Result<bool, DriverError> {
        let asked_at = Instant::now();
        let _turn = self.sync.lock().await;
        let last = self.lock().synced;
        match last {
            Some(last) if last.ranges > DUE_CACHE_RANGES_FEW => Ok(false),
            Some(last) if last.began_at().is_some_and(|began_at| began_at > asked_at) => Ok(true),
            _ => self.sync(session).await.map(|()| true),
        }
    }

    /// Looks at all ranges if claims have found that to be due and have not waited for it.
    pub(crate) async fn refresh_in_background(
        &self,
        session: &Session<'_>,
    ) -> Result<(), DriverError> {
        let full_scan_due = self.lock().full_scan_due;
        match full_scan_due {
            true => self.sync_alone(session).await,
            false => Ok(()),
        }
    }

    async fn sync_alone(&self, session: &Session<'_>) -> Result<(), DriverError> {
        match self.sync.try_lock() {
            Ok(_turn) => self.sync(session).await,
            Err(_) => Ok(()),
        }
    }

    async fn look_up(&self, session: &Session<'_>, ranges: &[DueRange]) -> Result<(), DriverError> {
        let columns = RangeColumns::of(ranges.iter());
        let sql = include_str!("due_cache/due_found.sql");
        let rows = session
            .query(sql, &[&columns.lanes, &columns.flow_keys, &columns.levels])
            .await?;
        self.add_rows(session, &rows).await
    }

    /// Looks at all ranges.
    async fn sync(&self, session: &Session<'_>) -> Result<(), DriverError> {
        let started = Instant::now();
        // What comes from here on makes it stale again.
        {
            let mut state = self.lock();
            (state.is_stale, state.full_scan_due) = (false, false);
        }
        let found = self.sync_all(session).await;
        let mut state = self.lock();
        match &found {
            Ok(ranges) => {
                state.synced = Some(LastSync {
                    at: Instant::now(),
                    took: started.elapsed(),
                    ranges: *ranges,
                });
                let now = session.shared.clock.now();
                state.index.forget_idle(now);
                state.known_gates.forget_unused(now);
            }
            Err(_) => state.is_stale = true,
        }
        found.map(drop)
    }

    /// Answers how many ranges there are.
    async fn sync_all(&self, session: &Session<'_>) -> Result<usize, DriverError> {
        let (mut after, mut ranges) = (SLICE_FIRST, 0);
        loop {
            let rows = next_slice(session, &mut after).await?;
            self.add_rows(session, &rows).await?;
            match rows.len() {
                0 => return Ok(ranges),
                found => ranges += found,
            }
        }
    }

    async fn add_rows(&self, session: &Session<'_>, rows: &[Row]) -> Result<(), DriverError> {
        for (row, flow_key) in self.read_flow_keys(session, rows).await? {
            if let Some((range, run_at)) = read_range(row)? {
                self.lock().index.add(range, || flow_key, run_at);
            }
        }
        Ok(())
    }

    /// Looks at all ranges, because nobody says what other nodes have changed, and answers where jobs
    /// wait that were not known. With many ranges it pauses between two looks.
    ///
    /// A claim may have taken such a job meanwhile, so the next claim looks again.
    pub(crate) async fn poll(&self, session: &Session<'_>) -> Result<WakeReasons, DriverError> {
        let mut found = WakeReasons::default();
        let last = self.lock().polled;
        if last.is_some_and(|last| last.at.elapsed() < last.stale_pause()) {
            return Ok(found);
        }
        let started = Instant::now();
        let (mut after, mut ranges) = (SLICE_FIRST, 0);
        loop {
            let rows = next_slice(session, &mut after).await?;
            for (row, flow_key) in self.read_flow_keys(session, &rows).await? {
                let Some((range, run_at)) = read_range(row)? else {
                    continue;
                };
                let mut state = self.lock();
                let is_known = state.index.bound(range).is_some_and(|(at, _)| at <= run_at);
                if is_known {
                    continue;
                }
                match state.unresolved.len() < DUE_CACHE_UNKNOWN_MAX {
                    true => drop(state.unresolved.insert(range)),
                    false => state.is_stale = true,
                }
                found.jobs_wait(&Lane::from(&flow_key), 1, run_at);
            }
            ranges += rows.len();
            if rows.is_empty() {
                break;
            }
        }
        self.lock().polled = Some(LastSync {
            at: Instant::now(),
            took: started.elapsed(),
            ranges,
        });
        Ok(found)
    }

    /// The flow keys of rows; those that cannot be read are left out.
    pub(crate) async fn read_flow_keys<'r>(
        &self,
        session: &Session<'_>,
        rows: &'r [Row],
    ) -> Result<Vec<(&'r Row, FlowKey)>, DriverError> {
        let names = &session.shared.names;
        let mut is_reloaded = false;
        let mut read = Vec::with_capacity(rows.len());
        for row in rows {
            let lane: LaneId = row.try_get("lane")?;
            if names.lane(lane).is_none() && !is_reloaded {
                load_lanes(session, None).await?;
                is_reloaded = true;
            }
            let Some(known) = names.lane(lane) else {
                continue;
            };
            let id = format_args!("of lane {lane}");
            let flow_key = read_flow_key(row, &known);
            let flow_key = pass_over(flow_key, &session.shared.damage, "flow key", id)?;
            read.extend(flow_key.map(|flow_key| (row, flow_key)));
        }
        Ok(read)
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

/// Lane, flow key and level before those of the first range.
const SLICE_FIRST: (LaneId, i64, i32) = (0, i64::MIN, -1);

/// The ranges that come next in a look at all of them.
async fn next_slice(
    session: &Session<'_>,
    after: &mut (LaneId, i64, i32),
) -> Result<Vec<Row>, DriverError> {
    let sql = include_str!("due_cache/due_ranges.sql");
    let rows = session
        .query(sql, &[&after.0, &after.1, &after.2, &DUE_CACHE_SLICE])
        .await?;
    if let Some(last) = rows.last() {
        *after = (
            last.try_get("lane")?,
            last.try_get("flow_key")?,
            last.try_get("level")?,
        );
    }
    Ok(rows)
}

/// A range with the time of its first job.
fn read_range(row: &Row) -> Result<Option<(DueRange, Timestamp)>, DriverError> {
    let level: i32 = row.try_get("level")?;
    let Some(level) = Level::from_number(level.into()) else {
        return Ok(None);
    };
    let flow_key = FlowKeyId {
        lane: row.try_get("lane")?,
        number: row.try_get("flow_key")?,
    };
    let range = DueRange { flow_key, level };
    Ok(Some((range, time(row.try_get("run_at")?))))
}

fn read_flow_key(row: &Row, lane: &crate::lane::Lane) -> Result<FlowKey, DriverError> {
    Ok(FlowKey {
        tenant: lane.tenant.clone(),
        queue: lane.queue.clone(),
        kind: lane.kind.clone(),
        destination: parse_option(row, "destination", "destination", Destination::new)?,
        concurrency_key: parse_option(
            row,
            "concurrency_key",
            "concurrency key",
            ConcurrencyKey::new,
        )?,
    })
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
