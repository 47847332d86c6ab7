//! Counts by lane, from stored counters; only of the present minute rows are counted.

use std::collections::HashMap;

use steadfast_core::{Tally, Tenant, Timestamp};
use tokio_postgres::Row;

use crate::drivers::postgres::{
    driver_error::DriverError,
    names::load_lanes,
    session::{Conn, Session},
    values::time_option,
};
use crate::{
    drivers::sql::{
        columns::{CounterColumns, TallyColumns},
        counters::{self, LaneCounters, WaitingCount},
        paging::row_limit,
        waiting::{LaneWaiting, PresentMinute, present_rows_limit},
    },
    lane::LaneId,
    limits::RANGES_OF_LANE_MAX,
    minutes::{minute, minute_start},
    store::{JobFilter, LaneStats, MinuteStats},
};

pub(crate) async fn lane_stats(
    conn: &mut Conn<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
    now: Timestamp,
) -> Result<Vec<LaneStats>, DriverError> {
    // One snapshot, or the parts would not add up.
    let snapshot = conn.snapshot().await?;
    let session = snapshot.session();
    let of_tenant = JobFilter {
        tenant: tenant.cloned(),
        ..JobFilter::default()
    };
    let counters = lane_counters(&session, &of_tenant).await?;
    let recent = recent(&session, tenant, since).await?;
    let present = PresentMinute::at(now);
    let waiting = waiting_minutes(&session, tenant, present, &counters).await?;
    let due = due_of_present(&session, present, &waiting).await?;
    snapshot.commit().await?;

    let mut all = Vec::with_capacity(counters.len());
    for (lane, LaneCounters { mut stats, .. }) in counters {
        let waiting = waiting.get(&lane).copied().unwrap_or_default();
        let due = due.get(&lane).copied().unwrap_or_default();
        waiting.put(due.count, &mut stats);
        stats.oldest_ready = due.earliest.filter(|run_at| *run_at <= now);
        stats.recent = recent.get(&lane).copied().unwrap_or_default();
        all.push(stats);
    }
    all.sort_by(|a, b| (&a.tenant, &a.queue, &a.kind).cmp(&(&b.tenant, &b.queue, &b.kind)));
    Ok(all)
}

/// How many jobs match, if the counters tell.
pub(crate) async fn count(
    session: &Session<'_>,
    filter: &JobFilter,
) -> Result<Option<u64>, DriverError> {
    if !counters::can_count(filter) {
        return Ok(None);
    }
    let lanes = lane_counters(session, filter).await?.into_iter();
    Ok(Some(counters::count(filter, lanes.map(|(_, lane)| lane))))
}

/// The counters of the lanes that a filter names, if they have any.
pub(crate) async fn lane_counters(
    session: &Session<'_>,
    filter: &JobFilter,
) -> Result<Vec<(LaneId, LaneCounters)>, DriverError> {
    let mut lanes = load_lanes(session, filter.tenant.as_ref()).await?;
    let all = lanes.len();
    lanes.retain(|_, lane| filter.matches_lane(&lane.tenant, &lane.queue, &lane.kind));
    let is_part = filter.tenant.is_some() || lanes.len() < all;
    let some: Option<Vec<LaneId>> = is_part.then(|| lanes.keys().copied().collect());
    let rows = session
        .query(include_str!("stats/stats_lanes.sql"), &[&some])
        .await?;
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
        let counters = LaneCounters::read(row, lane, &columns, &tally_columns)?;
        if !counters.is_empty() {
            all.push((id, counters));
        }
    }
    Ok(all)
}

async fn recent(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<HashMap<LaneId, Tally>, DriverError> {
    let sql = include_str!("stats/stats_recent.sql");
    let rows = session
        .query(sql, &[&minute(since), &tenant.map(Tenant::as_str)])
        .await?;
    let Some(first) = rows.first() else {
        return Ok(HashMap::new());
    };
    let columns = tally_columns(first)?;
    rows.iter()
        .map(|row| Ok((row.try_get("lane")?, counters::tally(row, &columns)?)))
        .collect()
}

pub(crate) async fn minute_stats(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
) -> Result<Vec<MinuteStats>, DriverError> {
    let sql = include_str!("stats/minute_stats.sql");
    let tenant = tenant.map(Tenant::as_str);
    let rows = session.query(sql, &[&minute(since), &tenant]).await?;
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let columns = tally_columns(first)?;
    rows.iter()
        .map(|row| {
            let at = minute_start(row.try_get("minute")?);
            let tally = counters::tally(row, &columns)?;
            Ok(MinuteStats { at, tally })
        })
        .collect()
}

/// The waiting jobs of lanes, by whether their minute is past.
async fn waiting_minutes(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    present: PresentMinute,
    lanes: &[(LaneId, LaneCounters)],
) -> Result<HashMap<LaneId, LaneWaiting>, DriverError> {
    let mut waiting = LaneWaiting::of_lanes(lanes);
    let sql = include_str!("stats/stats_minutes.sql");
    let tenant = tenant.map(Tenant::as_str);
    for row in session.query(sql, &[&present.number, &tenant]).await? {
        let lane = waiting.entry(row.try_get("lane")?).or_default();
        let part = if row.try_get("present")? {
            &mut lane.present
        } else {
            &mut lane.before
        };
        *part = WaitingCount {
            waiting: row.try_get("waiting")?,
            retrying: row.try_get("retrying")?,
        };
    }
    Ok(waiting)
}

/// What is due of a lane.
#[derive(Clone, Copy, Default)]
struct LaneDue {
    /// Of the present minute.
    count: WaitingCount,
    /// The earliest waiting time.
    earliest: Option<Timestamp>,
}

/// Looks at the rows of lanes in which something may be due.
async fn due_of_present(
    session: &Session<'_>,
    present: PresentMinute,
    waiting: &HashMap<LaneId, LaneWaiting>,
) -> Result<HashMap<LaneId, LaneDue>, DriverError> {
    let (lanes, is_present): (Vec<LaneId>, Vec<bool>) = waiting
        .iter()
        .filter(|(_, waiting)| waiting.may_be_due())
        .map(|(lane, waiting)| (*lane, waiting.is_in_present()))
        .unzip();
    if lanes.is_empty() {
        return Ok(HashMap::new());
    }
    let limit = present_rows_limit(is_present.iter().filter(|is_present| **is_present).count());
    let PresentMinute {
        start, later, end, ..
    } = present;
    let ranges = row_limit(RANGES_OF_LANE_MAX);
    let rows = session
        .query(
            include_str!("stats/stats_waiting.sql"),
            &[&lanes, &is_present, &start, &later, &end, &limit, &ranges],
        )
        .await?;
    let mut found = HashMap::with_capacity(rows.len());
    for row in rows {
        let lane = row.try_get("lane")?;
        let all = waiting.get(&lane).copied().unwrap_or_default().present;
        let count = |all, later, due| -> Result<i64, DriverError> {
            let later = row.try_get::<_, i64>(later)?;
            present.due(all, limit, later, || Ok(row.try_get(due)?))
        };
        let due = LaneDue {
            count: WaitingCount {
                waiting: count(all.waiting, "later", "due")?,
                retrying: count(all.retrying, "retrying_later", "retrying_due")?,
            },
            earliest: time_option(&row, "earliest")?,
        };
        found.insert(lane, due);
    }
    Ok(found)
}

pub(crate) fn tally_columns(row: &Row) -> Result<TallyColumns, DriverError> {
    let names = row.columns().iter().map(|column| column.name());
    Ok(TallyColumns::find(names)?)
}
