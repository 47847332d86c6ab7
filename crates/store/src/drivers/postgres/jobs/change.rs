//! The smaller changes to jobs: renewing leases, saving steps, commands, pausing.

use std::{collections::HashMap, error::Error, sync::Arc};

use steadfast_core::{
    CommandRefusal, CommandResult, DependantDecision, Destination, Fence, FlowKey, Job, JobCommand,
    JobId, JobState, NewJob, Payload, RefusalReason, StepName, Subscriptions, Timestamp,
    limits::STEPS_MAX, on_command, on_dependant_command,
};
use tokio_postgres::types::ToSql;

use crate::drivers::postgres::{
    commit::rounds,
    composite::{AsRow, Composite, Fields},
    counts::Counts,
    driver_error::DriverError,
    failures, get, insert,
    key::Key,
    names::{job_rows, policy_id, with_numbers},
    session::{Conn, Session},
    transaction::wrappers::SessionTransaction,
    unique::Holders,
    values::{duration_micros, time, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::{Cell, Cipher},
    drivers::sql::{numbers::PolicyId, paging::row_limit},
    drivers::transaction::JobCondition,
    error::CommandError,
    failures::{FailureTallies, dead_letter_key},
    lane::{Lane, LaneId},
    limits::{COMMAND_BATCH_MAX, TRANSACTION_TRIES_MAX},
    store::{RenewResult, Renewal, SaveStepResult},
    verbs::dependencies,
    wake::WakeReasons,
};

pub(crate) async fn renew(
    session: &Session<'_>,
    renewals: &[Renewal],
) -> Result<Vec<RenewResult>, DriverError> {
    let mut answers = vec![RenewResult::Lost; renewals.len()];
    for round in rounds(renewals, |renewal| renewal.job) {
        let batch = || round.iter().map(|index| &renewals[*index]);
        let jobs: Vec<Key> = batch().map(|renewal| renewal.job.into()).collect();
        let fences: Vec<i64> = batch().map(|renewal| renewal.fence.0.into()).collect();
        let leases: Vec<i64> = batch()
            .map(|renewal| duration_micros(renewal.lease))
            .collect();
        let notes: Result<Vec<Option<String>>, DriverError> = batch()
            .map(|renewal| renewal.note.as_deref().map(to_json).transpose())
            .collect();
        let within: Vec<bool> = batch().map(|renewal| renewal.within_timeout).collect();
        let now = session.shared.clock.given();
        let sql = include_str!("change/renew.sql");
        let rows = session
            .query(sql, &[&now, &jobs, &fences, &leases, &notes?, &within])
            .await?;
        let mut held = HashMap::with_capacity(rows.len());
        for row in rows {
            let renewed = RenewResult::Held {
                until: time(row.try_get("lease_until")?),
                cancel_requested: row.try_get("cancel_requested")?,
            };
            held.insert(row.try_get::<_, Key>("id")?.job(), renewed);
        }
        for index in round {
            if let Some(renewed) = held.get(&renewals[index].job) {
                answers[index] = *renewed;
            }
        }
    }
    Ok(answers)
}

/// Stores the result of a step, and answers with the one that is stored: the first.
pub(crate) async fn save_step(
    session: &Session<'_>,
    job: JobId,
    fence: Option<Fence>,
    step: &StepName,
    result: &Payload,
) -> Result<SaveStepResult, DriverError> {
    if let Some(fence) = fence {
        return save_claimed_step(session, job, fence, step, result).await;
    }
    let sql = include_str!("change/save_step.sql");
    let cell = Cell::Step(job, step.as_str());
    let sealed = session.shared.cipher.seal(cell, result.as_str())?;
    session
        .execute(sql, &[&Key::from(job), &step.as_str(), &&*sealed])
        .await?;
    let stored = get::steps(session, job, Some(step), 1).await?.pop();
    // For a deleted job nothing is stored.
    let stored = stored.map_or_else(|| result.clone(), |(_, stored)| stored);
    Ok(SaveStepResult::Stored(stored))
}

/// The same under a claim that must hold.
async fn save_claimed_step(
    session: &Session<'_>,
    job: JobId,
    fence: Fence,
    step: &StepName,
    result: &Payload,
) -> Result<SaveStepResult, DriverError> {
    let (cipher, cell) = (&session.shared.cipher, Cell::Step(job, step.as_str()));
    let sealed = cipher.seal(cell, result.as_str())?;
    let (job, fence) = (Key::from(job), i64::from(fence.0));
    let sql = include_str!("change/save_claimed_step.sql");
    let most = row_limit(STEPS_MAX);
    session
        .execute(sql, &[&job, &step.as_str(), &&*sealed, &fence, &most])
        .await?;
    let sql = include_str!("change/claimed_step.sql");
    let found = session.query(sql, &[&job, &step.as_str(), &fence]).await?;
    let Some(row) = found.first() else {
        return Ok(SaveStepResult::Stale);
    };
    let result: Option<&str> = row.try_get("result")?;
    Ok(match result {
        Some(result) => {
            let result = cipher.open(cell, result)?;
            SaveStepResult::Stored(Payload::from_stored(&result))
        }
        None => SaveStepResult::Full,
    })
}

/// Carries out what core decides about a command, in transactions of a bounded size.
pub(crate) async fn run_command(
    conn: &mut Conn<'_>,
    jobs: &[JobId],
    command: &JobCommand,
    subscriptions: &Subscriptions,
    hints: &mut WakeReasons,
) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
    // A number that is given inside a transaction is not cached.
    if let JobCommand::Edit(edit) = command
        && let Some(policy) = &edit.policy
    {
        policy_id(&conn.session(), policy).await?;
    }
    let mut answers = Vec::with_capacity(jobs.len());
    let (mut rest, mut size, mut tries) = (jobs, COMMAND_BATCH_MAX, 1);
    while !rest.is_empty() {
        let (some, others) = rest.split_at(size.min(rest.len()));
        let transaction = conn.begin().await?;
        let session = transaction.session();
        let done = run_command_in(&session, some, command, subscriptions, hints).await;
        drop(session);
        match done {
            Ok(done) => {
                transaction.commit().await?;
                answers.extend(done);
                (rest, size, tries) = (others, COMMAND_BATCH_MAX, 1);
            }
            // A job has ended while it was waited for, and moved. Few jobs at a time meet fewer ends.
            Err(error) if error.is_worth_repeating() && tries < TRANSACTION_TRIES_MAX => {
                transaction.roll_back().await?;
                (size, tries) = ((size / 4).max(1), tries + 1);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(answers)
}

/// The same in the caller's transaction.
pub(crate) async fn run_command_in(
    session: &Session<'_>,
    ids: &[JobId],
    command: &JobCommand,
    subscriptions: &Subscriptions,
    hints: &mut WakeReasons,
) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
    run_command_if(session, ids, command, subscriptions, &|_| true, hints).await
}

/// The same, as if a job were not there unless a condition holds.
pub(crate) async fn run_command_if(
    session: &Session<'_>,
    ids: &[JobId],
    command: &JobCommand,
    subscriptions: &Subscriptions,
    condition: &JobCondition<'_>,
    hints: &mut WakeReasons,
) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
    let mut batch = LockedJobs::lock(session, ids).await?;
    let mut answers = Vec::with_capacity(ids.len());
    let mut outbox: Vec<NewJob> = Vec::new();
    let is_retry = matches!(command, JobCommand::Retry { .. });
    let mut holders = match is_retry {
        true => Holders::lock(session, batch.unique_numbers()).await?.jobs,
        false => Vec::new(),
    };
    let locked: Vec<&Job> = batch.jobs.values().map(|locked| &locked.job).collect();
    let mut transaction = SessionTransaction::new(session, hints);
    let decisions = dependencies::decisions_for(&mut transaction, &locked, command).await?;
    for id in ids {
        answers.push(match batch.jobs.get_mut(id) {
            None => Err(CommandError::NotFound(*id)),
            Some(locked) if !condition(&locked.job) => Err(CommandError::NotFound(*id)),
            Some(locked) if is_retry && locked.is_key_taken(&holders) => {
                let reason = RefusalReason::UniqueKeyTaken;
                Err(CommandRefusal { job: *id, reason }.into())
            }
            Some(locked) => match on_locked(
                locked.job.clone(),
                command,
                decisions.get(id).copied(),
                subscriptions,
                batch.now,
            ) {
                Err(refused) => Err(refused.into()),
                Ok(CommandResult {
                    job,
                    outbox: deliveries,
                }) => {
                    outbox.extend(deliveries);
                    if is_retry && job.unique().is_some() {
                        holders.push(job.clone());
                    }
                    locked.job = job.clone();
                    locked.is_changed = true;
                    Ok(job)
                }
            },
        });
    }
    batch.write(session, hints).await?;
    // Those that they wait for may have ended since they were read, and have found nothing to release.
    let waiting = decisions
        .iter()
        .filter(|(_, it)| **it == DependantDecision::Wait);
    let waiting: Vec<JobId> = waiting.map(|(id, _)| *id).collect();
    dependencies::look_again(&mut SessionTransaction::new(session, hints), &waiting).await?;
    let outbox = with_numbers(session, outbox.iter()).await?;
    insert::insert_unless_stored(session, &outbox, hints).await?;
    Ok(answers)
}

fn on_locked(
    job: Job,
    command: &JobCommand,
    decision: Option<DependantDecision>,
    subscriptions: &Subscriptions,
    now: Timestamp,
) -> Result<CommandResult, CommandRefusal> {
    match decision {
        Some(decision) => on_dependant_command(job, command, decision, subscriptions, now),
        None => on_command(job, command, subscriptions, now),
    }
}

/// Jobs that a transaction has locked, as they were and as they will be.
struct LockedJobs {
    now: Timestamp,
    jobs: HashMap<JobId, LockedJob>,
}

#[derive(Debug)]
struct LockedJob {
    lane: LaneId,
    policy: PolicyId,
    before: Job,
    job: Job,
    is_changed: bool,
    is_hot: bool,
}

impl LockedJobs {
    /// Of the unique keys of those that have ended.
    fn unique_numbers(&self) -> Vec<i64> {
        let ended = self.jobs.values().map(|locked| &locked.job);
        let ended = ended.filter(|job| job.progress.state.is_final());
        let numbers = ended.filter_map(|job| Some(job.unique()?.number(&job.tenant)));
        numbers.collect()
    }

    async fn lock(session: &Session<'_>, ids: &[JobId]) -> Result<Self, DriverError> {
        let keys: Vec<Key> = ids.iter().map(|id| (*id).into()).collect();
        let given = session.shared.clock.given();
        let sql = include_str!("change/command_find.sql");
        let (first, last) = Key::days(&keys);
        let rows = session.query(sql, &[&given, &keys, &first, &last]).await?;
        let mut now = session.shared.clock.now();
        let mut jobs = HashMap::with_capacity(rows.len());
        let Some(found) = job_rows(session, rows).await? else {
            return Ok(Self { now, jobs });
        };
        for row in &found.rows {
            // To a command, a job that cannot be read is none.
            let Some(job) = found.read_if_readable(session, row)? else {
                continue;
            };
            now = time(row.try_get("now")?);
            let locked = LockedJob {
                lane: row.try_get(found.columns.lane)?,
                policy: row.try_get(found.columns.policy)?,
                before: job.clone(),
                job,
                is_changed: false,
                is_hot: row.try_get::<_, i32>("day")? < 0,
            };
            jobs.insert(locked.job.id, locked);
        }
        Ok(Self { now, jobs })
    }

    async fn write(
        &self,
        session: &Session<'_>,
        hints: &mut WakeReasons,
    ) -> Result<(), DriverError> {
        let changed = self.jobs.values().filter(|locked| locked.is_changed);
        let changed: Vec<&LockedJob> = changed.collect();
        if changed.is_empty() {
            return Ok(());
        }
        let mut counts = Counts::default();
        let mut tallies = FailureTallies::default();
        let mut rows = Vec::with_capacity(changed.len());
        let mut without_deadline: Vec<Key> = Vec::new();
        let mut moved = MovedJobs::default();
        let ended = changed.iter().filter(|locked| !locked.is_hot);
        let ended: Vec<Key> = ended.map(|locked| locked.job.id.into()).collect();
        if !ended.is_empty() {
            let sql = include_str!("change/come_back.sql");
            session.execute(sql, &[&ended]).await?;
        }
        for locked in changed {
            let LockedJob { before, job, .. } = locked;
            let policy = if job.policy == before.policy {
                locked.policy
            } else {
                policy_id(session, &job.policy).await?
            };
            rows.push(AsRow(CommandRow {
                locked,
                policy,
                cipher: &session.shared.cipher,
            }));
            if before.start_deadline() != job.start_deadline() {
                without_deadline.push(job.id.into());
            }
            if before.destination != job.destination {
                moved.add(job, locked.flow_key(job));
            }
            counts.move_job(locked.lane, &before.progress, &job.progress);
            tallies.resolve(dead_letter_key(before), job);
            locked.add_hints(hints);
        }
        session
            .execute(include_str!("change/command.sql"), &[&rows])
            .await?;
        failures::append(session, &tallies).await?;
        if !without_deadline.is_empty() {
            let sql = include_str!("change/start_deadline_clear.sql");
            session.execute(sql, &[&without_deadline]).await?;
        }
        moved.write(session).await?;
        counts.write(session).await
    }
}

/// Jobs that call another destination than before.
#[derive(Default)]
struct MovedJobs<'j> {
    ids: Vec<Key>,
    destinations: Vec<Option<&'j str>>,
    flow_keys: Vec<i64>,
}

impl<'j> MovedJobs<'j> {
    fn add(&mut self, job: &'j Job, flow_key: FlowKeyId) {
        self.ids.push(job.id.into());
        let destination = job.destination.as_ref();
        self.destinations.push(destination.map(Destination::as_str));
        self.flow_keys.push(flow_key.number);
    }

    async fn write(&self, session: &Session<'_>) -> Result<(), DriverError> {
        if self.ids.is_empty() {
            return Ok(());
        }
        let sql = include_str!("change/destination_set.sql");
        let params: [&(dyn ToSql + Sync); 3] = [&self.ids, &self.destinations, &self.flow_keys];
        session.execute(sql, &params).await
    }
}

/// A job after a command, as it is written.
#[derive(Debug)]
struct CommandRow<'l> {
    locked: &'l LockedJob,
    policy: PolicyId,
    cipher: &'l Cipher,
}

impl Composite for CommandRow<'_> {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let LockedJob { before, job, .. } = self.locked;
        let payload = Some(job.payload.as_str()).filter(|_| job.payload != before.payload);
        let payload = payload.map(|text| self.cipher.seal(Cell::Payload(job.id), text));
        fields.put(&Key::from(job.id))?;
        fields.put(&i16::from(job.priority.get()))?;
        fields.put(&self.policy)?;
        fields.put(&payload.transpose()?.as_deref())?;
        fields.put_progress(&job.progress)
    }
}

impl LockedJob {
    /// Whether it has ended, and one of these jobs has its unique key.
    fn is_key_taken(&self, holders: &[Job]) -> bool {
        let job = &self.job;
        let Some(unique) = job.unique().filter(|_| job.progress.state.is_final()) else {
            return false;
        };
        let others = holders.iter().filter(|holder| holder.id != job.id);
        let mut others = others.filter(|holder| holder.tenant == job.tenant);
        others.any(|holder| {
            let has_key = holder.unique().is_some_and(|own| own.key == unique.key);
            has_key && unique.is_taken_by(holder)
        })
    }

    fn flow_key(&self, job: &Job) -> FlowKeyId {
        let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
        FlowKeyId {
            lane: self.lane,
            number: FlowKey::number(destination, key),
        }
    }

    fn range(&self, job: &Job) -> DueRange {
        let is_retry = job.progress.attempt > job.progress.attempts_before;
        DueRange {
            flow_key: self.flow_key(job),
            level: Level::new(job.priority.get(), is_retry),
        }
    }

    fn add_hints(&self, hints: &mut WakeReasons) {
        let (before, progress) = (&self.before, &self.job.progress);
        if before.progress.state == JobState::Waiting {
            hints.job_left(self.range(before), before.progress.run_at);
        }
        if progress.state == JobState::Waiting {
            hints.jobs_wait(&Lane::from(&self.job), 1, progress.run_at);
            let flow_key = Arc::new(FlowKey::from(&self.job));
            hints.range_waits(self.range(&self.job), Some(flow_key), progress.run_at);
        }
        // Another job of an ordered key may be the first now, or this one again.
        let is_same =
            before.progress.state == progress.state && self.range(before) == self.range(&self.job);
        if self.job.concurrency_key.is_some() && !is_same {
            hints.attempt_ended(self.flow_key(before));
            hints.attempt_ended(self.flow_key(&self.job));
        }
        // Others may wait for it, or a batch count it.
        if progress.state.is_final() || self.job.batch().is_some() {
            hints.links_changed();
        }
        // The end of a run may let a queued tick fire.
        if progress.state.is_final() && self.job.scheduled_run.is_some() {
            hints.schedule_waits();
        }
    }
}
