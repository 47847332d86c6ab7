//! The smaller changes to jobs: renewing leases, keeping steps, commands, pausing.

use rusqlite::{OptionalExtension, params};
use steadfast_core::{
    CommandResult, Job, JobCommand, JobId, Payload, Queue, StepName, Subscriptions, Tenant,
    on_command,
};

use super::{
    commit::write_progress,
    counts::Place,
    enqueue::{inline, insert_unless_known, keep_large},
    fault::Fault,
    find,
    names::LaneId,
    rows::{JobRow, job_key},
    session::{Session, Spot},
};
use crate::{CommandError, RenewResult, Renewal};

pub(super) fn renew(session: &mut Session<'_>, renewal: &Renewal) -> Result<RenewResult, Fault> {
    let until = session.now.plus(renewal.lease);
    let held: Option<bool> = session
        .conn
        .prepare_cached(include_str!("sql/renew.sql"))?
        .query_row(
            params![
                job_key(renewal.job),
                renewal.fence.0,
                until.as_micros(),
                renewal.note
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(match held {
        Some(cancel_requested) => RenewResult::Held {
            until,
            cancel_requested,
        },
        None => RenewResult::Lost,
    })
}

/// Keeps the result of a step, and answers with the one that is kept: the first.
pub(super) fn remember(
    session: &mut Session<'_>,
    job: JobId,
    step: &StepName,
    result: &Payload,
) -> Result<Payload, Fault> {
    session
        .conn
        .prepare_cached(include_str!("sql/once_remember.sql"))?
        .execute(params![job_key(job), step.as_str(), result.as_str()])?;
    let kept = find::recall(session.conn, job, step)?;
    // A job that is gone keeps nothing.
    Ok(kept.unwrap_or_else(|| result.clone()))
}

/// Carries out what core decides about a command.
pub(super) fn command(
    session: &mut Session<'_>,
    id: JobId,
    command: &JobCommand,
    subscriptions: &Subscriptions,
) -> Result<Result<Job, CommandError>, Fault> {
    let Some(row) = find::job(session.conn, &mut session.names, id)? else {
        return Ok(Err(CommandError::NotFound(id)));
    };
    let JobRow { seq, lane, job } = row;
    let from = spot(lane, &job);
    let (priority, policy, payload) = (job.priority, job.policy.clone(), job.payload.clone());
    let CommandResult { job, outbox } = match on_command(job, command, subscriptions, session.now) {
        Ok(changed) => changed,
        Err(refused) => return Ok(Err(refused.into())),
    };
    write_progress(session, seq, &job.progress, None)?;
    if job.priority != priority || job.policy != policy || job.payload != payload {
        let policy = session.names.policy_id(session.conn, &job.policy)?;
        session
            .conn
            .prepare_cached(include_str!("sql/command.sql"))?
            .execute(params![
                seq,
                job.priority.get(),
                policy,
                inline(&job.payload)
            ])?;
        keep_large(session, seq, &job.payload)?;
    }
    session.moved(from, spot(lane, &job));
    for new in &outbox {
        insert_unless_known(session, new)?;
    }
    Ok(Ok(job))
}

fn spot(lane: LaneId, job: &Job) -> Spot {
    Spot {
        lane,
        priority: job.priority.get(),
        run_at: job.progress.run_at,
        place: Place::of(&job.progress),
        state: job.progress.state,
        is_run: job.scheduled_run.is_some(),
    }
}

pub(super) fn set_paused(
    session: &mut Session<'_>,
    tenant: &Tenant,
    queue: &Queue,
    paused: bool,
) -> Result<(), Fault> {
    let sql = match paused {
        true => include_str!("sql/pause.sql"),
        false => include_str!("sql/resume.sql"),
    };
    session
        .conn
        .prepare_cached(sql)?
        .execute((tenant.as_str(), queue.as_str()))?;
    session.lanes.set_paused(tenant, queue, paused);
    session.due_sooner |= !paused;
    Ok(())
}
