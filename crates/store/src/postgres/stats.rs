//! Counts by lane. Most are kept as counters; only what depends on the time is counted here.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use steadfast_core::{JobLabel, Queue, Tally, Tenant, Timestamp};
use tokio_postgres::Row;

use super::{
    fault::Fault,
    names::LaneId,
    rows::{self, limit},
    session::{Conn, Session},
};
use crate::{
    JobFilter, LaneStats, MinuteStats,
    columns::{LaneName, minute},
};

/// Where counting by turns starts, and how it grows.
const COUNTED_FIRST: usize = 1_000;
const COUNTED_FACTOR: usize = 8;

pub(super) async fn stats(
    conn: &mut Conn<'_>,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, Fault> {
    // One snapshot, or the parts would not add up.
    let snapshot = conn.snapshot().await?;
    let session = snapshot.session();
    let counters = counters(&session).await?;
    let recent = recent(&session, since).await?;
    let paused = paused(&session).await?;
    let busy: HashMap<LaneId, u64> = counters
        .iter()
        .filter(|(_, counters)| counters.waiting > 0)
        .map(|(lane, counters)| (*lane, counters.waiting))
        .collect();
    let waiting = waiting(&session, busy, now).await?;
    snapshot.commit().await?;

    let mut stats = Vec::new();
    for (lane, Counters { mut counted, .. }) in counters {
        if let Some(waiting) = waiting.get(&lane) {
            counted.ready = waiting.ready;
            counted.retrying = waiting.retrying;
            counted.scheduled = waiting.later.saturating_sub(waiting.retrying);
            counted.oldest_ready = waiting.earliest.filter(|run_at| *run_at <= now);
        }
        counted.recent = recent.get(&lane).copied().unwrap_or_default();
        counted.paused = paused.contains(&(counted.tenant.clone(), counted.queue.clone()));
        stats.push(counted);
    }
    stats.sort_by(|a, b| (&a.tenant, &a.queue, &a.kind).cmp(&(&b.tenant, &b.queue, &b.kind)));
    Ok(stats)
}

/// How many jobs match, where the counters know.
pub(super) async fn count(session: &Session<'_>, filter: &JobFilter) -> Result<Option<u64>, Fault> {
    let by_counters = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        label: filter.label,
        dead_letters: filter.dead_letters,
        ..JobFilter::default()
    };
    let follows_the_clock = matches!(
        filter.label,
        Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying)
    );
    if *filter != by_counters || (follows_the_clock && !filter.dead_letters) {
        return Ok(None);
    }
    let mut total = 0;
    for (_, counters) in counters(session).await? {
        if counters.name.is_meant_by(filter) {
            total += counters.of(filter.label, filter.dead_letters);
        }
    }
    Ok(Some(total))
}

struct Counters {
    name: Arc<LaneName>,
    waiting: u64,
    counted: LaneStats,
}

impl Counters {
    fn of(&self, label: Option<JobLabel>, dead_letters: bool) -> u64 {
        let counted = &self.counted;
        match (label, dead_letters) {
            (None | Some(JobLabel::Failed), true) => counted.dead_letters,
            (Some(_), true) => 0,
            (None, false) => self.all(),
            (Some(JobLabel::Running), false) => counted.running,
            (Some(JobLabel::Succeeded), false) => counted.succeeded,
            (Some(JobLabel::Failed), false) => counted.failed,
            (Some(JobLabel::Cancelled), false) => counted.cancelled,
            (Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying), false) => {
                self.waiting
            }
        }
    }

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

    /// A lane is never forgotten, but one without jobs or history is not worth showing.
    fn is_empty(&self) -> bool {
        self.all() == 0 && self.counted.total == Tally::default()
    }
}

async fn counters(session: &Session<'_>) -> Result<Vec<(LaneId, Counters)>, Fault> {
    let rows = session
        .query(include_str!("sql/stats_lanes.sql"), &[])
        .await?;
    let names = session.shared.names.load_lanes(session).await?;
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        let lane = row.try_get(0)?;
        let Some(name) = names.get(&lane) else {
            continue;
        };
        let counters = Counters {
            name: Arc::clone(name),
            waiting: number(&row, 1)?,
            counted: LaneStats {
                tenant: name.tenant.clone(),
                queue: name.queue.clone(),
                kind: name.kind.clone(),
                paused: false,
                scheduled: 0,
                ready: 0,
                retrying: 0,
                running: number(&row, 2)?,
                succeeded: number(&row, 3)?,
                failed: number(&row, 4)?,
                cancelled: number(&row, 5)?,
                dead_letters: number(&row, 6)?,
                oldest_ready: None,
                total: tally(&row, 7)?,
                recent: Tally::default(),
            },
        };
        if !counters.is_empty() {
            all.push((lane, counters));
        }
    }
    Ok(all)
}

async fn recent(session: &Session<'_>, since: Timestamp) -> Result<HashMap<LaneId, Tally>, Fault> {
    let sql = include_str!("sql/stats_recent.sql");
    let rows = session.query(sql, &[&minute(since)]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, tally(row, 1)?)))
        .collect()
}

pub(super) async fn minutes(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, Fault> {
    let sql = include_str!("sql/minutes.sql");
    let tenant = tenant.map(Tenant::as_str);
    let rows = session.query(sql, &[&minute(since), &tenant]).await?;
    rows.iter()
        .map(|row| {
            let at = Timestamp::from_micros(row.try_get::<_, i64>(0)? * 60_000_000);
            let tally = tally(row, 1)?;
            Ok(MinuteStats { at, tally })
        })
        .collect()
}

async fn paused(session: &Session<'_>) -> Result<HashSet<(Tenant, Queue)>, Fault> {
    let rows = session.query(include_str!("sql/paused.sql"), &[]).await?;
    rows.iter()
        .map(|row| {
            let tenant = rows::parsed(row, 0, "tenant", Tenant::new)?;
            Ok((tenant, rows::parsed(row, 1, "queue", Queue::new)?))
        })
        .collect()
}

struct Waiting {
    ready: u64,
    later: u64,
    retrying: u64,
    earliest: Option<Timestamp>,
}

/// What of the waiting jobs of lanes is due. Millions may be, or millions may not; what is due
/// and what is not are counted by turns, so that only the smaller of the two is counted in full.
async fn waiting(
    session: &Session<'_>,
    mut lanes: HashMap<LaneId, u64>,
    now: Timestamp,
) -> Result<HashMap<LaneId, Waiting>, Fault> {
    let mut known = HashMap::new();
    let mut most = COUNTED_FIRST;
    while !lanes.is_empty() {
        let asked: Vec<LaneId> = lanes.keys().copied().collect();
        let sql = include_str!("sql/stats_waiting.sql");
        let params = (now.as_micros(), limit(most));
        let rows = session.query(sql, &[&asked, &params.0, &params.1]).await?;
        for row in rows {
            let lane = row.try_get(0)?;
            let all = lanes.get(&lane).copied().unwrap_or_default();
            let (ready, later) = (number(&row, 1)?, number(&row, 2)?);
            let is_whole = |count: u64| usize::try_from(count).is_ok_and(|count| count < most);
            let (ready, later) = match (is_whole(ready), is_whole(later)) {
                (true, true) => (ready, later),
                (true, false) => (ready, all.saturating_sub(ready)),
                (false, true) => (all.saturating_sub(later), later),
                (false, false) => continue,
            };
            let waiting = Waiting {
                ready,
                later,
                retrying: number(&row, 3)?,
                earliest: rows::time_option(&row, 4)?,
            };
            lanes.remove(&lane);
            known.insert(lane, waiting);
        }
        most = most.saturating_mul(COUNTED_FACTOR);
    }
    Ok(known)
}

fn tally(row: &Row, first: usize) -> Result<Tally, Fault> {
    Ok(Tally {
        attempts: number(row, first)?,
        successes: number(row, first + 1)?,
        failures: number(row, first + 2)?,
        retries: number(row, first + 3)?,
        successful_retries: number(row, first + 4)?,
        exhausted: number(row, first + 5)?,
    })
}

fn number(row: &Row, column: usize) -> Result<u64, Fault> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}
