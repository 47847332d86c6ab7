//! Writing transitions: progress, attempt record, outbox and counters together.

use rusqlite::{Row, Statement, ToSql, params};
use steadfast_core::{
    Attempt, Fence, JobId, Progress, ScheduleId, State, Timestamp, Transition, WorkerName,
};

use super::{
    counts::Place,
    enqueue,
    fault::Fault,
    find,
    names::LaneId,
    rows::{self, job_key, nanos, schedule_id, schedule_key, state_number, time, to_json},
    session::{Session, Spot},
};
use crate::Committed;

pub(super) fn commit(
    session: &mut Session<'_>,
    transition: &Transition,
) -> Result<Committed, Fault> {
    let Some(held) = Held::find(session, transition.job)? else {
        return Ok(Committed::Stale);
    };
    let guard = transition.guard;
    if held.state != State::Running || held.fence != guard.fence {
        return was_written(session, &held, transition);
    }
    if guard.lease_expired && held.lease_until > Some(session.now) {
        return Ok(Committed::Stale);
    }
    if held.cancel_requested && !guard.cancel_requested {
        return Ok(Committed::CancelRequested);
    }
    write_progress(session, held.seq, &transition.to)?;
    session.moved(held.spot(), held.spot_after(&transition.to));
    if let Some(record) = &transition.record {
        keep_record(session, &held, record)?;
        session
            .counts
            .ended(held.lane, record.finished_at, transition.tally);
    }
    for job in &transition.outbox {
        enqueue::insert_unless_known(session, job)?;
    }
    Ok(Committed::Done)
}

/// What the guard of a transition is compared with.
struct Held {
    seq: i64,
    lane: LaneId,
    priority: u8,
    schedule: Option<ScheduleId>,
    state: State,
    fence: Fence,
    cancel_requested: bool,
    lease_until: Option<Timestamp>,
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
            seq: row.get(0)?,
            lane: row.get(1)?,
            priority: row.get(2)?,
            schedule: row.get::<_, Option<_>>(3)?.map(schedule_id),
            state: rows::state(row.get(4)?)?,
            fence: Fence(row.get(5)?),
            cancel_requested: row.get(6)?,
            lease_until: row.get::<_, Option<_>>(7)?.map(time),
        })
    }

    fn spot(&self) -> Spot {
        Spot {
            lane: self.lane,
            priority: self.priority,
            run_at: Timestamp::MAX,
            place: Place::RUNNING,
            state: State::Running,
            is_run: self.schedule.is_some(),
        }
    }

    fn spot_after(&self, to: &Progress) -> Spot {
        Spot {
            run_at: to.run_at,
            place: Place::of(to),
            state: to.state,
            ..self.spot()
        }
    }
}

/// A claim that does not hold any more may have been ended by this very transition, whose
/// answer was lost.
fn was_written(
    session: &mut Session<'_>,
    held: &Held,
    transition: &Transition,
) -> Result<Committed, Fault> {
    let is_written = match &transition.record {
        Some(record) => with_record(
            session,
            include_str!("sql/attempt_find.sql"),
            held.seq,
            record,
            |statement, record| statement.exists(record),
        )?,
        None => find::job(session.conn, &mut session.names, transition.job)?
            .is_some_and(|row| row.job.progress == transition.to),
    };
    Ok(match is_written {
        true => Committed::Done,
        false => Committed::Stale,
    })
}

pub(super) fn write_progress(session: &Session<'_>, seq: i64, to: &Progress) -> Result<(), Fault> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    session
        .conn
        .prepare_cached(include_str!("sql/progress.sql"))?
        .execute(params![
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
        ])?;
    Ok(())
}

fn keep_record(session: &Session<'_>, held: &Held, record: &Attempt) -> Result<(), Fault> {
    with_record(
        session,
        include_str!("sql/attempt_keep.sql"),
        held.seq,
        record,
        |statement, record| statement.execute(record),
    )?;
    if let Some(schedule) = held.schedule {
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
fn with_record<T>(
    session: &Session<'_>,
    sql: &str,
    seq: i64,
    record: &Attempt,
    run: impl FnOnce(&mut Statement<'_>, &[&dyn ToSql]) -> rusqlite::Result<T>,
) -> Result<T, Fault> {
    let mut statement = session.conn.prepare_cached(sql)?;
    let answer = run(
        &mut statement,
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
