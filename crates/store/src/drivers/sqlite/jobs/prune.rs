//! Retention: small batches, so that claims never wait long for the writer.

use rusqlite::{Row, params};
use steadfast_core::{JobId, JobState, ScheduleId, Timestamp, limits};

use crate::drivers::sqlite::{
    SqliteStore,
    counts::{Bucket, fold_waiting},
    driver_error::DriverError,
    session::Session,
    values::{job_id, job_key, read_state, schedule_id, schedule_key},
};
use crate::{
    drivers::sql::{
        paging::row_limit,
        prune_position::{PruneFinding, PrunePosition, PruneRange},
    },
    error::StoreError,
    lane::LaneId,
    limits::{MINUTES_KEPT, PRUNE_BATCHES_MAX},
    minutes::minute,
};

pub(crate) async fn jobs(
    store: &SqliteStore,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, StoreError> {
    let position = *store.pruned_to();
    let (pruned, position) = store
        .write_page("prune", limit, move |session| {
            prune(session, ended_before, limit, position)
        })
        .await?;
    *store.pruned_to() = position;
    for delete in [delete_ticks, delete_minutes, delete_failures] {
        // In short transactions, so that the requests of others come in between.
        for _ in 0..PRUNE_BATCHES_MAX {
            let delete = move |session: &mut Session<'_>| delete(session, ended_before, limit);
            if store.write_page("prune", limit, delete).await? < limit.max(1) {
                break;
            }
        }
    }
    Ok(pruned)
}

/// Deletes one batch of jobs. Answers how many it was, and where to go on once that is committed.
pub(crate) fn prune(
    session: &mut Session<'_>,
    ended_before: Timestamp,
    limit: usize,
    position: PrunePosition,
) -> Result<(usize, PrunePosition), DriverError> {
    let now = session.now;
    let mut position = position.at(now);
    let mut old = find(session, PrunePosition::old(ended_before, now), limit)?;
    let left = limit - old.len();
    if left > 0
        && let Some(range) = position.recent(ended_before, now)
    {
        let recent = find(session, range, left)?;
        let last = |is_discarded| {
            let half = recent
                .iter()
                .filter(move |job| job.is_discarded() == is_discarded);
            half.map(|job| job.ended_at).max()
        };
        let found = PruneFinding {
            is_full: recent.len() >= left,
            last_ended: last(false),
            last_discarded: last(true),
        };
        position.advance(range, found, now);
        old.extend(recent);
    }
    for job in &old {
        delete(session, job)?;
    }
    fold_waiting(session.conn, session.now)?;
    Ok((old.len(), position))
}

/// Deletes these jobs.
pub(crate) fn delete_jobs(session: &mut Session<'_>, ids: &[JobId]) -> Result<(), DriverError> {
    for id in ids {
        let found = session
            .conn
            .prepare_cached(include_str!("prune/erase_find.sql"))?
            .query_and_then([job_key(*id)], OldJob::read)?
            .next();
        if let Some(job) = found {
            delete(session, &job?)?;
        }
    }
    Ok(())
}

/// Deletes one batch of tick records. Answers how many it was.
pub(crate) fn delete_ticks(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let sql = include_str!("prune/prune_ticks.sql");
    let mut delete = session.conn.prepare_cached(sql)?;
    Ok(delete.execute(params![ended_before.as_micros(), row_limit(limit)])?)
}

/// Deletes one batch of counts by the minute. Answers how many it was.
pub(crate) fn delete_minutes(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let oldest = ended_before.min(session.now.minus(MINUTES_KEPT));
    let sql = include_str!("prune/prune_minutes.sql");
    let mut delete = session.conn.prepare_cached(sql)?;
    Ok(delete.execute(params![minute(oldest), row_limit(limit)])?)
}

/// Deletes one batch of groups of failures. Answers how many it was.
pub(crate) fn delete_failures(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let oldest = ended_before.min(session.now.minus(MINUTES_KEPT));
    let sql = include_str!("prune/prune_failures.sql");
    let mut delete = session.conn.prepare_cached(sql)?;
    Ok(delete.execute(params![oldest.as_micros(), row_limit(limit)])?)
}

/// A job that retention deletes.
struct OldJob {
    seq: i64,
    id: JobId,
    lane: LaneId,
    state: JobState,
    key: Option<String>,
    schedule: Option<ScheduleId>,
    has_tags: bool,
    ended_at: i64,
}

impl OldJob {
    fn read(row: &Row<'_>) -> Result<Self, DriverError> {
        Ok(Self {
            seq: row.get("seq")?,
            id: job_id(row.get("id")?),
            lane: row.get("lane")?,
            state: read_state(row.get("state")?)?,
            key: row.get("idempotency_key")?,
            schedule: row.get::<_, Option<_>>("schedule")?.map(schedule_id),
            has_tags: row.get("has_tags")?,
            ended_at: row.get("ended_at")?,
        })
    }

    fn is_discarded(&self) -> bool {
        self.state == JobState::Failed
    }
}

fn find(
    session: &Session<'_>,
    range: PruneRange,
    limit: usize,
) -> Result<Vec<OldJob>, DriverError> {
    let keyed_before = session.now.minus(limits::DAY);
    let mut statement = session
        .conn
        .prepare_cached(include_str!("prune/prune_find.sql"))?;
    let mut rows = statement.query(params![
        range.before,
        keyed_before.as_micros(),
        row_limit(limit),
        range.ended_from,
        range.discarded_from,
    ])?;
    let mut old = Vec::new();
    while let Some(row) = rows.next()? {
        old.push(OldJob::read(row)?);
    }
    Ok(old)
}

fn delete(session: &mut Session<'_>, job: &OldJob) -> Result<(), DriverError> {
    let conn = session.conn;
    if let Some(schedule) = job.schedule {
        conn.prepare_cached(include_str!("prune/prune_schedule_attempts.sql"))?
            .execute(params![schedule_key(schedule), job_key(job.id), job.seq])?;
    }
    if let Some(key) = &job.key {
        let tenant = &session.names.lane(conn, job.lane)?.tenant;
        conn.prepare_cached(include_str!("prune/prune_idempotency.sql"))?
            .execute(params![tenant.as_str(), key, job_key(job.id)])?;
    }
    if job.has_tags {
        conn.prepare_cached(include_str!("prune/prune_tags.sql"))?
            .execute([job.seq])?;
    }
    for sql in [
        include_str!("prune/prune_attempts.sql"),
        include_str!("prune/prune_payload.sql"),
        include_str!("prune/prune_job.sql"),
    ] {
        conn.prepare_cached(sql)?.execute([job.seq])?;
    }
    for sql in [
        include_str!("prune/prune_steps.sql"),
        include_str!("prune/prune_logs.sql"),
    ] {
        conn.prepare_cached(sql)?.execute([job_key(job.id)])?;
    }
    let bucket = Bucket::prunable(job.state);
    session.counts.move_job(job.lane, Some(bucket), None);
    Ok(())
}
