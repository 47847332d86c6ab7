//! Holding the counters against the jobs, and repairing them.

use crate::drivers::postgres::{
    counts::Counts,
    driver_error::DriverError,
    names::load_lanes,
    session::{Conn, Session},
};
use crate::{
    drivers::sql::{
        counters::WaitingCount,
        recount::{LaneTotals, Recount},
    },
    lane::LaneId,
    limits::WAITING_MINUTES_KEPT,
    minutes::minute,
    store::CounterDifference,
};

/// A repair of another node is waited for, as long as a statement may take.
pub(crate) async fn recount(
    conn: &mut Conn<'_>,
    repair: bool,
) -> Result<Vec<CounterDifference>, DriverError> {
    if !repair {
        let snapshot = conn.snapshot().await?;
        let session = snapshot.session();
        let differences = differences(&session, &read(&session).await?).await?;
        snapshot.commit().await?;
        return Ok(differences);
    }
    let transaction = conn.repeatable_read().await?;
    let session = transaction.session();
    // Its snapshot is taken by the first search, and sees what the repair before it has written.
    session
        .execute(include_str!("recount/recount_lock.sql"), &[])
        .await?;
    let recount = read(&session).await?;
    let differences = differences(&session, &recount).await?;
    correct(&session, &recount).await?;
    transaction.commit().await?;
    Ok(differences)
}

async fn read(session: &Session<'_>) -> Result<Recount<LaneId>, DriverError> {
    let mut recount = Recount::new();
    let sql = include_str!("recount/recount_lanes.sql");
    for row in session.query(sql, &[]).await? {
        let by_state = [
            row.try_get("waiting")?,
            row.try_get("running")?,
            row.try_get("succeeded")?,
            row.try_get("failed")?,
            row.try_get("cancelled")?,
        ];
        let totals = LaneTotals {
            by_state,
            dead_letters: row.try_get("dead_letters")?,
            retrying: row.try_get("retrying")?,
        };
        recount.counted(row.try_get("lane")?, totals);
    }
    let sql = include_str!("recount/recount_jobs.sql");
    for row in session.query(sql, &[]).await? {
        let (count, dead_letters) = (row.try_get("count")?, row.try_get("dead_letters")?);
        let (lane, state) = (row.try_get("lane")?, row.try_get("state")?);
        recount.found(lane, state, count, dead_letters);
    }
    let long_past = minute(session.shared.clock.now().minus(WAITING_MINUTES_KEPT));
    for (sql, is_stored) in [
        (include_str!("recount/recount_minutes.sql"), true),
        (include_str!("recount/recount_waiting.sql"), false),
    ] {
        for row in session.query(sql, &[&long_past]).await? {
            let count = WaitingCount {
                waiting: row.try_get("waiting")?,
                retrying: row.try_get("retrying")?,
            };
            let (lane, minute) = (row.try_get("lane")?, row.try_get("minute")?);
            if is_stored {
                recount.counted_minute(lane, minute, count);
            } else {
                recount.found_minute(lane, minute, count);
            }
        }
    }
    Ok(recount)
}

async fn differences(
    session: &Session<'_>,
    recount: &Recount<LaneId>,
) -> Result<Vec<CounterDifference>, DriverError> {
    let names = load_lanes(session, None).await?;
    Ok(recount.differences(|lane| names.get(&lane).map(|lane| (**lane).clone())))
}

/// Appends what differs, as changes are appended.
async fn correct(session: &Session<'_>, recount: &Recount<LaneId>) -> Result<(), DriverError> {
    let small = |count: i64| i32::try_from(count).unwrap_or_default();
    let mut counts = Counts::default();
    for (lane, by) in recount.lane_corrections() {
        let change = counts.change(lane, None);
        change.by_state = by.by_state.map(small);
        change.dead_letters = small(by.dead_letters);
        change.retrying = small(by.retrying);
    }
    for (lane, minute, by) in recount.minute_corrections() {
        let (waiting, retrying) = (small(by.waiting), small(by.retrying));
        let of_minute = counts.change(lane, Some(minute));
        of_minute.by_state[0] += waiting;
        of_minute.retrying += retrying;
        // It is added to the lane's total as well, which was corrected already.
        let of_lane = counts.change(lane, None);
        of_lane.by_state[0] -= waiting;
        of_lane.retrying -= retrying;
    }
    counts.write(session).await
}
