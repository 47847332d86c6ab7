//! Writing transitions: progress, attempt record, outbox and counters together.

use rusqlite::{Row, Statement, ToSql, params};
use steadfast_core::{
    Attempt, Fence, Guard, JobId, JobProgress, JobState, Timestamp, Transition, WorkerName,
};

use super::{
    counts::Place,
    enqueue,
    fault::Fault,
    find,
    rows::{self, job_key, nanos, schedule_id, schedule_key, state_number, to_json},
    session::{Seat, Session, Spot},
};
use crate::CommitResult;

pub(super) fn commit(
    session: &mut Session<'_>,
    transition: &Transition,
) -> Result<CommitResult, Fault> {
    let seat = match session.running.seat(transition.job) {
        Some(seat) => seat,
        None => match Held::find(session, transition.job)? {
            Some(held) => held.seat,
            None => return Ok(CommitResult::Stale),
        },
    };
    let guard = Some((transition.job, &transition.guard));
    if !write_progress(session, seat.seq, &transition.to, guard)? {
        return refused(session, transition);
    }
    session.running.ended(transition.job);
    let (from, to) = spots(seat, &transition.to);
    session.moved(from, to);
    if let Some(record) = &transition.record {
        keep_record(session, seat, record)?;
        session
            .counts
            .ended(seat.lane, record.finished_at, transition.tally);
    }
    for job in &transition.outbox {
        enqueue::insert_unless_known(session, job)?;
    }
    Ok(CommitResult::Done)
}

fn spots(seat: Seat, to: &JobProgress) -> (Spot, Spot) {
    let from = Spot {
        lane: seat.lane,
        priority: seat.priority,
        run_at: Timestamp::MAX,
        place: Place::RUNNING,
        state: JobState::Running,
        is_run: seat.schedule.is_some(),
    };
    let to = Spot {
        run_at: to.run_at,
        place: Place::of(to),
        state: to.state,
        ..from
    };
    (from, to)
}

/// What the guard of a transition is compared with.
struct Held {
    seat: Seat,
    state: JobState,
    fence: Fence,
    cancel_requested: bool,
}

impl Held {
    fn find(session: &Session<'_>, job: JobId) -> Result<Option<Self>, Fault> {
        let mut statement = session
            .conn
            .prepare_cached(include_str!("sql/commit_find.sql"))?;
        let mut rows = statement.query([job_key(job)])?;
        rows.next()?.map(Self::read).transpose()
    }

    fn read(row: &Row<'_>) -> Result<Self, Fault> {
        Ok(Self {
            seat: Seat {
                seq: row.get(0)?,
                lane: row.get(1)?,
                priority: row.get(2)?,
                schedule: row.get::<_, Option<_>>(3)?.map(schedule_id),
            },
            state: rows::state(row.get(4)?)?,
            fence: Fence(row.get(5)?),
            cancel_requested: row.get(6)?,
        })
    }
}

/// Why a guard did not hold.
fn refused(session: &mut Session<'_>, transition: &Transition) -> Result<CommitResult, Fault> {
    session.running.ended(transition.job);
    let Some(held) = Held::find(session, transition.job)? else {
        return Ok(CommitResult::Stale);
    };
    let guard = transition.guard;
    if held.state != JobState::Running || held.fence != guard.fence {
        return was_written(session, held.seat, transition);
    }
    Ok(match held.cancel_requested && !guard.cancel_requested {
        true => CommitResult::CancelRequested,
        false => CommitResult::Stale,
    })
}

/// A claim that does not hold any more may have been ended by this very transition, whose
/// answer was lost.
fn was_written(
    session: &mut Session<'_>,
    seat: Seat,
    transition: &Transition,
) -> Result<CommitResult, Fault> {
    let is_written = match &transition.record {
        Some(record) => {
            let mut find = session
                .conn
                .prepare_cached(include_str!("sql/attempt_find.sql"))?;
            with_record(&mut find, seat.seq, record, |find, record| {
                find.exists(record)
            })?
        }
        None => find::job(session.conn, &mut session.names, transition.job)?
            .is_some_and(|row| row.job.progress == transition.to),
    };
    Ok(match is_written {
        true => CommitResult::Done,
        false => CommitResult::Stale,
    })
}

/// Writes progress, and says whether the guard held.
pub(super) fn write_progress(
    session: &mut Session<'_>,
    seq: i64,
    to: &JobProgress,
    guard: Option<(JobId, &Guard)>,
) -> Result<bool, Fault> {
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

fn keep_record(session: &mut Session<'_>, seat: Seat, record: &Attempt) -> Result<(), Fault> {
    let keep = session.hot.attempt_keep.on(session.conn)?;
    with_record(keep, seat.seq, record, |keep, record| keep.execute(record))?;
    if let Some(schedule) = seat.schedule {
        session
            .conn
            .prepare_cached(include_str!("sql/schedule_attempt_keep.sql"))?
            .execute(params![
                schedule_key(schedule),
                record.finished_at.as_micros(),
                job_key(record.job),
                record.fence.0
            ])?;
    }
    Ok(())
}

/// Runs a statement whose parameters are the columns of an attempt record.
fn with_record<'c, T>(
    statement: &mut Statement<'c>,
    seq: i64,
    record: &Attempt,
    run: impl FnOnce(&mut Statement<'c>, &[&dyn ToSql]) -> rusqlite::Result<T>,
) -> Result<T, Fault> {
    let answer = run(
        statement,
        params![
            seq,
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
        ],
    )?;
    Ok(answer)
}
