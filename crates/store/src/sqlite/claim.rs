//! Claiming: the one change a store makes on its own.
//!
//! Each due range of a lane and priority is searched by itself, so future jobs and jobs that
//! are not asked for are never walked over, however many there are.

use std::cmp::Reverse;

use rusqlite::params;
use steadfast_core::{Claim, Job, Timestamp, WorkerName};

use super::{
    counts::Bucket,
    driver_error::DriverError,
    due_index::{PRIORITIES, priority_number},
    names::LaneId,
    rows::JobRow,
    session::{RunningRow, Session},
    values::time,
};
use crate::{
    limits::{CLAIM_PAYLOAD_BYTES_MAX, CLAIMS_MAX},
    sql::paging::row_limit,
    store::{ClaimRequest, ClaimResult},
};

/// Answers without a write if nothing is due; `None` if something may be.
pub(super) fn peek(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<Option<ClaimResult>, DriverError> {
    session.notice_other_writers()?;
    let damage = session.names.damage();
    let wanted = session
        .due_index
        .wanted_lanes(session.conn, &damage, request)?;
    let next_due = session.due_index.next_due(session.conn, &wanted)?;
    let is_due = next_due.is_some_and(|due| due <= session.now);
    Ok((!is_due || request.max == 0).then(|| ClaimResult {
        claims: Vec::new(),
        next_due,
    }))
}

pub(super) fn claim(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, DriverError> {
    let damage = session.names.damage();
    let wanted = session
        .due_index
        .wanted_lanes(session.conn, &damage, request)?;
    let mut batch = ClaimBatch::new(request);
    for priority in (0..PRIORITIES).rev() {
        let mut due = session.due_index.due(&wanted, priority, session.now);
        while let Some(Reverse((_, index))) = due.pop() {
            // Up to the time at which another lane may have something earlier.
            let until = due.peek().map_or(session.now, |Reverse((bound, _))| {
                Timestamp::from_micros(*bound)
            });
            if batch.is_full() {
                break;
            }
            claim_lane(session, &mut batch, index, priority, until)?;
            let next = session
                .due_index
                .exact_bound(session.conn, index, priority)?;
            if next <= session.now.as_micros() {
                due.push(Reverse((next, index)));
            }
        }
    }
    Ok(ClaimResult {
        next_due: session.due_index.next_due(session.conn, &wanted)?,
        claims: batch.claims,
    })
}

/// The claims of one request so far.
struct ClaimBatch<'r> {
    request: &'r ClaimRequest,
    claims: Vec<Claim>,
    payload_bytes: usize,
}

impl<'r> ClaimBatch<'r> {
    fn new(request: &'r ClaimRequest) -> Self {
        Self {
            request,
            claims: Vec::new(),
            payload_bytes: 0,
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

    fn is_full(&self) -> bool {
        self.remaining() == 0
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

/// Claims what one lane has due until the time given, as far as the batch has room.
fn claim_lane(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    index: usize,
    priority: usize,
    until: Timestamp,
) -> Result<(), DriverError> {
    let first = batch.claims.len();
    let due = read_due(session, batch, index, priority, until)?;
    let lane = session.due_index.lane_id(index);
    let mut update = session.conn.prepare_cached(include_str!("sql/claim.sql"))?;
    for (DueRow { seq, is_retry }, claim) in due.iter().zip(&batch.claims[first..]) {
        let progress = &claim.job().progress;
        update.execute(params![
            seq,
            progress.attempt,
            progress.fence.0,
            progress.lease_until.map(Timestamp::as_micros),
            progress.worker.as_ref().map(WorkerName::as_str),
            progress.started_at.map(Timestamp::as_micros),
            progress.first_started_at.map(Timestamp::as_micros),
        ])?;
        let from = Bucket::waiting(progress.run_at, *is_retry);
        session
            .counts
            .move_job(lane, Some(from), Some(Bucket::RUNNING));
        let row = RunningRow {
            seq: *seq,
            lane,
            priority: claim.job().priority.get(),
            schedule: claim.job().scheduled_run.map(|run| run.schedule),
        };
        session.running.insert(claim.job().id, row);
    }
    session.due_index.mark_inexact(index, priority);
    Ok(())
}

/// The row of a due job.
struct DueRow {
    seq: i64,
    is_retry: bool,
}

/// Reads due jobs of a lane into the batch, and answers with their rows. They are
/// written when all are read, because writing a row moves it in the index.
fn read_due(
    session: &mut Session<'_>,
    batch: &mut ClaimBatch<'_>,
    index: usize,
    priority: usize,
    until: Timestamp,
) -> Result<Vec<DueRow>, DriverError> {
    let conn = session.conn;
    let mut select = conn.prepare_cached(include_str!("sql/claim_due.sql"))?;
    let columns = session.claim_columns(&select)?;
    let mut rows = select.query(params![
        session.due_index.lane_id(index),
        priority_number(priority),
        until.as_micros(),
        row_limit(batch.remaining()),
    ])?;
    let (mut due, mut unreadable) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let read = JobRow::read_if_readable(conn, &mut session.names, &columns, row)?;
        let Some(JobRow { seq, job, .. }) = read else {
            unreadable.push(UnreadableRow {
                seq: row.get("seq")?,
                run_at: time(row.get("run_at")?),
                is_retry: row.get::<_, i64>("attempt")? > row.get("attempts_before")?,
            });
            continue;
        };
        let run_at = job.progress.run_at;
        session.due_index.raise_bound(index, priority, run_at);
        let is_retry = job.progress.attempt > job.progress.attempts_before;
        due.push(DueRow { seq, is_retry });
        batch.push(job, session.now);
        if batch.is_full() {
            break;
        }
    }
    drop(rows);
    set_aside(session, session.due_index.lane_id(index), &unreadable)?;
    Ok(due)
}

/// A due row that cannot be read as a job.
struct UnreadableRow {
    seq: i64,
    run_at: Timestamp,
    is_retry: bool,
}

/// Without this, rows that cannot be read would be due for ever, before all others.
fn set_aside(
    session: &mut Session<'_>,
    lane: LaneId,
    unreadable: &[UnreadableRow],
) -> Result<(), DriverError> {
    for row in unreadable {
        session
            .conn
            .prepare_cached(include_str!("sql/set_aside.sql"))?
            .execute(params![row.seq, Timestamp::MAX.as_micros()])?;
        let from = Bucket::waiting(row.run_at, row.is_retry);
        let to = Bucket::waiting(Timestamp::MAX, row.is_retry);
        session.counts.move_job(lane, Some(from), Some(to));
    }
    Ok(())
}
