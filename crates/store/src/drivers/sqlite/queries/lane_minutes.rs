//! What is coming and what has been, by the minute.

use rusqlite::params;
use steadfast_core::{Tenant, Timestamp};

use crate::drivers::sqlite::{driver_error::DriverError, readers::Reader, stats::tally_columns};
use crate::{
    drivers::sql::{counters, paging::row_limit},
    limits::LANE_MINUTES_MAX,
    minutes::minute,
    store::{LaneMinutesList, LaneMinutesSum},
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
            sum.add_ended(lane, row.get("minute")?, counters::tally(row, &columns)?);
        }
    }
    let is_cut = rows_read.iter().any(|rows| *rows >= LANE_MINUTES_MAX);
    Ok(sum.finish(is_cut))
}
