//! Writing transitions: progress, attempt record, outbox and counters together.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
};

use steadfast_core::{
    Attempt, CommitResult, JobId, JobState, OutboxRefusal, Tally, Transition, WorkerName,
};

use crate::drivers::postgres::{
    composite::{AsRow, Composite, Fields},
    driver_error::DriverError,
    failures, get, insert,
    key::Key,
    names::with_numbers,
    session::{Conn, Session},
    transaction::wrappers::SessionTransaction,
    values::{micros, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::{Cell, Cipher},
    drivers::sql::values::unsigned,
    failures::FailureTallies,
    lane::LaneId,
    limits::COMMIT_BATCH_MAX,
    store::DocumentKind,
    verbs::outbox,
    wake::WakeReasons,
};

pub(crate) async fn commit(
    conn: &mut Conn<'_>,
    transitions: &[Transition],
    hints: &mut WakeReasons,
) -> Result<Vec<CommitResult>, DriverError> {
    let mut answers = vec![CommitResult::Stale; transitions.len()];
    for round in rounds(transitions, |transition| transition.job) {
        // One whose outbox may be refused is a transaction by itself, which can be rolled back.
        let (linked, plain): (Vec<usize>, Vec<usize>) = round
            .into_iter()
            .partition(|at| outbox::has_links(&transitions[*at].outbox));
        for indexes in plain.chunks(COMMIT_BATCH_MAX).chain(linked.chunks(1)) {
            let batch: Vec<&Transition> = indexes.iter().map(|at| &transitions[*at]).collect();
            let committed = commit_batch(conn, &batch, hints).await?;
            for (index, committed) in indexes.iter().zip(committed) {
                answers[*index] = committed;
            }
        }
    }
    Ok(answers)
}

/// Divides a batch so that no part names a job twice, and what comes later in the batch comes
/// in a later part. Within a part, the order is that in which rows are locked everywhere.
pub(crate) fn rounds<T>(items: &[T], job_of: impl Fn(&T) -> JobId) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    let mut times_met: HashMap<JobId, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let times = times_met.entry(job_of(item)).or_default();
        if rounds.len() == *times {
            rounds.push(Vec::new());
        }
        rounds[*times].push(index);
        *times += 1;
    }
    for round in &mut rounds {
        round.sort_by_key(|index| job_of(&items[*index]));
    }
    rounds
}

async fn commit_batch(
    conn: &mut Conn<'_>,
    batch: &[&Transition],
    hints: &mut WakeReasons,
) -> Result<Vec<CommitResult>, DriverError> {
    let has_outbox = batch.iter().any(|transition| !transition.outbox.is_empty());
    let has_failures = batch.iter().any(|new| new.observation.is_some());
    let written = if has_outbox || has_failures {
        match write_with_additions(conn, batch, hints).await? {
            Ok(written) => written,
            Err(refused) => return Ok(vec![CommitResult::OutboxRefused(refused); batch.len()]),
        }
    } else {
        // One statement is a transaction by itself.
        write(&conn.session(), batch, hints).await?
    };
    let refused: Vec<&Transition> = batch
        .iter()
        .copied()
        .filter(|transition| !written.contains(&transition.job))
        .collect();
    let refusals = if refused.is_empty() {
        HashMap::new()
    } else {
        let batch_is_guarded = endpoints_version(batch).is_some();
        refusals(&conn.session(), &refused, batch_is_guarded).await?
    };
    let answer = |transition: &&Transition| {
        if written.contains(&transition.job) {
            return CommitResult::Done;
        }
        let refusal = refusals.get(&transition.job).copied();
        refusal.unwrap_or(CommitResult::Stale)
    };
    Ok(batch.iter().map(answer).collect())
}

/// The same with what belongs to the transitions beside their jobs: outboxes, and counts of failures.
/// If the outbox of the only one is refused, nothing is written.
async fn write_with_additions(
    conn: &mut Conn<'_>,
    batch: &[&Transition],
    hints: &mut WakeReasons,
) -> Result<Result<HashSet<JobId>, OutboxRefusal>, DriverError> {
    let outboxes = batch.iter().flat_map(|transition| &transition.outbox);
    let numbered = with_numbers(&conn.session(), outboxes).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let written = write(&session, batch, hints).await?;
    let linked = batch.iter().find(|it| outbox::has_links(&it.outbox));
    if let Some(transition) = linked.filter(|it| written.contains(&it.job)) {
        let mut links = SessionTransaction::new(&session, hints);
        match outbox::plan(&mut links, transition).await? {
            Ok(plan) => outbox::save(&mut links, transition, &plan).await?,
            Err(refused) => {
                transaction.roll_back().await?;
                return Ok(Err(refused));
            }
        }
    }
    let owners = batch
        .iter()
        .flat_map(|transition| transition.outbox.iter().map(|_| transition.job));
    let jobs: Vec<_> = numbered
        .into_iter()
        .zip(owners)
        .filter(|(_, owner)| written.contains(owner) && linked.is_none())
        .map(|(job, _)| job)
        .collect();
    insert::insert_unless_stored(&session, &jobs, hints).await?;
    let mut failures = FailureTallies::default();
    let observed = batch.iter().filter(|new| written.contains(&new.job));
    for observed in observed.filter_map(|new| new.observation.as_ref()) {
        failures.add(observed);
    }
    failures::append(&session, &failures).await?;
    transaction.commit().await?;
    Ok(Ok(written))
}

/// Writes the transitions whose guard holds. Answers which those are.
async fn write(
    session: &Session<'_>,
    batch: &[&Transition],
    hints: &mut WakeReasons,
) -> Result<HashSet<JobId>, DriverError> {
    let cipher = &session.shared.cipher;
    let new = batch.iter().map(|transition| AsRow((*transition, cipher)));
    let new: Vec<AsRow<(&Transition, &Cipher)>> = new.collect();
    let now = session.shared.clock.given();
    let endpoints = endpoints_version(batch);
    let sql = include_str!("commit/commit.sql");
    let rows = session.query(sql, &[&now, &new, &endpoints]).await?;

    let mut written = HashMap::with_capacity(rows.len());
    let mut runs = HashSet::new();
    for row in rows {
        let job = row.try_get::<_, Key>("id")?.job();
        let (lane, priority): (LaneId, i16) = (row.try_get("lane")?, row.try_get("priority")?);
        let flow_key = FlowKeyId {
            lane,
            number: row.try_get("flow_key")?,
        };
        if row.try_get("is_gated")? {
            hints.attempt_ended(flow_key);
        }
        let priority = u8::try_from(priority).unwrap_or(u8::MAX);
        written.insert(job, (lane, flow_key, priority));
        if row.try_get("is_run")? {
            runs.insert(job);
        }
        if row.try_get("has_links")? {
            hints.links_changed();
        }
    }
    for Transition { job, to, .. } in batch {
        if let (Some((lane, flow_key, priority)), JobState::Waiting) = (written.get(job), to.state)
        {
            match session.shared.names.lane(*lane) {
                Some(lane) => hints.jobs_wait(&lane, 1, to.run_at),
                None => hints.wake_all(),
            }
            let level = Level::new(*priority, to.attempt > to.attempts_before);
            let range = DueRange {
                flow_key: *flow_key,
                level,
            };
            hints.range_waits(range, None, to.run_at);
        }
        // The end of a run may let a queued tick fire.
        if runs.contains(job) && to.state.is_final() {
            hints.schedule_waits();
        }
    }
    Ok(written.into_keys().collect())
}

/// The version of the endpoints that a batch was decided with, the oldest if there are several:
/// if it has moved on, the whole batch is decided again, which costs less than comparing each.
fn endpoints_version(batch: &[&Transition]) -> Option<i64> {
    let versions = batch.iter().filter_map(|new| new.guard.endpoints);
    let oldest = versions.min();
    oldest.map(|version| i64::try_from(version).unwrap_or(i64::MAX))
}

/// Why guards did not hold, as core says.
async fn refusals(
    session: &Session<'_>,
    refused: &[&Transition],
    batch_is_guarded: bool,
) -> Result<HashMap<JobId, CommitResult>, DriverError> {
    let ids: Vec<JobId> = refused.iter().map(|transition| transition.job).collect();
    let jobs = get::jobs(session, &ids).await?;
    let claims = refused.iter().map(|new| (new.job, new.guard.fence));
    let records = get::records(session, claims).await?;
    let endpoints = document_version(session, DocumentKind::Endpoint).await?;
    let now = session.shared.clock.now();
    // A guard that holds now did not when the database compared it, or that of another
    // transition in the batch did not.
    let otherwise = if batch_is_guarded {
        CommitResult::EndpointsChanged
    } else {
        CommitResult::Stale
    };
    let refusals = refused.iter().zip(jobs).map(|(transition, job)| {
        let record = records.get(&transition.job);
        let stored = job.as_ref().map(|job| &job.progress);
        let refusal = transition.refusal(stored, record, endpoints, now);
        (transition.job, refusal.unwrap_or(otherwise))
    });
    Ok(refusals.collect())
}

impl Composite for (&Transition, &Cipher) {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let (transition, cipher) = self;
        let guard = &transition.guard;
        fields.put(&Key::from(transition.job))?;
        fields.put(&i64::from(guard.fence.0))?;
        fields.put(&guard.cancel_requested)?;
        fields.put(&guard.lease_expired)?;
        fields.put_progress(&transition.to)?;
        let record = transition.record.as_ref();
        put_record(fields, record, cipher)?;
        // What has no record has no minute to be counted in.
        let tally = record.map_or(Tally::default(), |_| transition.tally);
        for count in [
            tally.attempts,
            tally.successes,
            tally.failures,
            tally.retries,
            tally.successful_retries,
            tally.exhausted,
        ] {
            fields.put(&i32::try_from(count)?)?;
        }
        let observed = transition.observation.as_ref();
        fields.put(&observed.map(|observed| observed.key.number()))?;
        fields.put(&Key::from(transition.job).day())
    }
}

fn put_record(
    fields: &mut Fields<'_>,
    record: Option<&Attempt>,
    cipher: &Cipher,
) -> Result<(), Box<dyn Error + Sync + Send>> {
    let worker = record.and_then(|record| record.worker.as_ref());
    let failure = record.and_then(|record| record.failure.as_ref());
    let output = record.and_then(|record| {
        let cell = Cell::Output(record.job, record.fence);
        let output = record.output.as_ref()?;
        Some(cipher.seal(cell, output.as_str()))
    });
    let note = record.and_then(|record| record.note.as_deref());
    let decision = record.and_then(|record| record.decision.as_ref());
    fields.put(&record.map(|record| i64::from(record.fence.0)))?;
    fields.put(&record.map(|record| i64::from(record.attempt)))?;
    fields.put(&record.map(|record| i64::from(record.attempts_before)))?;
    fields.put(&record.map(|record| record.status.as_str()))?;
    fields.put(&micros(record.map(|record| record.started_at)))?;
    fields.put(&micros(record.map(|record| record.finished_at)))?;
    fields.put(&worker.map(WorkerName::as_str))?;
    fields.put(&failure.map(to_json).transpose()?)?;
    fields.put(&output.transpose()?.as_deref())?;
    fields.put(&note.map(to_json).transpose()?)?;
    fields.put(&decision.map(to_json).transpose()?)
}

/// How often documents of this kind have changed.
async fn document_version(session: &Session<'_>, kind: DocumentKind) -> Result<u64, DriverError> {
    let sql = include_str!("../../sql/shared/operations/document_version.sql");
    let found = session.shared_query(sql, &[&kind.as_str()]).await?;
    let version = found.first().map(|row| row.try_get("version"));
    Ok(version.transpose()?.map_or(0, unsigned))
}
