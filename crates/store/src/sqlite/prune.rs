//! Retention: small batches, so that claims never wait long for the writer.

use rusqlite::{Row, params};
use steadfast_core::{JobId, JobState, ScheduleId, Timestamp, limits};

use super::{
    counts::{Place, minute},
    fault::Fault,
    names::LaneId,
    rows::{self, job_id, job_key, schedule_id, schedule_key},
    session::Session,
};

/// Counts by the minute are asked for over days at most.
const MINUTES_KEPT: std::time::Duration = std::time::Duration::from_secs(32 * 24 * 60 * 60);

pub(super) fn prune(
    session: &mut Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, Fault> {
    let mut old = Vec::new();
    for sql in [
        include_str!("sql/prune_ended.sql"),
        include_str!("sql/prune_discarded.sql"),
    ] {
        find(session, sql, ended_before, limit, &mut old)?;
    }
    for job in &old {
        delete(session, job)?;
    }
    forget_times(session, ended_before, limit)?;
    Ok(old.len())
}

struct Old {
    seq: i64,
    id: JobId,
    lane: LaneId,
    state: JobState,
    key: Option<String>,
    schedule: Option<ScheduleId>,
}

impl Old {
    fn read(row: &Row<'_>) -> Result<Self, Fault> {
        Ok(Self {
            seq: row.get(0)?,
            id: job_id(row.get(1)?),
            lane: row.get(2)?,
            state: rows::state(row.get(3)?)?,
            key: row.get(4)?,
            schedule: row.get::<_, Option<_>>(5)?.map(schedule_id),
        })
    }
}

fn find(
    session: &Session<'_>,
    sql: &str,
    ended_before: Timestamp,
    limit: usize,
    old: &mut Vec<Old>,
) -> Result<(), Fault> {
    let room = i64::try_from(limit.saturating_sub(old.len())).unwrap_or(i64::MAX);
    let keyed_before = session.now.minus(limits::DAY);
    let mut statement = session.conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        ended_before.as_micros(),
        keyed_before.as_micros(),
        room
    ])?;
    while let Some(row) = rows.next()? {
        old.push(Old::read(row)?);
    }
    Ok(())
}

fn delete(session: &mut Session<'_>, job: &Old) -> Result<(), Fault> {
    let conn = session.conn;
    if let Some(schedule) = job.schedule {
        conn.prepare_cached(include_str!("sql/prune_schedule_attempts.sql"))?
            .execute(params![schedule_key(schedule), job_key(job.id), job.seq])?;
    }
    if let Some(key) = &job.key {
        let tenant = &session.names.lane(conn, job.lane)?.tenant;
        conn.prepare_cached(include_str!("sql/prune_idempotency.sql"))?
            .execute(params![tenant.as_str(), key, job_key(job.id)])?;
    }
    for sql in [
        "DELETE FROM steadfast_attempt WHERE job = ?1",
        "DELETE FROM steadfast_payload WHERE job = ?1",
        "DELETE FROM steadfast_job WHERE seq = ?1",
    ] {
        conn.prepare_cached(sql)?.execute([job.seq])?;
    }
    conn.prepare_cached("DELETE FROM steadfast_once WHERE job = ?1")?
        .execute([job_key(job.id)])?;
    let place = Place::prunable(job.state);
    session.counts.moved(job.lane, Some(place), None);
    Ok(())
}

fn forget_times(session: &Session<'_>, ended_before: Timestamp, limit: usize) -> Result<(), Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    session
        .conn
        .prepare_cached(include_str!("sql/prune_ticks.sql"))?
        .execute(params![ended_before.as_micros(), limit])?;
    let oldest = ended_before.min(session.now.minus(MINUTES_KEPT));
    session
        .conn
        .prepare_cached(include_str!("sql/prune_minutes.sql"))?
        .execute(params![minute(oldest), limit])?;
    Ok(())
}
