//! Writing transitions: progress, attempt record, outbox and counters together.

use std::{
    collections::{HashMap, HashSet},
    error::Error,
};

use steadfast_core::{Attempt, Job, JobId, JobState, Tally, Transition, WorkerName};

use super::{
    composite::{AsRow, Composite, Fields},
    enqueue,
    fault::Fault,
    find,
    rows::{Key, micros, to_json},
    session::{Conn, Session},
    wake_filter::WakeHints,
};
use crate::CommitResult;

/// How many transitions are written at once; callers send fewer.
const BATCH_MAX: usize = 10_000;

pub(super) async fn commit(
    conn: &mut Conn<'_>,
    transitions: &[Transition],
    news: &mut WakeHints,
) -> Result<Vec<CommitResult>, Fault> {
    let mut answers = vec![CommitResult::Stale; transitions.len()];
    for round in rounds(transitions, |transition| transition.job) {
        for indexes in round.chunks(BATCH_MAX) {
            let batch: Vec<&Transition> = indexes.iter().map(|at| &transitions[*at]).collect();
            let committed = commit_batch(conn, &batch, news).await?;
            for (index, committed) in indexes.iter().zip(committed) {
                answers[*index] = committed;
            }
        }
    }
    Ok(answers)
}

/// Divides a batch so that no part names a job twice, and what comes later in the batch comes
/// in a later part. Within a part, the order is that in which rows are locked everywhere.
pub(super) fn rounds<T>(items: &[T], job_of: impl Fn(&T) -> JobId) -> Vec<Vec<usize>> {
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
    news: &mut WakeHints,
) -> Result<Vec<CommitResult>, Fault> {
    let has_outbox = batch.iter().any(|transition| !transition.outbox.is_empty());
    let written = match has_outbox {
        // One statement is a transaction by itself.
        false => write(&conn.session(), batch, news).await?,
        true => write_with_outbox(conn, batch, news).await?,
    };
    let refused: Vec<&Transition> = batch
        .iter()
        .copied()
        .filter(|transition| !written.contains(&transition.job))
        .collect();
    let reasons = match refused.is_empty() {
        true => HashMap::new(),
        false => reasons(&conn.session(), &refused).await?,
    };
    let answer = |transition: &&Transition| match written.contains(&transition.job) {
        true => CommitResult::Done,
        false => reasons
            .get(&transition.job)
            .copied()
            .unwrap_or(CommitResult::Stale),
    };
    Ok(batch.iter().map(answer).collect())
}

async fn write_with_outbox(
    conn: &mut Conn<'_>,
    batch: &[&Transition],
    news: &mut WakeHints,
) -> Result<HashSet<JobId>, Fault> {
    let outboxes = batch.iter().flat_map(|transition| &transition.outbox);
    let numbered = enqueue::numbered(&conn.session(), outboxes).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let written = write(&session, batch, news).await?;
    let owners = batch
        .iter()
        .flat_map(|transition| transition.outbox.iter().map(|_| transition.job));
    let jobs: Vec<_> = numbered
        .into_iter()
        .zip(owners)
        .filter(|(_, owner)| written.contains(owner))
        .map(|(job, _)| job)
        .collect();
    enqueue::insert_unless_known(&session, &jobs, news).await?;
    transaction.commit().await?;
    Ok(written)
}

/// Writes the transitions whose guard holds, and says which those are.
async fn write(
    session: &Session<'_>,
    batch: &[&Transition],
    news: &mut WakeHints,
) -> Result<HashSet<JobId>, Fault> {
    let new: Vec<AsRow<&Transition>> = batch.iter().copied().map(AsRow).collect();
    let now = session.shared.time.given();
    let sql = include_str!("sql/commit.sql");
    let rows = session.query(sql, &[&now, &new]).await?;

    let mut written = HashSet::with_capacity(rows.len());
    let mut runs = HashSet::new();
    for row in rows {
        let job = row.try_get::<_, Key>(0)?.job();
        written.insert(job);
        if row.try_get(1)? {
            runs.insert(job);
        }
    }
    for Transition { job, to, .. } in batch {
        if written.contains(job) && to.state == JobState::Waiting {
            news.waits(to.run_at);
        }
        // The end of a run may let a queued tick go.
        if runs.contains(job) && to.state.is_final() {
            news.for_everybody();
        }
    }
    Ok(written)
}

/// Why guards did not hold.
async fn reasons(
    session: &Session<'_>,
    refused: &[&Transition],
) -> Result<HashMap<JobId, CommitResult>, Fault> {
    let ids: Vec<JobId> = refused.iter().map(|transition| transition.job).collect();
    let jobs = find::jobs(session, &ids).await?;
    let records = find::records(
        session,
        refused.iter().map(|new| (new.job, new.guard.fence)),
    );
    let records = records.await?;
    let reasons = refused.iter().zip(jobs).map(|(transition, job)| {
        let record = records.get(&transition.job);
        (transition.job, reason(transition, job, record))
    });
    Ok(reasons.collect())
}

fn reason(transition: &Transition, job: Option<Job>, record: Option<&Attempt>) -> CommitResult {
    let Some(job) = job else {
        return CommitResult::Stale;
    };
    let guard = transition.guard;
    let progress = &job.progress;
    if progress.state == JobState::Running && progress.fence == guard.fence {
        return match progress.cancel_requested && !guard.cancel_requested {
            true => CommitResult::CancelRequested,
            false => CommitResult::Stale,
        };
    }
    // A claim that does not hold any more may have been ended by this very transition, whose
    // answer was lost.
    let is_written = match &transition.record {
        Some(expected) => record == Some(expected),
        None => *progress == transition.to,
    };
    match is_written {
        true => CommitResult::Done,
        false => CommitResult::Stale,
    }
}

impl Composite for &Transition {
    fn put(&self, fields: &mut Fields<'_>) -> Result<(), Box<dyn Error + Sync + Send>> {
        let guard = &self.guard;
        fields.put(&Key::from(self.job))?;
        fields.put(&i64::from(guard.fence.0))?;
        fields.put(&guard.cancel_requested)?;
        fields.put(&guard.lease_expired)?;
        fields.put_progress(&self.to)?;
        let record = self.record.as_ref();
        put_record(fields, record)?;
        // What has no record has no minute to be counted in.
        let tally = record.map_or(Tally::default(), |_| self.tally);
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
        Ok(())
    }
}

fn put_record(
    fields: &mut Fields<'_>,
    record: Option<&Attempt>,
) -> Result<(), Box<dyn Error + Sync + Send>> {
    let worker = record.and_then(|record| record.worker.as_ref());
    let failure = record.and_then(|record| record.failure.as_ref());
    let output = record.and_then(|record| record.output.as_ref());
    let note = record.and_then(|record| record.note.as_deref());
    let decision = record.and_then(|record| record.decision.as_ref());
    fields.put(&record.map(|record| i64::from(record.fence.0)))?;
    fields.put(&record.map(|record| i64::from(record.attempt)))?;
    fields.put(&record.map(|record| record.status.as_str()))?;
    fields.put(&micros(record.map(|record| record.started_at)))?;
    fields.put(&micros(record.map(|record| record.finished_at)))?;
    fields.put(&worker.map(WorkerName::as_str))?;
    fields.put(&failure.map(to_json).transpose()?)?;
    fields.put(&output.map(|output| output.as_str()))?;
    fields.put(&note.map(to_json).transpose()?)?;
    fields.put(&decision.map(to_json).transpose()?)
}
