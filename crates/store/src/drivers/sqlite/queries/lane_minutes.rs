//! What is coming and what has been, by the minute.

use rusqlite::params;
use steadfast_core::{Destination, Tenant, Timestamp};

use crate::drivers::sqlite::{
    SqliteStore,
    driver_error::DriverError,
    readers::Reader,
    stats::{tally, tally_columns},
};
use crate::{
    claim::{DueRange, FlowKeyId},
    drivers::sql::{paging::row_limit, start::StartReads as _},
    error::StoreError,
    limits::LANE_MINUTES_MAX,
    minutes::{minute, minute_start},
    store::{DueMinutes, LaneMinutesList, LaneMinutesSum, WaitingSum},
};

pub(crate) fn lane_minutes(
    reader: &mut Reader,
    tenant: Option<&Tenant>,
    since: Timestamp,
    until: Timestamp,
    now: Timestamp,
) -> Result<LaneMinutesList, DriverError> {
    let Reader { conn, names } = reader;
    let (tenant, limit) = (tenant.map(Tenant::as_str), row_limit(LANE_MINUTES_MAX));
    let mut sum = LaneMinutesSum::at(now);
    let mut rows_read = [0, 0];
    let mut statement = conn.prepare_cached(include_str!("lane_minutes/waiting_by_minute.sql"))?;
    let mut rows = statement.query(params![minute(until), tenant, limit])?;
    while let Some(row) = rows.next()? {
        rows_read[0] += 1;
        // A lane that cannot be read is noted where its jobs are claimed and listed.
        if let Ok(lane) = names.lane(conn, row.get("lane")?) {
            let (waiting, retrying) = (row.get("waiting")?, row.get("retrying")?);
            sum.add_waiting(lane, row.get("minute")?, waiting, retrying);
        }
    }
    let mut statement = conn.prepare_cached(include_str!("lane_minutes/ended_by_minute.sql"))?;
    let columns = tally_columns(&statement)?;
    let mut rows = statement.query(params![minute(since), tenant, limit])?;
    while let Some(row) = rows.next()? {
        rows_read[1] += 1;
        if let Ok(lane) = names.lane(conn, row.get("lane")?) {
            sum.add_ended(lane, row.get("minute")?, tally(row, &columns)?);
        }
    }
    let is_cut = rows_read.iter().any(|rows| *rows >= LANE_MINUTES_MAX);
    Ok(sum.finish(is_cut))
}

/// Jobs for a destination that wait for a time until `until`.
pub(crate) async fn due_minutes(
    store: &SqliteStore,
    destination: Destination,
    tenant: Option<Tenant>,
    until: Timestamp,
    most: u64,
) -> Result<DueMinutes, StoreError> {
    let reader = store.start_reader("due_minutes");
    let looked = reader.ask_index(move |index, now| {
        let found = index.due_ranges(&destination, tenant.as_ref(), until);
        (found, now)
    });
    let ((ranges, is_cut), now) = looked.await?;
    let count = move |reader: &mut Reader| {
        let ranges: Vec<DueRange> = ranges.iter().map(|(range, _)| *range).collect();
        count_ranges(reader, &ranges, until, now, most, is_cut)
    };
    store.read("due_minutes", count).await
}

fn count_ranges(
    reader: &mut Reader,
    ranges: &[DueRange],
    until: Timestamp,
    now: Timestamp,
    most: u64,
    is_cut: bool,
) -> Result<DueMinutes, DriverError> {
    let mut sum = WaitingSum::at(now);
    let mut left = i64::try_from(most).unwrap_or(i64::MAX);
    let mut at_least = is_cut;
    let sql = include_str!("lane_minutes/due_by_minute.sql");
    let mut statement = reader.conn.prepare_cached(sql)?;
    // To the end of its minute.
    let until = minute_start(minute(until) + 1).as_micros();
    for range in ranges {
        let FlowKeyId { lane, number } = range.flow_key;
        let level = range.level.number();
        // One more tells whether there are more.
        let limit = left.saturating_add(1);
        let mut rows = statement.query(params![lane, number, level, until, limit])?;
        while let Some(row) = rows.next()? {
            let jobs: i64 = row.get("jobs")?;
            at_least |= jobs > left;
            let jobs = jobs.min(left);
            let retries = if range.level.is_retry() { jobs } else { 0 };
            sum.add(row.get("minute")?, jobs, retries);
            left -= jobs;
        }
    }
    Ok(DueMinutes {
        minutes: sum.finish(),
        at_least,
    })
}
