//! Writing transitions: progress, attempt record, outbox and counters together.

use rusqlite::{OptionalExtension, params};
use steadfast_core::{
    Attempt, CommitResult, Guard, JobId, JobProgress, JobState, Timestamp, Transition, WorkerName,
};

use crate::drivers::sqlite::{
    counts::Bucket,
    driver_error::DriverError,
    each, get, insert, rows,
    session::{JobPosition, RunningRow, Session},
    transaction::wrappers::{WriterTransaction, finish},
    values::{job_key, schedule_id, schedule_key, state_number, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::Cell,
    drivers::sql::values::{nanos, unsigned},
    store::DocumentKind,
    verbs::outbox,
};

pub(crate) fn commit_all(
    session: &mut Session<'_>,
    transitions: &[Transition],
) -> Result<Vec<CommitResult>, DriverError> {
    let needs_version = |transition: &Transition| transition.guard.endpoints.is_some();
    let endpoints = if transitions.iter().any(needs_version) {
        document_version(session, DocumentKind::Endpoint)?
    } else {
        0
    };
    let mut records = NewRecords::default();
    let results = each(transitions, |transition| {
        commit(session, transition, endpoints, &mut records)
    })?;
    records.insert_all(session)?;
    Ok(results)
}

/// Attempt records that are written together, each with its job's row.
#[derive(Default)]
struct NewRecords<'t>(Vec<(RunningRow, &'t Attempt)>);

fn commit<'t>(
    session: &mut Session<'_>,
    transition: &'t Transition,
    endpoints: u64,
    records: &mut NewRecords<'t>,
) -> Result<CommitResult, DriverError> {
    let row = match session.running.get(transition.job) {
        Some(row) => row,
        None => match find_row(session, transition.job)? {
            Some(row) => row,
            None => return Ok(CommitResult::Stale),
        },
    };
    let plan = match outbox::has_links(&transition.outbox) {
        true => {
            let mut writer = WriterTransaction::new(session);
            Some(finish(outbox::plan(&mut writer, transition))?)
        }
        false => None,
    };
    if let Some(Err(refused)) = plan {
        records.insert_all(session)?;
        // A claim that has expired, or was settled before, says more than its outbox.
        let refusal = refusal(session, transition, endpoints)?;
        return Ok(refusal.unwrap_or(CommitResult::OutboxRefused(refused)));
    }
    if transition.cost_change.is_some() {
        session.know_gates()?;
    }
    let is_outdated = |known| known != endpoints;
    let guard = Some((transition.job, &transition.guard));
    if transition.guard.endpoints.is_some_and(is_outdated)
        || !write_progress(session, row.seq, transition.into(), guard)?
    {
        // A record of this batch may be the reason.
        records.insert_all(session)?;
        let refusal = refusal(session, transition, endpoints)?;
        return Ok(refusal.unwrap_or(CommitResult::Stale));
    }
    session.running.remove(transition.job);
    if let Some(change) = &transition.cost_change {
        session.settle_cost(row.flow_key, change)?;
    }
    let (from, to) = positions(row, &transition.to);
    session.job_moved(from, to);
    if let Some(observed) = &transition.observation {
        session.failures.add(observed);
    }
    if let Some(record) = &transition.record {
        records.0.push((row, record));
        session
            .counts
            .add_attempt(row.flow_key.lane, record.finished_at, transition.tally);
    }
    if let Some(Ok(plan)) = plan {
        let mut writer = WriterTransaction::new(session);
        finish(outbox::save(&mut writer, transition, &plan))?;
        return Ok(CommitResult::Done);
    }
    for job in &transition.outbox {
        insert::insert_unless_stored(session, job)?;
    }
    Ok(CommitResult::Done)
}

fn positions(row: RunningRow, to: &JobProgress) -> (JobPosition, JobPosition) {
    let range = |is_retry| DueRange {
        flow_key: row.flow_key,
        level: Level::new(row.priority, is_retry),
    };
    let from = JobPosition {
        range: range(false),
        run_at: Timestamp::MAX,
        bucket: Bucket::RUNNING,
        state: JobState::Running,
        is_scheduled_run: row.schedule.is_some(),
    };
    let to = JobPosition {
        range: range(to.attempt > to.attempts_before),
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
        .prepare_cached(include_str!("commit/commit_find.sql"))?;
    let mut rows = statement.query([job_key(job)])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(RunningRow {
        seq: row.get("seq")?,
        flow_key: FlowKeyId {
            lane: row.get("lane")?,
            number: row.get("flow_key")?,
        },
        priority: row.get("priority")?,
        schedule: row.get::<_, Option<_>>("schedule")?.map(schedule_id),
    }))
}

/// Why a guard does not hold, as core says.
fn refusal(
    session: &mut Session<'_>,
    transition: &Transition,
    endpoints: u64,
) -> Result<Option<CommitResult>, DriverError> {
    session.running.remove(transition.job);
    let stored = get::job(session.conn, &mut session.names, transition.job)?;
    let record = match (&stored, &transition.record) {
        (Some(row), Some(_)) => find_record(session, row.seq, transition)?,
        _ => None,
    };
    let progress = stored.as_ref().map(|row| &row.job.progress);
    Ok(transition.refusal(progress, record.as_ref(), endpoints, session.now))
}

/// The record that the transition's claim has left, if any.
fn find_record(
    session: &Session<'_>,
    seq: i64,
    transition: &Transition,
) -> Result<Option<Attempt>, DriverError> {
    let mut statement = session
        .conn
        .prepare_cached(include_str!("commit/attempt_find.sql"))?;
    let fence = transition.guard.fence.0;
    let found = statement.query(params![seq, fence, job_key(transition.job)])?;
    let found = rows::attempts(found, &session.names)?;
    Ok(found.items.into_iter().next_back())
}

/// How far a job has come, as it is written.
pub(crate) struct NewProgress<'t> {
    pub to: &'t JobProgress,
    /// The number of the group of a new failure.
    pub failure_group: Option<i64>,
}

impl<'t> From<&'t Transition> for NewProgress<'t> {
    fn from(transition: &'t Transition) -> Self {
        let observed = transition.observation.as_ref();
        Self {
            to: &transition.to,
            failure_group: observed.map(|observed| observed.key.number()),
        }
    }
}

/// Writes progress. Answers whether the guard held.
pub(crate) fn write_progress(
    session: &mut Session<'_>,
    seq: i64,
    new: NewProgress<'_>,
    guard: Option<(JobId, &Guard)>,
) -> Result<bool, DriverError> {
    let NewProgress { to, failure_group } = new;
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_micros);
    let expired_by = guard
        .filter(|(_, guard)| guard.lease_expired)
        .map(|_| session.now.as_micros());
    let changes_before = session.conn.total_changes();
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
        failure_group,
    ])?;
    // A trigger has noted that others may wait for it.
    if session.conn.total_changes() - changes_before > changed as u64 {
        session.wakes.links_changed();
    }
    Ok(changed > 0)
}

impl NewRecords<'_> {
    fn insert_all(&mut self, session: &mut Session<'_>) -> Result<(), DriverError> {
        let mut rest = &self.0[..];
        while !rest.is_empty() {
            rest = &rest[insert_records(session, rest)?..];
        }
        self.0.clear();
        Ok(())
    }
}

/// Writes the first of some records. Answers with how many.
fn insert_records(
    session: &mut Session<'_>,
    records: &[(RunningRow, &Attempt)],
) -> Result<usize, DriverError> {
    let Session {
        conn, hot, names, ..
    } = session;
    let inserted = hot
        .attempt_insert
        .insert_some(conn, records, |row, (of, record)| {
            row.bind(of.seq)?;
            row.bind(record.fence.0)?;
            row.bind(record.attempt)?;
            row.bind(record.status.as_str())?;
            row.bind(record.started_at.as_micros())?;
            row.bind(record.finished_at.as_micros())?;
            row.bind(record.worker.as_ref().map(WorkerName::as_str))?;
            row.bind(record.failure.as_ref().map(to_json).transpose()?)?;
            let cell = Cell::Output(record.job, record.fence);
            let output = record.output.as_ref();
            let output = output.map(|output| names.cipher().seal(cell, output.as_str()));
            row.bind(output.transpose()?.as_deref())?;
            row.bind(record.note.as_deref())?;
            row.bind(record.decision.as_ref().map(to_json).transpose()?)?;
            row.bind(record.attempts_before)?;
            row.bind(record.usage.as_ref().map(to_json).transpose()?)
        })?;
    for (row, record) in &records[..inserted.taken] {
        if let Some(schedule) = row.schedule {
            conn.prepare_cached(include_str!("commit/schedule_attempt_insert.sql"))?
                .execute(params![
                    schedule_key(schedule),
                    record.finished_at.as_micros(),
                    job_key(record.job),
                    record.fence.0
                ])?;
        }
    }
    Ok(inserted.taken)
}

/// How often documents of this kind have changed, as the transaction sees it.
fn document_version(session: &Session<'_>, kind: DocumentKind) -> Result<u64, DriverError> {
    let found = session
        .conn
        .prepare_cached(include_str!(
            "../../sql/shared/operations/document_version.sql"
        ))?
        .query_row([kind.as_str()], |row| row.get("version"))
        .optional()?;
    Ok(found.map_or(0, unsigned))
}
