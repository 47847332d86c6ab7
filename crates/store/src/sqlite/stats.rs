//! Counts by lane. Most are kept as counters; only what depends on the time is counted here.

use std::collections::HashMap;

use rusqlite::{Connection, Row, params};
use steadfast_core::{JobLabel, Kind, Queue, Tally, Tenant, Timestamp};

use super::{
    counts::minute,
    fault::Fault,
    names::LaneId,
    readers::Reader,
    rows::{parsed, time},
};
use crate::{JobFilter, LaneStats, MinuteStats};

/// Where counting by turns starts, and how it grows.
const COUNTED_FIRST: u64 = 1_000;
const COUNTED_FACTOR: u64 = 8;

pub(super) fn stats(
    reader: &mut Reader,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, Fault> {
    // One snapshot, or the parts would not add up.
    let snapshot = reader.conn.unchecked_transaction()?;
    let recent = recent(&snapshot, since)?;
    let mut stats = Vec::new();
    for Counters {
        lane,
        waiting,
        mut counted,
    } in counters(&snapshot)?
    {
        if is_empty(&counted, waiting) {
            continue;
        }
        if waiting > 0 {
            counted.ready = ready(&snapshot, lane, waiting, now)?;
            counted.retrying = retrying(&snapshot, lane, now)?;
            let later = waiting.saturating_sub(counted.ready);
            counted.scheduled = later.saturating_sub(counted.retrying);
            counted.oldest_ready = oldest(&snapshot, lane)?.filter(|run_at| *run_at <= now);
        }
        counted.recent = recent.get(&lane).copied().unwrap_or_default();
        stats.push(counted);
    }
    Ok(stats)
}

/// How many jobs match, where the counters know.
pub(super) fn count(reader: &mut Reader, filter: &JobFilter) -> Result<Option<u64>, Fault> {
    let by_counters = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        label: filter.label,
        dead_letters: filter.dead_letters,
        ..JobFilter::default()
    };
    if *filter != by_counters {
        return Ok(None);
    }
    let mut total = 0;
    for lane in counters(&reader.conn)? {
        let counted = &lane.counted;
        let is_meant = filter
            .tenant
            .as_ref()
            .is_none_or(|wanted| *wanted == counted.tenant)
            && filter
                .queue
                .as_ref()
                .is_none_or(|wanted| *wanted == counted.queue)
            && filter
                .kind
                .as_ref()
                .is_none_or(|wanted| *wanted == counted.kind);
        if !is_meant {
            continue;
        }
        total += match (filter.label, filter.dead_letters) {
            (None | Some(JobLabel::Failed), true) => counted.dead_letters,
            (Some(_), true) => 0,
            (None, false) => lane.all(),
            (Some(JobLabel::Running), false) => counted.running,
            (Some(JobLabel::Succeeded), false) => counted.succeeded,
            (Some(JobLabel::Failed), false) => counted.failed,
            (Some(JobLabel::Cancelled), false) => counted.cancelled,
            (Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying), false) => {
                return Ok(None);
            }
        };
    }
    Ok(Some(total))
}

struct Counters {
    lane: LaneId,
    waiting: u64,
    counted: LaneStats,
}

impl Counters {
    fn all(&self) -> u64 {
        let LaneStats {
            running,
            succeeded,
            failed,
            cancelled,
            ..
        } = self.counted;
        self.waiting + running + succeeded + failed + cancelled
    }

    fn read(row: &Row<'_>) -> Result<Self, Fault> {
        let missing = || Fault::unreadable("lane", "it has no name");
        Ok(Self {
            lane: row.get(0)?,
            waiting: number(row, 5)?,
            counted: LaneStats {
                tenant: parsed(row, 1, "tenant", Tenant::new)?.ok_or_else(missing)?,
                queue: parsed(row, 2, "queue", Queue::new)?.ok_or_else(missing)?,
                kind: parsed(row, 3, "kind", Kind::new)?.ok_or_else(missing)?,
                paused: row.get(4)?,
                scheduled: 0,
                ready: 0,
                retrying: 0,
                running: number(row, 6)?,
                succeeded: number(row, 7)?,
                failed: number(row, 8)?,
                cancelled: number(row, 9)?,
                dead_letters: number(row, 10)?,
                oldest_ready: None,
                total: tally(row, 11)?,
                recent: Tally::default(),
            },
        })
    }
}

fn counters(conn: &Connection) -> Result<Vec<Counters>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/stats_lanes.sql"))?;
    let mut rows = statement.query([])?;
    let mut counters = Vec::new();
    while let Some(row) = rows.next()? {
        counters.push(Counters::read(row)?);
    }
    Ok(counters)
}

fn recent(conn: &Connection, since: Timestamp) -> Result<HashMap<LaneId, Tally>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/stats_recent.sql"))?;
    let mut rows = statement.query([minute(since)])?;
    let mut recent = HashMap::new();
    while let Some(row) = rows.next()? {
        recent.insert(row.get(0)?, tally(row, 1)?);
    }
    Ok(recent)
}

pub(super) fn minutes(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, Fault> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/minutes.sql"))?;
    let mut rows = statement.query(params![minute(since), tenant.map(Tenant::as_str)])?;
    let mut minutes = Vec::new();
    while let Some(row) = rows.next()? {
        minutes.push(MinuteStats {
            at: Timestamp::from_micros(row.get::<_, i64>(0)? * 60_000_000),
            tally: tally(row, 1)?,
        });
    }
    Ok(minutes)
}

/// How many of the waiting jobs are due. Millions may be, or millions may not; what is due and
/// what is not are counted by turns, so that only the smaller of the two is counted in full.
fn ready(conn: &Connection, lane: LaneId, waiting: u64, now: Timestamp) -> Result<u64, Fault> {
    let count = |sql: &str, most: u64| -> Result<u64, Fault> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let counted = conn
            .prepare_cached(sql)?
            .query_row(params![lane, now.as_micros(), most], |row| number(row, 0))?;
        Ok(counted)
    };
    let mut most = COUNTED_FIRST;
    loop {
        let ready = count(include_str!("sql/stats_ready.sql"), most)?;
        if ready < most {
            return Ok(ready);
        }
        let later = count(include_str!("sql/stats_later.sql"), most)?;
        if later < most {
            return Ok(waiting.saturating_sub(later));
        }
        most = most.saturating_mul(COUNTED_FACTOR);
    }
}

fn retrying(conn: &Connection, lane: LaneId, now: Timestamp) -> Result<u64, Fault> {
    let counted = conn
        .prepare_cached(include_str!("sql/stats_retrying.sql"))?
        .query_row(params![lane, now.as_micros()], |row| number(row, 0))?;
    Ok(counted)
}

fn oldest(conn: &Connection, lane: LaneId) -> Result<Option<Timestamp>, Fault> {
    let mut statement = conn.prepare_cached(include_str!("sql/claim_bounds.sql"))?;
    let mut rows = statement.query([lane])?;
    let mut oldest = None;
    while let Some(row) = rows.next()? {
        let run_at = row.get::<_, Option<i64>>(1)?.map(time);
        oldest = oldest.into_iter().chain(run_at).min();
    }
    Ok(oldest)
}

/// A lane is never forgotten, but one without jobs or history is not worth showing.
fn is_empty(counted: &LaneStats, waiting: u64) -> bool {
    waiting + counted.running + counted.succeeded + counted.failed + counted.cancelled == 0
        && counted.total == Tally::default()
}

fn tally(row: &Row<'_>, first: usize) -> rusqlite::Result<Tally> {
    Ok(Tally {
        attempts: number(row, first)?,
        successes: number(row, first + 1)?,
        failures: number(row, first + 2)?,
        retries: number(row, first + 3)?,
        successful_retries: number(row, first + 4)?,
        exhausted: number(row, first + 5)?,
    })
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}
