//! Counts by lane. Most are stored as counters; only what depends on the time is counted here.

use std::collections::{HashMap, HashSet};

use steadfast_core::{Queue, Tally, Tenant, Timestamp};
use tokio_postgres::Row;

use super::{
    damage::pass_over,
    driver_error::DriverError,
    names::LaneId,
    numbering::load_lanes,
    session::{Conn, Session},
    values::{parse, time_option},
};
use crate::{
    limits::{COUNT_FIRST, COUNT_GROWTH},
    minutes::{minute, minute_start},
    sql::{
        columns::{CounterColumns, TallyColumns},
        counters::{self, LaneCounters},
        values::unsigned,
    },
    store::{JobFilter, LaneStats, MinuteStats},
};

pub(super) async fn lane_stats(
    conn: &mut Conn<'_>,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, DriverError> {
    // One snapshot, or the parts would not add up.
    let snapshot = conn.snapshot().await?;
    let session = snapshot.session();
    let counters = lane_counters(&session).await?;
    let recent = recent(&session, since).await?;
    let paused = paused(&session).await?;
    let busy: HashMap<LaneId, u64> = counters
        .iter()
        .filter(|(_, counters)| counters.waiting > 0)
        .map(|(lane, counters)| (*lane, counters.waiting))
        .collect();
    let waiting = count_waiting(&session, busy, now).await?;
    snapshot.commit().await?;

    let mut all = Vec::new();
    for (lane, LaneCounters { mut stats, .. }) in counters {
        if let Some(waiting) = waiting.get(&lane) {
            stats.ready = waiting.ready;
            stats.retrying = waiting.retrying;
            stats.scheduled = waiting.later.saturating_sub(waiting.retrying);
            stats.oldest_ready = waiting.earliest.filter(|run_at| *run_at <= now);
        }
        stats.recent = recent.get(&lane).copied().unwrap_or_default();
        stats.paused = paused.contains(&(stats.tenant.clone(), stats.queue.clone()));
        all.push(stats);
    }
    all.sort_by(|a, b| (&a.tenant, &a.queue, &a.kind).cmp(&(&b.tenant, &b.queue, &b.kind)));
    Ok(all)
}

/// How many jobs match, if the counters tell.
pub(super) async fn count(
    session: &Session<'_>,
    filter: &JobFilter,
) -> Result<Option<u64>, DriverError> {
    if !counters::can_count(filter) {
        return Ok(None);
    }
    let lanes = lane_counters(session).await?.into_iter();
    Ok(Some(counters::count(filter, lanes.map(|(_, lane)| lane))))
}

/// The counters of all lanes that have any.
async fn lane_counters(session: &Session<'_>) -> Result<Vec<(LaneId, LaneCounters)>, DriverError> {
    let rows = session
        .query(include_str!("sql/stats_lanes.sql"), &[])
        .await?;
    let lanes = load_lanes(session).await?;
    let mut all = Vec::with_capacity(rows.len());
    let Some(first) = rows.first() else {
        return Ok(all);
    };
    let columns = CounterColumns::find(first.columns().iter().map(|column| column.name()))?;
    let tally_columns = tally_columns(first)?;
    for row in &rows {
        let id = row.try_get("lane")?;
        let Some(lane) = lanes.get(&id) else {
            continue;
        };
        let mut stats = lane.empty_stats();
        stats.running = number(row, columns.running)?;
        stats.succeeded = number(row, columns.succeeded)?;
        stats.failed = number(row, columns.failed)?;
        stats.cancelled = number(row, columns.cancelled)?;
        stats.dead_letters = number(row, columns.dead_letters)?;
        stats.total = tally(row, &tally_columns)?;
        let waiting = number(row, columns.waiting)?;
        let counters = LaneCounters { waiting, stats };
        if !counters.is_empty() {
            all.push((id, counters));
        }
    }
    Ok(all)
}

async fn recent(
    session: &Session<'_>,
    since: Timestamp,
) -> Result<HashMap<LaneId, Tally>, DriverError> {
    let sql = include_str!("sql/stats_recent.sql");
    let rows = session.query(sql, &[&minute(since)]).await?;
    let Some(first) = rows.first() else {
        return Ok(HashMap::new());
    };
    let columns = tally_columns(first)?;
    rows.iter()
        .map(|row| Ok((row.try_get("lane")?, tally(row, &columns)?)))
        .collect()
}

pub(super) async fn minute_stats(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, DriverError> {
    let sql = include_str!("sql/minute_stats.sql");
    let tenant = tenant.map(Tenant::as_str);
    let rows = session.query(sql, &[&minute(since), &tenant]).await?;
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let columns = tally_columns(first)?;
    rows.iter()
        .map(|row| {
            let at = minute_start(row.try_get("minute")?);
            let tally = tally(row, &columns)?;
            Ok(MinuteStats { at, tally })
        })
        .collect()
}

async fn paused(session: &Session<'_>) -> Result<HashSet<(Tenant, Queue)>, DriverError> {
    let rows = session.query(include_str!("sql/paused.sql"), &[]).await?;
    let mut paused = HashSet::new();
    for (number, row) in rows.iter().enumerate() {
        let read = parse(row, "tenant", "tenant", Tenant::new).and_then(|tenant| {
            let queue = parse(row, "queue", "queue", Queue::new)?;
            Ok((tenant, queue))
        });
        paused.extend(pass_over(read, &session.shared.damage, "paused", number)?);
    }
    Ok(paused)
}

/// The waiting jobs of a lane, by whether they are due.
struct WaitingCounts {
    ready: u64,
    later: u64,
    retrying: u64,
    earliest: Option<Timestamp>,
}

/// Which of the waiting jobs of lanes are due. Millions may be, or millions may not; what is due
/// and what is not are counted by turns, so that only the smaller of the two is counted in full.
async fn count_waiting(
    session: &Session<'_>,
    mut lanes: HashMap<LaneId, u64>,
    now: Timestamp,
) -> Result<HashMap<LaneId, WaitingCounts>, DriverError> {
    let mut counted = HashMap::new();
    let mut most = COUNT_FIRST;
    while !lanes.is_empty() {
        let ids: Vec<LaneId> = lanes.keys().copied().collect();
        let sql = include_str!("sql/stats_waiting.sql");
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = session
            .query(sql, &[&ids, &now.as_micros(), &limit])
            .await?;
        for row in rows {
            let lane = row.try_get("lane")?;
            let all = lanes.get(&lane).copied().unwrap_or_default();
            let (ready, later) = (named_number(&row, "ready")?, named_number(&row, "later")?);
            let (ready, later) = match (ready < most, later < most) {
                (true, true) => (ready, later),
                (true, false) => (ready, all.saturating_sub(ready)),
                (false, true) => (all.saturating_sub(later), later),
                (false, false) => continue,
            };
            let waiting = WaitingCounts {
                ready,
                later,
                retrying: named_number(&row, "retrying")?,
                earliest: time_option(&row, "earliest")?,
            };
            lanes.remove(&lane);
            counted.insert(lane, waiting);
        }
        most = most.saturating_mul(COUNT_GROWTH);
    }
    Ok(counted)
}

fn tally_columns(row: &Row) -> Result<TallyColumns, DriverError> {
    let names = row.columns().iter().map(|column| column.name());
    Ok(TallyColumns::find(names)?)
}

fn tally(row: &Row, columns: &TallyColumns) -> Result<Tally, DriverError> {
    Ok(Tally {
        attempts: number(row, columns.attempts)?,
        successes: number(row, columns.successes)?,
        failures: number(row, columns.failures)?,
        retries: number(row, columns.retries)?,
        successful_retries: number(row, columns.successful_retries)?,
        exhausted: number(row, columns.exhausted)?,
    })
}

fn number(row: &Row, column: usize) -> Result<u64, DriverError> {
    Ok(unsigned(row.try_get(column)?))
}

fn named_number(row: &Row, column: &str) -> Result<u64, DriverError> {
    Ok(unsigned(row.try_get(column)?))
}
