//! Scans of the due ranges that fill a node's cache.

use std::time::Instant;

use steadfast_core::{ConcurrencyKey, Destination, FlowKey, Timestamp};
use tokio_postgres::Row;

use super::{DueCache, LastSync, RangeColumns, SyncState};
use crate::drivers::postgres::{
    driver_error::{DriverError, pass_over},
    names::load_lanes,
    session::Session,
    values::{parse_option, time},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    lane::{Lane, LaneId},
    limits::{DUE_CACHE_RANGES_FEW, DUE_CACHE_SLICE, DUE_CACHE_UNKNOWN_MAX},
    wake::WakeReasons,
};

impl DueCache {
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
        let sql = include_str!("sync/due_found.sql");
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

/// Lane, flow key and level before those of the first range.
const SLICE_FIRST: (LaneId, i64, i32) = (0, i64::MIN, -1);

/// The ranges that come next in a look at all of them.
async fn next_slice(
    session: &Session<'_>,
    after: &mut (LaneId, i64, i32),
) -> Result<Vec<Row>, DriverError> {
    let sql = include_str!("sync/due_ranges.sql");
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

fn read_flow_key(row: &Row, lane: &Lane) -> Result<FlowKey, DriverError> {
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
