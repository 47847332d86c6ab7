//! Counts by lane, from stored counters; only of the present minute rows are counted.

use std::collections::HashMap;

use rusqlite::{Connection, Statement, params};
use steadfast_core::{Kind, Queue, Tally, Tenant, Timestamp};

use crate::drivers::sqlite::{driver_error::DriverError, readers::Reader, values::time};
use crate::{
    drivers::sql::{
        columns::{CounterColumns, LaneColumns, TallyColumns},
        counters::{self, LaneCounters, WaitingCount},
        rows,
        waiting::{LaneWaiting, PresentMinute, present_rows_limit},
    },
    lane::LaneId,
    limits::RANGES_OF_LANE_MAX,
    minutes::{minute, minute_start},
    store::{JobFilter, LaneStats, MinuteStats},
};

pub(crate) fn lane_stats(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, DriverError> {
    // One snapshot, or the parts would not add up.
    let snapshot = reader.conn.unchecked_transaction()?;
    let recent = recent(&snapshot, tenant, since)?;
    let of_tenant = JobFilter {
        tenant: tenant.cloned(),
        ..JobFilter::default()
    };
    let mut counters = lane_counters(&snapshot, &of_tenant)?;
    counters.retain(|(_, counters)| !counters.is_empty());
    let present = PresentMinute::at(now);
    let waiting = waiting_minutes(&snapshot, tenant, present, &counters)?;
    let limit = present_rows_limit(waiting.values().filter(|lane| lane.is_in_present()).count());
    let mut all = Vec::with_capacity(counters.len());
    for (lane, LaneCounters { mut stats, .. }) in counters {
        let waiting = waiting.get(&lane).copied().unwrap_or_default();
        let mut due = WaitingCount::default();
        if waiting.may_be_due() {
            let heads = heads(&snapshot, lane)?;
            if waiting.is_in_present() {
                let count = PresentCount {
                    conn: &snapshot,
                    lane,
                    present,
                    limit,
                };
                due = count.due(waiting.present, &heads)?;
            }
            let earliest = heads.iter().map(|head| head.run_at).min();
            stats.oldest_ready = earliest.filter(|run_at| *run_at <= now);
        }
        waiting.put(due, &mut stats);
        stats.recent = recent.get(&lane).copied().unwrap_or_default();
        all.push(stats);
    }
    Ok(all)
}

/// The waiting jobs of lanes, by whether their minute is past.
fn waiting_minutes(
    conn: &Connection,
    tenant: Option<&Tenant>,
    present: PresentMinute,
    lanes: &[(LaneId, LaneCounters)],
) -> Result<HashMap<LaneId, LaneWaiting>, DriverError> {
    let mut waiting = LaneWaiting::of_lanes(lanes);
    let mut statement = conn.prepare_cached(include_str!("stats/stats_minutes.sql"))?;
    let mut rows = statement.query(params![present.number, tenant.map(Tenant::as_str)])?;
    while let Some(row) = rows.next()? {
        let lane: &mut LaneWaiting = waiting.entry(row.get("lane")?).or_default();
        let part = if row.get("present")? {
            &mut lane.present
        } else {
            &mut lane.before
        };
        *part = WaitingCount {
            waiting: row.get("waiting")?,
            retrying: row.get("retrying")?,
        };
    }
    Ok(waiting)
}

/// A flow key and level of a lane, with its earliest waiting job.
struct LaneHead {
    flow_key: i64,
    level: i64,
    run_at: Timestamp,
}

/// The earliest waiting job of each flow key and level of a lane, up to a limit.
fn heads(conn: &Connection, lane: LaneId) -> Result<Vec<LaneHead>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("stats/stats_head.sql"))?;
    let mut heads = Vec::new();
    let mut after = (i64::MIN, -1);
    while heads.len() < RANGES_OF_LANE_MAX {
        let mut rows = statement.query(params![lane, after.0, after.1])?;
        let Some(row) = rows.next()? else { break };
        after = (row.get("flow_key")?, row.get("level")?);
        heads.push(LaneHead {
            flow_key: after.0,
            level: after.1,
            run_at: time(row.get("run_at")?),
        });
    }
    Ok(heads)
}

/// Counts the jobs of one lane in the present minute.
struct PresentCount<'c> {
    conn: &'c Connection,
    lane: LaneId,
    present: PresentMinute,
    limit: i64,
}

impl PresentCount<'_> {
    /// How many of them are due.
    fn due(&self, all: WaitingCount, heads: &[LaneHead]) -> Result<WaitingCount, DriverError> {
        let PresentMinute {
            start, later, end, ..
        } = self.present;
        let (limit, any, retries) = (self.limit, |_| true, |level| level % 2 == 1);
        let mut due = WaitingCount::default();
        if all.waiting != 0 {
            let due_rows = || self.count(heads, any, start, later);
            let later_rows = self.count(heads, any, later, end)?;
            due.waiting = self.present.due(all.waiting, limit, later_rows, due_rows)?;
        }
        if all.retrying != 0 {
            let due_rows = || self.count(heads, retries, start, later);
            let later_rows = self.count(heads, retries, later, end)?;
            due.retrying = self
                .present
                .due(all.retrying, limit, later_rows, due_rows)?;
        }
        Ok(due)
    }

    /// How many wait for a time within a range, at the levels that are asked for.
    fn count(
        &self,
        heads: &[LaneHead],
        is_asked: impl Fn(i64) -> bool,
        from: i64,
        before: i64,
    ) -> Result<i64, DriverError> {
        // There are more than were looked at, so how many is not known.
        if heads.len() >= RANGES_OF_LANE_MAX {
            return Ok(self.limit);
        }
        let mut count = 0;
        for head in heads.iter().filter(|head| is_asked(head.level)) {
            if head.run_at.as_micros() >= before || count >= self.limit {
                continue;
            }
            let limit = self.limit - count;
            count += self
                .conn
                .prepare_cached(include_str!("stats/stats_waiting.sql"))?
                .query_row(
                    params![self.lane, head.flow_key, head.level, from, before, limit],
                    |row| row.get::<_, i64>(0),
                )?;
        }
        Ok(count)
    }
}

/// How many jobs match, if the counters tell.
pub(crate) fn count(reader: &mut Reader, filter: &JobFilter) -> Result<Option<u64>, DriverError> {
    if !counters::can_count(filter) {
        return Ok(None);
    }
    let lanes = lane_counters(&reader.conn, filter)?.into_iter();
    Ok(Some(counters::count(filter, lanes.map(|(_, lane)| lane))))
}

/// The counters of the lanes that a filter names.
pub(crate) fn lane_counters(
    conn: &Connection,
    filter: &JobFilter,
) -> Result<Vec<(LaneId, LaneCounters)>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("stats/stats_lanes.sql"))?;
    let lane_columns = LaneColumns::find(statement.column_names())?;
    let columns = CounterColumns::find(statement.column_names())?;
    let tally_columns = tally_columns(&statement)?;
    let mut rows = statement.query(params![
        filter.tenant.as_ref().map(Tenant::as_str),
        filter.queue.as_ref().map(Queue::as_str),
        filter.kind.as_ref().map(Kind::as_str),
    ])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        // One that cannot be read is noted where its jobs are claimed and listed.
        let Ok(lane) = rows::lane(row, &lane_columns) else {
            continue;
        };
        let counters = LaneCounters::read(row, &lane, &columns, &tally_columns)?;
        all.push((row.get(lane_columns.id)?, counters));
    }
    Ok(all)
}

fn recent(
    conn: &Connection,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<HashMap<LaneId, Tally>, DriverError> {
    let mut statement = conn.prepare_cached(include_str!("stats/stats_recent.sql"))?;
    let columns = tally_columns(&statement)?;
    let mut rows = statement.query(params![minute(since), tenant.map(Tenant::as_str)])?;
    let mut recent = HashMap::new();
    while let Some(row) = rows.next()? {
        recent.insert(row.get("lane")?, counters::tally(row, &columns)?);
    }
    Ok(recent)
}

pub(crate) fn minute_stats(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, DriverError> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("stats/minute_stats.sql"))?;
    let columns = tally_columns(&statement)?;
    let mut rows = statement.query(params![minute(since), tenant.map(Tenant::as_str)])?;
    let mut minutes = Vec::new();
    while let Some(row) = rows.next()? {
        minutes.push(MinuteStats {
            at: minute_start(row.get("minute")?),
            tally: counters::tally(row, &columns)?,
        });
    }
    Ok(minutes)
}

pub(crate) fn tally_columns(statement: &Statement<'_>) -> Result<TallyColumns, DriverError> {
    Ok(TallyColumns::find(statement.column_names())?)
}
