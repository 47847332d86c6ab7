//! Writing transitions: progress, attempt record, outbox and counters together.

use rusqlite::params;
use steadfast_core::{
    Attempt, CommitResult, Guard, JobId, JobProgress, JobState, Timestamp, Transition, WorkerName,
};

use super::{
    counts::Bucket,
    documents,
    driver_error::DriverError,
    each, enqueue, get, rows,
    session::{JobPosition, RunningRow, Session},
    values::{job_key, schedule_id, schedule_key, state_number, to_json},
};
use crate::{sql::values::nanos, store::DocumentKind};

pub(super) fn commit_all(
    session: &mut Session<'_>,
    transitions: &[Transition],
) -> Result<Vec<CommitResult>, DriverError> {
    let needs_version = |transition: &Transition| transition.guard.endpoints.is_some();
    let endpoints = if transitions.iter().any(needs_version) {
        documents::version(session, DocumentKind::Endpoint)?
    } else {
        0
    };
    each(transitions, |transition| {
        commit(session, transition, endpoints)
    })
}

fn commit(
    session: &mut Session<'_>,
    transition: &Transition,
    endpoints: u64,
) -> Result<CommitResult, DriverError> {
    let row = match session.running.get(transition.job) {
        Some(row) => row,
        None => match find_row(session, transition.job)? {
            Some(row) => row,
            None => return Ok(CommitResult::Stale),
        },
    };
    let is_outdated = |known| known != endpoints;
    if transition.guard.endpoints.is_some_and(is_outdated) {
        return refusal(session, transition, endpoints);
    }
    let guard = Some((transition.job, &transition.guard));
    if !write_progress(session, row.seq, &transition.to, guard)? {
        return refusal(session, transition, endpoints);
    }
    session.running.remove(transition.job);
    let (from, to) = positions(row, &transition.to);
    session.job_moved(from, to);
    if let Some(record) = &transition.record {
        insert_record(session, row, record)?;
        session
            .counts
            .add_attempt(row.lane, record.finished_at, transition.tally);
    }
    for job in &transition.outbox {
        enqueue::insert_unless_stored(session, job)?;
    }
    Ok(CommitResult::Done)
}

fn positions(row: RunningRow, to: &JobProgress) -> (JobPosition, JobPosition) {
    let from = JobPosition {
        lane: row.lane,
        priority: row.priority,
        run_at: Timestamp::MAX,
        bucket: Bucket::RUNNING,
        state: JobState::Running,
        is_scheduled_run: row.schedule.is_some(),
    };
    let to = JobPosition {
        run_at: to.run_at,
        bucket: Bucket::of(to),
        state: to.state,
        ..from
    };
    (from, to)
}

/// The row of a job that was claimed elsewhere, or longer ago than the writer remembers.
fn find_row(session: &Session<'_>, job: JobId) -> Result<Option<RunningRow>, DriverError> {
    let mut statement = session
        .conn
        .prepare_cached(include_str!("sql/commit_find.sql"))?;
    let mut rows = statement.query([job_key(job)])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(RunningRow {
        seq: row.get("seq")?,
        lane: row.get("lane")?,
        priority: row.get("priority")?,
        schedule: row.get::<_, Option<_>>("schedule")?.map(schedule_id),
    }))
}

/// Why a guard did not hold, as core says.
fn refusal(
    session: &mut Session<'_>,
    transition: &Transition,
    endpoints: u64,
) -> Result<CommitResult, DriverError> {
    session.running.remove(transition.job);
    let stored = get::job(session.conn, &mut session.names, transition.job)?;
    let record = match (&stored, &transition.record) {
        (Some(row), Some(_)) => find_record(session, row.seq, transition)?,
        _ => None,
    };
    let progress = stored.as_ref().map(|row| &row.job.progress);
    let refusal = transition.refusal(progress, record.as_ref(), endpoints, session.now);
    Ok(refusal.unwrap_or(CommitResult::Stale))
}

/// The record that the transition's claim has left, if any.
fn find_record(
    session: &Session<'_>,
    seq: i64,
    transition: &Transition,
) -> Result<Option<Attempt>, DriverError> {
    let mut statement = session
        .conn
        .prepare_cached(include_str!("sql/attempt_find.sql"))?;
    let fence = transition.guard.fence.0;
    let found = statement.query(params![seq, fence, job_key(transition.job)])?;
    let found = rows::attempts(found, &session.names.damage())?;
    Ok(found.items.into_iter().next_back())
}

/// Writes progress. Answers whether the guard held.
pub(super) fn write_progress(
    session: &mut Session<'_>,
    seq: i64,
    to: &JobProgress,
    guard: Option<(JobId, &Guard)>,
) -> Result<bool, DriverError> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let expired_by = guard
        .filter(|(_, guard)| guard.lease_expired)
        .map(|_| session.now.as_micros());
    let changed = session.hot.progress.on(session.conn)?.execute(params![
        seq,
        state_number(to.state),
        to.run_at.as_micros(),
        to.fence.0,
        to.attempt,
        to.attempts_before,
        to.cancel_requested,
        micros(to.lease_until),
        micros(to.started_at),
        micros(to.first_started_at),
        micros(to.finished_at),
        micros(to.resolved_at),
        to.worker.as_ref().map(WorkerName::as_str),
        to.snoozes,
        to.last_delay.map(nanos),
        to.reason.map(|reason| reason.as_str()),
        to.failure.as_ref().map(to_json).transpose()?,
        to.note.as_deref(),
        guard.map(|(_, guard)| guard.fence.0),
        guard.map(|(_, guard)| guard.cancel_requested),
        expired_by,
        guard.map(|(job, _)| job_key(job)),
    ])?;
    Ok(changed > 0)
}

fn insert_record(
    session: &mut Session<'_>,
    row: RunningRow,
    record: &Attempt,
) -> Result<(), DriverError> {
    session
        .hot
        .attempt_insert
        .on(session.conn)?
        .execute(params![
            row.seq,
            record.fence.0,
            record.attempt,
            record.status.as_str(),
            record.started_at.as_micros(),
            record.finished_at.as_micros(),
            record.worker.as_ref().map(WorkerName::as_str),
            record.failure.as_ref().map(to_json).transpose()?,
            record.output.as_ref().map(|output| output.as_str()),
            record.note.as_deref(),
            record.decision.as_ref().map(to_json).transpose()?,
            record.attempts_before,
        ])?;
    if let Some(schedule) = row.schedule {
        session
            .conn
            .prepare_cached(include_str!("sql/schedule_attempt_insert.sql"))?
            .execute(params![
                schedule_key(schedule),
                record.finished_at.as_micros(),
                job_key(record.job),
                record.fence.0
            ])?;
    }
    Ok(())
}
