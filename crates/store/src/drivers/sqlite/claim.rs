//! Claiming: the one change a store makes on its own.
//!
//! One range after the other: the due index names the next one, its first rows are taken, and the
//! index learns what was found. Future jobs, jobs behind closed gates and jobs that are not asked for
//! are never read, however many there are.

pub(crate) mod due_index;
pub(crate) mod start;

use std::collections::HashSet;

use rusqlite::{OptionalExtension as _, Statement, params};
use steadfast_core::{Claim, FlowKey, GateNumber, Guarantee, Job, JobState, Timestamp, WorkerName};

use super::{
    counts::Bucket,
    driver_error::DriverError,
    rows::{JobRow, JobRowColumns},
    session::{RunningRow, Session},
    values::time,
};
use crate::{
    claim::{DueRange, FlowKeyId, Head, Pick, SentJobs},
    drivers::sql::paging::row_limit,
    limits::{
        CLAIM_EMPTY_RANGES_MAX, CLAIM_PAYLOAD_BYTES_MAX, CLAIMS_MAX, LATE_JOB_LOOK_AGAIN,
        PROBE_JOBS_LOOKED_MAX, PROBE_LOOK_AGAIN,
    },
    store::{ClaimRequest, ClaimResult},
};
use due_index::save_gates;

/// Answers without a write if nothing is due; `None` if something may be.
pub(super) fn peek(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<Option<ClaimResult>, DriverError> {
    session.notice_other_writers()?;
    let Session {
        conn,
        names,
        due,
        now,
        ..
    } = session;
    due.prepare(conn, names, request, *now)?;
    let next_due = due.next_due(conn, request, *now)?;
    let is_due = next_due.is_some_and(|due| due <= *now);
    Ok((!is_due || request.max == 0).then(|| ClaimResult {
        claims: Vec::new(),
        next_due,
    }))
}

pub(super) fn claim(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, DriverError> {
    let Session {
        conn,
        names,
        due,
        now,
        ..
    } = session;
    due.prepare(conn, names, request, *now)?;
    let mut batch = ClaimBatch::new(request);
    let mut counting: HashSet<GateNumber> = HashSet::new();
    let mut empty = 0;
    while let Some((pick, until)) =
        session
            .due
            .index
            .choose(request, batch.remaining(), &batch.sent, session.now)
    {
        let (taken, head) = match pick.is_ordered() {
            true => claim_first_of_key(session, &mut batch, &pick)?,
            false if pick.is_probe() => claim_probe(session, &mut batch, &pick)?,
            false => claim_range(session, &mut batch, pick.range, until, pick.most)?,
        };
        batch.sent.add(&pick, taken);
        session.due.index.finish(&pick, taken, head, session.now);
        let gates = pick.gates.iter().filter(|gate| gate.limits.counts_starts());
        counting.extend(gates.map(|gate| gate.number));
        empty += usize::from(taken == 0);
        if empty == CLAIM_EMPTY_RANGES_MAX {
            tracing::warn!(empty, "a claim found many ranges empty; it continues later");
            break;
        }
    }
    save_gates(session.conn, &session.due.index, &counting)?;
    session.wake_opened();
    let Session { conn, due, now, .. } = session;
    Ok(ClaimResult {
        next_due: due.next_due(conn, request, *now)?,
        claims: batch.claims,
    })
}

/// The claims of one request so far.
struct ClaimBatch<'r> {
    request: &'r ClaimRequest,
    claims: Vec<Claim>,
    payload_bytes: usize,
    sent: SentJobs,
}

impl<'r> ClaimBatch<'r> {
    fn new(request: &'r ClaimRequest) -> Self {
        Self {
            request,
            claims: Vec::new(),
            payload_bytes: 0,
            sent: SentJobs::default(),
        }
    }

    /// How many more it may hold.
    fn remaining(&self) -> usize {
        if self.payload_bytes > CLAIM_PAYLOAD_BYTES_MAX {
            return 0;
        }
        let max = self.request.max.min(CLAIMS_MAX);
        max.saturating_sub(self.claims.len())
    }

    fn push(&mut self, job: Job, now: Timestamp) {
        let ClaimRequest { worker, lease, .. } = self.request;
        self.payload_bytes += job.payload.as_str().len();
        let claim = job.claim(worker.clone(), *lease, now);
        self.claims.push(match self.request.within_timeout {
            true => claim.within_timeout(),
            false => claim,
        });
    }
}

/// Claims what one range has due until the time given. Answers how many, and what is next.
fn claim_range(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    range: DueRange,
    until: Timestamp,
    most: usize,
) -> Result<(usize, Head), DriverError> {
    let first = batch.claims.len();
    let (rows, head) = read_due(session, batch, range, until, most)?;
    for (row, claim) in rows.iter().zip(&batch.claims[first..]) {
        write_claim(session, range.flow_key, row, claim)?;
    }
    Ok((rows.len(), head))
}

fn write_claim(
    session: &mut Session<'_>,
    flow_key: FlowKeyId,
    row: &DueRow,
    claim: &Claim,
) -> Result<(), DriverError> {
    let (job, progress) = (claim.job(), &claim.job().progress);
    session.hot.claim.on(session.conn)?.execute(params![
        row.seq,
        progress.attempt,
        progress.fence.0,
        progress.lease_until.map(Timestamp::as_micros),
        progress.worker.as_ref().map(WorkerName::as_str),
        progress.started_at.map(Timestamp::as_micros),
        progress.first_started_at.map(Timestamp::as_micros),
    ])?;
    let from = Bucket::waiting(progress.run_at, row.is_retry);
    session
        .counts
        .move_job(flow_key.lane, Some(from), Some(Bucket::RUNNING));
    let running = RunningRow {
        seq: row.seq,
        flow_key,
        priority: job.priority.get(),
        schedule: job.scheduled_run.map(|run| run.schedule),
    };
    session.running.insert(job.id, running);
    Ok(())
}

/// The row of a due job.
struct DueRow {
    seq: i64,
    is_retry: bool,
}

/// Reads due jobs of a range into the batch. Answers with their rows, and what is next. They are
/// written when all are read, because writing a row moves it in the index.
fn read_due(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    range: DueRange,
    until: Timestamp,
    most: usize,
) -> Result<(Vec<DueRow>, Head), DriverError> {
    let Session {
        conn,
        hot,
        names,
        claim_columns,
        now,
        ..
    } = session;
    let conn = *conn;
    let select = hot.claim_due.on(conn)?;
    let columns = find_columns(claim_columns, select)?;
    let FlowKeyId { lane, number } = range.flow_key;
    let most = most.min(batch.remaining());
    // One more, to know what is next.
    let limit = row_limit(most.saturating_add(1));
    let at = now.as_micros();
    let mut rows = select.query(params![lane, number, range.level.number(), limit, at])?;
    let (mut due, mut unreadable) = (Vec::new(), Vec::new());
    let is_retry = range.level.is_retry();
    let mut head = Head::None;
    while let Some(row) = rows.next()? {
        let run_at = time(row.get(columns.job.run_at)?);
        if run_at > until || due.len() >= most || batch.remaining() == 0 {
            head = Head::At(run_at);
            break;
        }
        let read = JobRow::read_if_readable(conn, names, &columns, row)?;
        let Some(JobRow { seq, job, .. }) = read else {
            let seq = row.get("seq")?;
            unreadable.push(UnreadableRow { seq, run_at });
            // So many were asked for that it is not known what comes after them.
            head = Head::At(run_at);
            continue;
        };
        due.push(DueRow { seq, is_retry });
        batch.push(job, *now);
    }
    drop(rows);
    quarantine(session, range, &unreadable)?;
    if !unreadable.is_empty() {
        head = due_index::head(conn, range)?;
    }
    Ok((due, head))
}

/// Where the columns of a job are, which is the same in all statements here.
fn find_columns(
    known: &mut Option<JobRowColumns>,
    statement: &Statement<'_>,
) -> Result<JobRowColumns, DriverError> {
    match known {
        Some(columns) => Ok(*columns),
        None => Ok(*known.insert(JobRowColumns::find(statement)?)),
    }
}

/// Claims the first job that is tried again if it fails.
fn claim_probe(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    pick: &Pick,
) -> Result<(usize, Head), DriverError> {
    let (conn, range) = (session.conn, pick.range);
    let mut select = conn.prepare_cached(include_str!("claim/claim_probe.sql"))?;
    let columns = find_columns(&mut session.claim_columns, &select)?;
    let FlowKeyId { lane, number } = range.flow_key;
    let looked = row_limit(PROBE_JOBS_LOOKED_MAX);
    let at = session.now.as_micros();
    let at_most_once = !pick.leaves_out_at_most_once(session.now);
    let level = range.level.number();
    let mut rows = select.query(params![lane, number, level, looked, at, at_most_once])?;
    let look_again = Head::RetryAt(session.now.plus(PROBE_LOOK_AGAIN));
    let Some(row) = rows.next()? else {
        return Ok((0, look_again));
    };
    let Some(JobRow { seq, job, .. }) =
        JobRow::read_if_readable(conn, &mut session.names, &columns, row)?
    else {
        return Ok((0, look_again));
    };
    drop(rows);
    if job.progress.run_at > session.now {
        return Ok((0, Head::RetryAt(job.progress.run_at)));
    }
    let is_retry = range.level.is_retry();
    batch.push(job, session.now);
    if let Some(claim) = batch.claims.last() {
        write_claim(session, range.flow_key, &DueRow { seq, is_retry }, claim)?;
    }
    Ok((1, due_index::head(conn, range)?))
}

/// Claims the oldest unfinished job of a concurrency key, if it waits in this range and is due.
fn claim_first_of_key(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    pick: &Pick,
) -> Result<(usize, Head), DriverError> {
    let conn = session.conn;
    let range = pick.range;
    let Some(key) = session.due.index.key_number(range.flow_key) else {
        return Ok((0, due_index::head(conn, range)?));
    };
    let mut select = conn.prepare_cached(include_str!("claim/claim_ordered.sql"))?;
    let columns = find_columns(&mut session.claim_columns, &select)?;
    let mut rows = select.query([key])?;
    let Some(row) = rows.next()? else {
        drop(rows);
        return Ok((0, due_index::head(conn, range)?));
    };
    let Some(JobRow { seq, lane, job }) =
        JobRow::read_if_readable(conn, &mut session.names, &columns, row)?
    else {
        // It keeps back the others until it is repaired or deleted.
        return Ok((0, Head::BlockedByOrder));
    };
    drop(rows);
    let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
    let found = FlowKeyId {
        lane,
        number: FlowKey::number(destination, key),
    };
    let is_retry = job.progress.attempt > job.progress.attempts_before;
    let is_here = found == range.flow_key
        && job.priority.get() == range.level.priority()
        && is_retry == range.level.is_retry()
        && job.progress.state == JobState::Waiting;
    if !is_here {
        return Ok((0, Head::BlockedByOrder));
    }
    if job.progress.run_at > session.now {
        return Ok((0, Head::At(job.progress.run_at)));
    }
    if job.has_missed_start(session.now) {
        // Until the sweeper has ended it.
        return Ok((0, Head::RetryAt(session.now.plus(LATE_JOB_LOOK_AGAIN))));
    }
    let is_left_out = pick.leaves_out_at_most_once(session.now);
    if is_left_out && job.guarantee == Guarantee::AtMostOnce {
        let look_again = session.now.plus(PROBE_LOOK_AGAIN);
        return Ok((0, Head::RetryAt(look_again)));
    }
    let row = DueRow { seq, is_retry };
    batch.push(job, session.now);
    if let Some(claim) = batch.claims.last() {
        write_claim(session, range.flow_key, &row, claim)?;
    }
    Ok((1, due_index::head(conn, range)?))
}

/// A due row that cannot be read as a job.
struct UnreadableRow {
    seq: i64,
    run_at: Timestamp,
}

/// Without this, rows that cannot be read would be due for ever, before all others.
fn quarantine(
    session: &mut Session<'_>,
    range: DueRange,
    unreadable: &[UnreadableRow],
) -> Result<(), DriverError> {
    check_keys(session, unreadable)?;
    let is_retry = range.level.is_retry();
    for row in unreadable {
        session
            .conn
            .prepare_cached(include_str!("claim/quarantine.sql"))?
            .execute(params![row.seq, Timestamp::MAX.as_micros()])?;
        let from = Bucket::waiting(row.run_at, is_retry);
        let to = Bucket::waiting(Timestamp::MAX, is_retry);
        session
            .counts
            .move_job(range.flow_key.lane, Some(from), Some(to));
    }
    Ok(())
}

/// Fails if another process can read one of these rows: this one lacks a key, and must not claim.
fn check_keys(session: &Session<'_>, unreadable: &[UnreadableRow]) -> Result<(), DriverError> {
    let cipher = session.names.cipher();
    for row in unreadable {
        let stored: Option<Option<String>> = session
            .conn
            .prepare_cached(include_str!("claim/stored_payload.sql"))?
            .query_row(params![row.seq], |row| row.get("payload"))
            .optional()?;
        let stored = stored.flatten().unwrap_or_default();
        let Some(key) = cipher.missing_key(&stored) else {
            continue;
        };
        let is_used = session
            .conn
            .prepare_cached(include_str!("claim/has_encryption_key.sql"))?
            .exists(params![key])?;
        if is_used {
            return Err(DriverError::MissingKey(key.to_owned()));
        }
    }
    Ok(())
}
