//! The smaller changes to jobs: renewing leases, keeping steps, commands, pausing.

use std::{collections::HashMap, error::Error};

use steadfast_core::{
    CommandResult, Job, JobCommand, JobId, JobState, NewJob, Payload, Queue, StepName,
    Subscriptions, Tenant, Timestamp, on_command,
};

use super::{
    commit::rounds,
    composite::{AsRow, Composite, Fields},
    counts::Counts,
    enqueue,
    fault::Fault,
    find,
    names::{LaneId, PolicyId},
    rows::{self, JOB_COLUMNS, Key, duration_micros, to_json},
    session::{Conn, Session},
    wake_filter::WakeHints,
};
use crate::{CommandError, RenewResult, Renewal};

/// How many jobs one transaction of a command locks.
const COMMANDED_MAX: usize = 1_000;

pub(super) async fn renew(
    session: &Session<'_>,
    renewals: &[Renewal],
) -> Result<Vec<RenewResult>, Fault> {
    let mut answers = vec![RenewResult::Lost; renewals.len()];
    for round in rounds(renewals, |renewal| renewal.job) {
        let batch = || round.iter().map(|index| &renewals[*index]);
        let jobs: Vec<Key> = batch().map(|renewal| renewal.job.into()).collect();
        let fences: Vec<i64> = batch().map(|renewal| renewal.fence.0.into()).collect();
        let leases: Vec<i64> = batch()
            .map(|renewal| duration_micros(renewal.lease))
            .collect();
        let notes: Result<Vec<Option<String>>, Fault> = batch()
            .map(|renewal| renewal.note.as_deref().map(to_json).transpose())
            .collect();
        let now = session.shared.time.given();
        let sql = include_str!("sql/renew.sql");
        let rows = session
            .query(sql, &[&now, &jobs, &fences, &leases, &notes?])
            .await?;
        let mut held = HashMap::with_capacity(rows.len());
        for row in rows {
            let renewed = RenewResult::Held {
                until: rows::time(row.try_get(1)?),
                cancel_requested: row.try_get(2)?,
            };
            held.insert(row.try_get::<_, Key>(0)?.job(), renewed);
        }
        for index in round {
            if let Some(renewed) = held.get(&renewals[index].job) {
                answers[index] = *renewed;
            }
        }
    }
    Ok(answers)
}

/// Keeps the result of a step, and answers with the one that is kept: the first.
pub(super) async fn remember(
    session: &Session<'_>,
    job: JobId,
    step: &StepName,
    result: &Payload,
) -> Result<Payload, Fault> {
    let sql = include_str!("sql/once_remember.sql");
    session
        .execute(sql, &[&Key::from(job), &step.as_str(), &result.as_str()])
        .await?;
    let kept = find::recall(session, job, step).await?;
    // A job that is gone keeps nothing.
    Ok(kept.unwrap_or_else(|| result.clone()))
}

/// Carries out what core decides about a command, in transactions of a bounded size.
pub(super) async fn command(
    conn: &mut Conn<'_>,
    jobs: &[JobId],
    command: &JobCommand,
    subscriptions: &Subscriptions,
    news: &mut WakeHints,
) -> Result<Vec<Result<Job, CommandError>>, Fault> {
    // A number that is given inside a transaction is not remembered.
    if let JobCommand::Edit(edit) = command
        && let Some(policy) = &edit.policy
    {
        let names = &conn.shared.names;
        names.policy_id(&conn.session(), policy).await?;
    }
    let mut answers = Vec::with_capacity(jobs.len());
    for some in jobs.chunks(COMMANDED_MAX) {
        let transaction = conn.begin().await?;
        answers
            .extend(command_in(&transaction.session(), some, command, subscriptions, news).await?);
        transaction.commit().await?;
    }
    Ok(answers)
}

/// The same in a transaction of the caller's.
pub(super) async fn command_in(
    session: &Session<'_>,
    ids: &[JobId],
    command: &JobCommand,
    subscriptions: &Subscriptions,
    news: &mut WakeHints,
) -> Result<Vec<Result<Job, CommandError>>, Fault> {
    let mut found = Found::lock(session, ids).await?;
    let mut answers = Vec::with_capacity(ids.len());
    let mut outbox: Vec<NewJob> = Vec::new();
    for id in ids {
        answers.push(match found.jobs.get_mut(id) {
            None => Err(CommandError::NotFound(*id)),
            Some(held) => match on_command(held.job.clone(), command, subscriptions, found.now) {
                Err(refused) => Err(refused.into()),
                Ok(CommandResult { job, outbox: told }) => {
                    outbox.extend(told);
                    held.job = job.clone();
                    held.is_changed = true;
                    Ok(job)
                }
            },
        });
    }
    found.write(session, news).await?;
    let outbox = enqueue::numbered(session, outbox.iter()).await?;
    enqueue::insert_unless_known(session, &outbox, news).await?;
    Ok(answers)
}

/// Jobs that a transaction holds, as they were and as they will be.
struct Found {
    now: Timestamp,
    jobs: HashMap<JobId, Held>,
}

#[derive(Debug)]
struct Held {
    lane: LaneId,
    policy: PolicyId,
    before: Job,
    job: Job,
    is_changed: bool,
}

impl Found {
    async fn lock(session: &Session<'_>, ids: &[JobId]) -> Result<Self, Fault> {
        let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
        let given = session.shared.time.given();
        let sql = include_str!("sql/command_find.sql");
        let rows = session.query(sql, &[&given, &keys]).await?;
        let names = session.shared.names.of(session, &rows).await?;
        let mut now = session.shared.time.now();
        let mut jobs = HashMap::with_capacity(rows.len());
        for row in rows {
            let job = rows::job(&names, &row)?;
            now = rows::time(row.try_get(JOB_COLUMNS)?);
            let held = Held {
                lane: rows::lane(&row)?,
                policy: row.try_get(rows::COLUMN_POLICY)?,
                before: job.clone(),
                job,
                is_changed: false,
            };
            jobs.insert(held.job.id, held);
        }
        Ok(Self { now, jobs })
    }

    async fn write(&self, session: &Session<'_>, news: &mut WakeHints) -> Result<(), Fault> {
        let changed: Vec<&Held> = self.jobs.values().filter(|held| held.is_changed).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let mut counts = Counts::default();
        let mut rows = Vec::with_capacity(changed.len());
        for held in changed {
            let Held { before, job, .. } = held;
            let names = &session.shared.names;
            let policy = match job.policy == before.policy {
                true => held.policy,
                false => names.policy_id(session, &job.policy).await?,
            };
            rows.push(AsRow(Commanded { held, policy }));
            counts.moved(held.lane, &before.progress, &job.progress);
            held.tell(news);
        }
        session
            .execute(include_str!("sql/command.sql"), &[&rows])
            .await?;
        counts.write(session).await
    }
}

/// What a command came to, as it is written.
#[derive(Debug)]
struct Commanded<'h> {
    held: &'h Held,
    policy: PolicyId,
}

impl Composite for Commanded<'_> {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let Held { before, job, .. } = self.held;
        let payload = Some(job.payload.as_str()).filter(|_| job.payload != before.payload);
        fields.put(&Key::from(job.id))?;
        fields.put(&i16::from(job.priority.get()))?;
        fields.put(&self.policy)?;
        fields.put(&payload)?;
        fields.put_progress(&job.progress)
    }
}

impl Held {
    fn tell(&self, news: &mut WakeHints) {
        let progress = &self.job.progress;
        if progress.state == JobState::Waiting {
            news.waits(progress.run_at);
        }
        // The end of a run may let a queued tick go.
        if progress.state.is_final() && self.job.scheduled_run.is_some() {
            news.for_everybody();
        }
    }
}

pub(super) async fn set_paused(
    session: &Session<'_>,
    tenant: &Tenant,
    queue: &Queue,
    paused: bool,
) -> Result<(), Fault> {
    let sql = match paused {
        true => include_str!("sql/pause.sql"),
        false => include_str!("sql/resume.sql"),
    };
    session
        .execute(sql, &[&tenant.as_str(), &queue.as_str()])
        .await
}
