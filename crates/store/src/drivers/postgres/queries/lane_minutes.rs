//! What is coming and what has been, by the minute.

use steadfast_core::{Destination, Tenant, Timestamp};

use crate::drivers::postgres::{
    driver_error::DriverError,
    due_cache::RangeColumns,
    names::load_lanes,
    session::Session,
    stats::{tally, tally_columns},
};
use crate::{
    claim::Level,
    drivers::sql::paging::row_limit,
    limits::{LANE_MINUTES_MAX, RANGES_COUNTED_TOGETHER},
    minutes::{minute, minute_start},
    store::{DueMinutes, LaneMinutesList, LaneMinutesSum, WaitingSum},
};

pub(crate) async fn lane_minutes(
    session: &Session<'_>,
    tenant: Option<&Tenant>,
    since: Timestamp,
    until: Timestamp,
    now: Timestamp,
) -> Result<LaneMinutesList, DriverError> {
    let (of_tenant, limit) = (tenant.map(Tenant::as_str), row_limit(LANE_MINUTES_MAX));
    let sql = include_str!("lane_minutes/waiting_by_minute.sql");
    let waiting = session
        .query(sql, &[&minute(until), &of_tenant, &limit])
        .await?;
    let sql = include_str!("lane_minutes/ended_by_minute.sql");
    let ended = session
        .query(sql, &[&minute(since), &of_tenant, &limit])
        .await?;
    let lanes = load_lanes(session, tenant).await?;
    let mut sum = LaneMinutesSum::at(now);
    for row in &waiting {
        if let Some(lane) = lanes.get(&row.try_get("lane")?) {
            let (waiting, retrying) = (row.try_get("waiting")?, row.try_get("retrying")?);
            sum.add_waiting(lane, row.try_get("minute")?, waiting, retrying);
        }
    }
    if let Some(first) = ended.first() {
        let columns = tally_columns(first)?;
        for row in &ended {
            if let Some(lane) = lanes.get(&row.try_get("lane")?) {
                sum.add_ended(lane, row.try_get("minute")?, tally(row, &columns)?);
            }
        }
    }
    let is_cut = waiting.len() >= LANE_MINUTES_MAX || ended.len() >= LANE_MINUTES_MAX;
    Ok(sum.finish(is_cut))
}

/// Jobs for a destination that wait for a time until `until`.
pub(crate) async fn due_minutes(
    session: &Session<'_>,
    destination: &Destination,
    tenant: Option<&Tenant>,
    until: Timestamp,
    most: u64,
) -> Result<DueMinutes, DriverError> {
    let shared = session.shared;
    shared.due.refresh(session).await?;
    let now = shared.clock.now();
    let found = shared
        .due
        .lock()
        .index
        .due_ranges(destination, tenant, until);
    let (ranges, mut at_least) = found;
    let mut sum = WaitingSum::at(now);
    let mut left = i64::try_from(most).unwrap_or(i64::MAX);
    // To the end of its minute.
    let until = minute_start(minute(until) + 1).as_micros();
    let sql = include_str!("lane_minutes/due_by_minute.sql");
    for some in ranges.chunks(RANGES_COUNTED_TOGETHER) {
        let columns = RangeColumns::of(some.iter().map(|(range, _)| range));
        let oldest_live: Vec<i64> = some
            .iter()
            .map(|(_, oldest_live)| oldest_live.as_micros())
            .collect();
        // One more tells whether there are more.
        let limit = left.saturating_add(1);
        let (lanes, flow_keys, levels) = (&columns.lanes, &columns.flow_keys, &columns.levels);
        let rows = session
            .query(
                sql,
                &[lanes, flow_keys, levels, &oldest_live, &until, &limit],
            )
            .await?;
        for row in rows {
            let jobs: i64 = row.try_get("jobs")?;
            at_least |= jobs > left;
            let jobs = jobs.min(left);
            let level: i32 = row.try_get("level")?;
            let is_retry = Level::from_number(level.into()).is_some_and(Level::is_retry);
            let retries = if is_retry { jobs } else { 0 };
            sum.add(row.try_get("minute")?, jobs, retries);
            left -= jobs;
        }
    }
    Ok(DueMinutes {
        minutes: sum.finish(),
        at_least,
    })
}
