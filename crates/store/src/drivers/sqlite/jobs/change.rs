//! The smaller changes to jobs: renewing leases, saving steps, commands, pausing.

use rusqlite::{OptionalExtension, params};
use steadfast_core::{
    CommandRefusal, CommandResult, Destination, Fence, FlowKey, Job, JobCommand, JobId, Payload,
    RefusalReason, StepName, Subscriptions, Timestamp, limits::STEPS_MAX, on_command,
    on_dependant_command,
};

use crate::drivers::sqlite::{
    commit::{NewProgress, write_progress},
    counts::Bucket,
    driver_error::DriverError,
    get,
    insert::{StoredPayload, insert_unless_stored},
    rows::JobRow,
    session::{JobPosition, Session},
    transaction::wrappers::{WriterTransaction, finish},
    unique,
    values::job_key,
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::Cell,
    drivers::sql::paging::row_limit,
    error::CommandError,
    failures::dead_letter_key,
    lane::LaneId,
    store::{RenewResult, Renewal, SaveStepResult},
    verbs::dependencies,
};

pub(crate) fn renew(
    session: &mut Session<'_>,
    renewal: &Renewal,
) -> Result<RenewResult, DriverError> {
    let until = session.now.plus(renewal.lease);
    let held: Option<(i64, bool)> = session
        .conn
        .prepare_cached(include_str!("change/renew.sql"))?
        .query_row(
            params![
                job_key(renewal.job),
                renewal.fence.0,
                until.as_micros(),
                renewal.note,
                renewal.within_timeout,
            ],
            |row| Ok((row.get("lease_until")?, row.get("cancel_requested")?)),
        )
        .optional()?;
    Ok(match held {
        Some((until, cancel_requested)) => RenewResult::Held {
            until: Timestamp::from_micros(until),
            cancel_requested,
        },
        None => RenewResult::Lost,
    })
}

/// Stores the result of a step, and answers with the one that is stored: the first.
pub(crate) fn save_step(
    session: &mut Session<'_>,
    job: JobId,
    fence: Option<Fence>,
    step: &StepName,
    result: &Payload,
) -> Result<SaveStepResult, DriverError> {
    if let Some(fence) = fence {
        return save_claimed_step(session, job, fence, step, result);
    }
    let cipher = session.names.cipher();
    let sealed = cipher.seal(Cell::Step(job, step.as_str()), result.as_str())?;
    session
        .conn
        .prepare_cached(include_str!("change/save_step.sql"))?
        .execute(params![job_key(job), step.as_str(), sealed])?;
    let stored = get::steps(session.conn, cipher, job, Some(step), 1)?.pop();
    // For a deleted job nothing is stored.
    let stored = stored.map_or_else(|| result.clone(), |(_, stored)| stored);
    Ok(SaveStepResult::Stored(stored))
}

/// The same under a claim that must hold.
fn save_claimed_step(
    session: &mut Session<'_>,
    job: JobId,
    fence: Fence,
    step: &StepName,
    result: &Payload,
) -> Result<SaveStepResult, DriverError> {
    let key = job_key(job);
    let (cipher, cell) = (session.names.cipher(), Cell::Step(job, step.as_str()));
    session
        .conn
        .prepare_cached(include_str!("change/save_claimed_step.sql"))?
        .execute(params![
            key,
            step.as_str(),
            cipher.seal(cell, result.as_str())?,
            fence.0,
            row_limit(STEPS_MAX)
        ])?;
    let found: Option<Option<String>> = session
        .conn
        .prepare_cached(include_str!("change/claimed_step.sql"))?
        .query_row(params![key, step.as_str(), fence.0], |row| {
            row.get("result")
        })
        .optional()?;
    Ok(match found {
        Some(Some(result)) => {
            let result = cipher.open(cell, &result)?;
            SaveStepResult::Stored(Payload::from_stored(&result))
        }
        Some(None) => SaveStepResult::Full,
        None => SaveStepResult::Stale,
    })
}

/// Carries out what core decides about a command.
pub(crate) fn run_command(
    session: &mut Session<'_>,
    id: JobId,
    command: &JobCommand,
    subscriptions: &Subscriptions,
) -> Result<Result<Job, CommandError>, DriverError> {
    run_command_if(session, id, command, subscriptions, |_| true)
}

/// The same, as if the job were not there unless a condition holds.
pub(crate) fn run_command_if(
    session: &mut Session<'_>,
    id: JobId,
    command: &JobCommand,
    subscriptions: &Subscriptions,
    only: impl FnOnce(&Job) -> bool,
) -> Result<Result<Job, CommandError>, DriverError> {
    let row = match get::job(session.conn, &mut session.names, id) {
        Ok(Some(row)) => row,
        // To a command, a job that cannot be read is none.
        Ok(None) | Err(DriverError::Damaged(_)) => return Ok(Err(CommandError::NotFound(id))),
        Err(error) => return Err(error),
    };
    if !only(&row.job) {
        return Ok(Err(CommandError::NotFound(id)));
    }
    let JobRow { seq, lane, job } = row;
    if let (JobCommand::Retry { .. }, Some(unique)) = (command, job.unique()) {
        let Session { conn, names, .. } = session;
        let holder = unique::find(conn, names, &job.tenant, unique)?;
        if holder.is_some_and(|holder| holder.id != id && unique.is_taken_by(&holder)) {
            let reason = RefusalReason::UniqueKeyTaken;
            return Ok(Err(CommandRefusal { job: id, reason }.into()));
        }
    }
    let start_deadline = job.start_deadline();
    let from = position(lane, &job);
    let dead_letter = dead_letter_key(&job);
    let (priority, policy, payload) = (job.priority, job.policy.clone(), job.payload.clone());
    let decision = finish(dependencies::decision_for(
        &mut WriterTransaction::new(session),
        &job,
        command,
    ))?;
    let changed = match decision {
        Some(decision) => on_dependant_command(job, command, decision, subscriptions, session.now),
        None => on_command(job, command, subscriptions, session.now),
    };
    let CommandResult { job, outbox } = match changed {
        Ok(changed) => changed,
        Err(refused) => return Ok(Err(refused.into())),
    };
    session.failures.resolve(dead_letter, &job);
    let new = NewProgress {
        to: &job.progress,
        failure_group: None,
    };
    write_progress(session, seq, new, None)?;
    if job.start_deadline() != start_deadline {
        let sql = include_str!("change/start_deadline_clear.sql");
        session.conn.prepare_cached(sql)?.execute([seq])?;
    }
    let to = position(lane, &job);
    let is_moved = from.range.flow_key != to.range.flow_key;
    if is_moved || job.priority != priority || job.policy != policy || job.payload != payload {
        write_edit(session, seq, &job, to.range.flow_key)?;
    }
    session.job_moved(from, to);
    for new in &outbox {
        insert_unless_stored(session, new)?;
    }
    Ok(Ok(job))
}

/// What a command may change besides progress.
fn write_edit(
    session: &mut Session<'_>,
    seq: i64,
    job: &Job,
    flow_key: FlowKeyId,
) -> Result<(), DriverError> {
    let Session { conn, names, .. } = session;
    let policy = names.policy_id(conn, &job.policy)?;
    let payload = StoredPayload::seal(names.cipher(), job.id, &job.payload)?;
    let params = params![
        seq,
        job.priority.get(),
        policy,
        payload.inline(),
        job.destination.as_ref().map(Destination::as_str),
        flow_key.number
    ];
    let sql = include_str!("change/command.sql");
    conn.prepare_cached(sql)?.execute(params)?;
    payload.save_large(conn, seq)
}

fn position(lane: LaneId, job: &Job) -> JobPosition {
    let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
    let number = FlowKey::number(destination, key);
    let is_retry = job.progress.attempt > job.progress.attempts_before;
    JobPosition {
        range: DueRange {
            flow_key: FlowKeyId { lane, number },
            level: Level::new(job.priority.get(), is_retry),
        },
        run_at: job.progress.run_at,
        bucket: Bucket::of(&job.progress),
        state: job.progress.state,
        is_scheduled_run: job.scheduled_run.is_some(),
    }
}
