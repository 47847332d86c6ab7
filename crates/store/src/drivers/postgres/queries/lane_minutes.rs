//! What is coming and what has been, by the minute.

use steadfast_core::{Tenant, Timestamp};

use crate::drivers::postgres::{
    driver_error::DriverError, names::load_lanes, session::Session, stats::tally_columns,
};
use crate::{
    drivers::sql::{counters, paging::row_limit},
    limits::LANE_MINUTES_MAX,
    minutes::minute,
    store::{LaneMinutesList, LaneMinutesSum},
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
                sum.add_ended(
                    lane,
                    row.try_get("minute")?,
                    counters::tally(row, &columns)?,
                );
            }
        }
    }
    let is_cut = waiting.len() >= LANE_MINUTES_MAX || ended.len() >= LANE_MINUTES_MAX;
    Ok(sum.finish(is_cut))
}
