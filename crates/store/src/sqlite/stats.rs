//! Counts by lane. Most are stored as counters; only what depends on the time is counted here.

use std::collections::HashMap;

use rusqlite::{Connection, Row, Statement, params};
use steadfast_core::{Kind, Queue, Tally, Tenant, Timestamp};

use super::{
    driver_error::DriverError,
    names::LaneId,
    readers::Reader,
    values::{parse, time},
};
use crate::{
    lane::Lane,
    limits::{COUNT_FIRST, COUNT_GROWTH},
    minutes::{minute, minute_start},
    sql::{
        columns::{CounterColumns, TallyColumns, columns},
        counters::{self, LaneCounters},
        values::unsigned,
    },
    store::{JobFilter, LaneStats, MinuteStats},
};

columns! {
    struct LaneColumns { id, tenant, queue, kind, paused }
}

pub(super) fn lane_stats(
    reader: &mut Reader,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, DriverError> {
    // One snapshot, or the parts would not add up.
    let snapshot = reader.conn.unchecked_transaction()?;
    let recent = recent(&snapshot, since)?;
    let mut all = Vec::new();
    for (lane, counters) in lane_counters(&snapshot)? {
        if counters.is_empty() {
            continue;
        }
        let LaneCounters { waiting, mut stats } = counters;
        if waiting > 0 {
            stats.ready = count_ready(&snapshot, lane, waiting, now)?;
            stats.retrying = count_retrying(&snapshot, lane, now)?;
            let later = waiting.saturating_sub(stats.ready);
            stats.scheduled = later.saturating_sub(stats.retrying);
            stats.oldest_ready = earliest(&snapshot, lane)?.filter(|run_at| *run_at <= now);
        }
        stats.recent = recent.get(&lane).copied().unwrap_or_default();
        all.push(stats);
    }
    Ok(all)
}

/// How many jobs match, if the counters tell.
pub(super) fn count(reader: &mut Reader, filter: &JobFilter) -> Result<Option<u64>, DriverError> {
    if !counters::can_count(filter) {
        return Ok(None);
    }
    let lanes = lane_counters(&reader.conn)?.into_iter();
    Ok(Some(counters::count(filter, lanes.map(|(_, lane)| lane))))
}

fn lane_counters(conn: &Connection) -> Result<Vec<(LaneId, LaneCounters)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/stats_lanes.sql"))?;
    let lane_columns = LaneColumns::find(statement.column_names())?;
    let columns = CounterColumns::find(statement.column_names())?;
    let tally_columns = tally_columns(&statement)?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        // One that cannot be read is noted where its jobs are claimed and listed.
        let Ok(lane) = read_lane(&lane_columns, row) else {
            continue;
        };
        let mut stats = lane.empty_stats();
        stats.paused = row.get(lane_columns.paused)?;
        stats.running = number(row, columns.running)?;
        stats.succeeded = number(row, columns.succeeded)?;
        stats.failed = number(row, columns.failed)?;
        stats.cancelled = number(row, columns.cancelled)?;
        stats.dead_letters = number(row, columns.dead_letters)?;
        stats.total = tally(row, &tally_columns)?;
        let waiting = number(row, columns.waiting)?;
        all.push((row.get(lane_columns.id)?, LaneCounters { waiting, stats }));
    }
    Ok(all)
}

fn read_lane(columns: &LaneColumns, row: &Row<'_>) -> Result<Lane, DriverError> {
    Ok(Lane {
        tenant: parse(row, columns.tenant, "tenant", Tenant::new)?,
        queue: parse(row, columns.queue, "queue", Queue::new)?,
        kind: parse(row, columns.kind, "kind", Kind::new)?,
    })
}

fn recent(conn: &Connection, since: Timestamp) -> Result<HashMap<LaneId, Tally>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/stats_recent.sql"))?;
    let columns = tally_columns(&statement)?;
    let mut rows = statement.query([minute(since)])?;
    let mut recent = HashMap::new();
    while let Some(row) = rows.next()? {
        recent.insert(row.get("lane")?, tally(row, &columns)?);
    }
    Ok(recent)
}

pub(super) fn minute_stats(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, DriverError> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/minute_stats.sql"))?;
    let columns = tally_columns(&statement)?;
    let mut rows = statement.query(params![minute(since), tenant.map(Tenant::as_str)])?;
    let mut minutes = Vec::new();
    while let Some(row) = rows.next()? {
        minutes.push(MinuteStats {
            at: minute_start(row.get("minute")?),
            tally: tally(row, &columns)?,
        });
    }
    Ok(minutes)
}

/// How many of the waiting jobs are due. Millions may be, or millions may not; what is due and
/// what is not are counted by turns, so that only the smaller of the two is counted in full.
fn count_ready(
    conn: &Connection,
    lane: LaneId,
    waiting: u64,
    now: Timestamp,
) -> Result<u64, DriverError> {
    let count = |sql: &str, most: u64| -> Result<u64, DriverError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let count = conn
            .prepare_cached(sql)?
            .query_row(params![lane, now.as_micros(), most], |row| number(row, 0))?;
        Ok(count)
    };
    let mut most = COUNT_FIRST;
    loop {
        let ready = count(include_str!("sql/stats_ready.sql"), most)?;
        if ready < most {
            return Ok(ready);
        }
        let later = count(include_str!("sql/stats_later.sql"), most)?;
        if later < most {
            return Ok(waiting.saturating_sub(later));
        }
        most = most.saturating_mul(COUNT_GROWTH);
    }
}

fn count_retrying(conn: &Connection, lane: LaneId, now: Timestamp) -> Result<u64, DriverError> {
    let count = conn
        .prepare_cached(include_str!("sql/stats_retrying.sql"))?
        .query_row(params![lane, now.as_micros()], |row| number(row, 0))?;
    Ok(count)
}

/// The earliest `runAt` of a lane.
fn earliest(conn: &Connection, lane: LaneId) -> Result<Option<Timestamp>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("sql/claim_bounds.sql"))?;
    let mut rows = statement.query([lane])?;
    let mut earliest = None;
    while let Some(row) = rows.next()? {
        let run_at = row.get::<_, Option<i64>>("run_at")?.map(time);
        earliest = earliest.into_iter().chain(run_at).min();
    }
    Ok(earliest)
}

fn tally_columns(statement: &Statement<'_>) -> Result<TallyColumns, DriverError> {
    Ok(TallyColumns::find(statement.column_names())?)
}

fn tally(row: &Row<'_>, columns: &TallyColumns) -> rusqlite::Result<Tally> {
    Ok(Tally {
        attempts: number(row, columns.attempts)?,
        successes: number(row, columns.successes)?,
        failures: number(row, columns.failures)?,
        retries: number(row, columns.retries)?,
        successful_retries: number(row, columns.successful_retries)?,
        exhausted: number(row, columns.exhausted)?,
    })
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(unsigned(row.get(column)?))
}
