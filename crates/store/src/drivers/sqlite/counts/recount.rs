//! Holding the counters against the jobs, and repairing them.

use rusqlite::{Connection, params};
use steadfast_core::Timestamp;

use crate::drivers::sqlite::{
    SqliteStore, driver_error::DriverError, readers::Reader, session::Session,
};
use crate::{
    drivers::sql::{
        counters::WaitingCount,
        recount::{LaneTotals, Recount},
    },
    error::StoreError,
    lane::LaneId,
    limits::{RECOUNT_TRIES_MAX, WAITING_MINUTES_KEPT},
    minutes::minute,
    store::{BaseStore as _, CounterDifference},
};

/// What a look at everything has found.
struct LookResult {
    recount: Recount<LaneId>,
    differences: Vec<CounterDifference>,
    /// How often the counters had been repaired then.
    times: i64,
}

impl SqliteStore {
    pub(crate) async fn recount_lanes(
        &self,
        repair: bool,
    ) -> Result<Vec<CounterDifference>, StoreError> {
        let mut tries = 1;
        loop {
            let now = self.now();
            let found = self
                .read("recount", move |reader| look(reader, now))
                .await?;
            if !repair || found.differences.is_empty() {
                return Ok(found.differences);
            }
            let LookResult {
                recount,
                differences,
                times,
            } = found;
            let is_repaired = self
                .write("recount", 1, move |session| {
                    correct(session, &recount, times)
                })
                .await?;
            // Another repair came first: what differs now is another matter.
            if is_repaired || tries >= RECOUNT_TRIES_MAX {
                return Ok(differences);
            }
            tries += 1;
        }
    }
}

fn look(reader: &mut Reader, now: Timestamp) -> Result<LookResult, DriverError> {
    let Reader { conn, names, .. } = reader;
    let long_past = minute(now.minus(WAITING_MINUTES_KEPT));
    let snapshot = conn.unchecked_transaction()?;
    let recount = read(&snapshot, long_past)?;
    let times = snapshot
        .prepare_cached(include_str!("recount/recount_times.sql"))?
        .query_row([], |row| row.get("times"))?;
    let differences = recount.differences(|lane| names.lane(&snapshot, lane).ok().cloned());
    Ok(LookResult {
        recount,
        differences,
        times,
    })
}

fn read(conn: &Connection, long_past: i64) -> Result<Recount<LaneId>, DriverError> {
    let mut recount = Recount::new();
    let mut statement = conn.prepare(include_str!("recount/recount_lanes.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let by_state = [
            row.get("waiting")?,
            row.get("running")?,
            row.get("succeeded")?,
            row.get("failed")?,
            row.get("cancelled")?,
        ];
        let totals = LaneTotals {
            by_state,
            dead_letters: row.get("dead_letters")?,
            retrying: row.get("retrying")?,
        };
        recount.counted(row.get("lane")?, totals);
    }
    let mut statement = conn.prepare(include_str!("recount/recount_jobs.sql"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (count, dead_letters) = (row.get("count")?, row.get("dead_letters")?);
        recount.found(row.get("lane")?, row.get("state")?, count, dead_letters);
    }
    for (sql, is_stored) in [
        (include_str!("recount/recount_minutes.sql"), true),
        (include_str!("recount/recount_waiting.sql"), false),
    ] {
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query([long_past])?;
        while let Some(row) = rows.next()? {
            let count = WaitingCount {
                waiting: row.get("waiting")?,
                retrying: row.get("retrying")?,
            };
            let (lane, minute) = (row.get("lane")?, row.get("minute")?);
            if is_stored {
                recount.counted_minute(lane, minute, count);
            } else {
                recount.found_minute(lane, minute, count);
            }
        }
    }
    Ok(recount)
}

/// Adds what differs. Answers whether no other repair came first.
fn correct(
    session: &mut Session<'_>,
    recount: &Recount<LaneId>,
    times: i64,
) -> Result<bool, DriverError> {
    let conn = session.conn;
    let noted = conn
        .prepare_cached(include_str!("recount/recount_repair.sql"))?
        .execute([times])?;
    if noted == 0 {
        return Ok(false);
    }
    for (lane, by) in recount.lane_corrections() {
        let [waiting, running, succeeded, failed, cancelled] = by.by_state;
        conn.prepare_cached(include_str!("lane_count.sql"))?
            .execute(params![
                lane,
                waiting,
                running,
                succeeded,
                failed,
                cancelled,
                by.dead_letters,
                0,
                0,
                0,
                0,
                0,
                0,
                by.retrying
            ])?;
    }
    for (lane, minute, by) in recount.minute_corrections() {
        conn.prepare_cached(include_str!("waiting_count.sql"))?
            .execute(params![minute, lane, by.waiting, by.retrying])?;
    }
    Ok(true)
}
