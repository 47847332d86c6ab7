//! Claiming: the one change a store makes on its own.
//!
//! Each due range of a lane and priority is searched by itself, so future jobs and jobs that
//! are not wanted are never passed over, however many there are.

use std::cmp::Reverse;

use rusqlite::{Connection, params};
use steadfast_core::{Claim, Job, Timestamp, WorkerName};

use super::{
    counts::Place,
    fault::Fault,
    lanes::{PRIORITIES, priority_number},
    rows::JobRow,
    session::{Seat, Session},
};
use crate::{ClaimRequest, ClaimResult};

/// One answer is built in memory; whoever wants more is told that more is due, and asks again.
const CLAIMS_MAX: usize = 10_000;
const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Answers without a write if nothing is due; `None` if something may be.
pub(super) fn peek(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<Option<ClaimResult>, Fault> {
    session.look()?;
    let wanted = session.lanes.wanted(session.conn, request)?;
    let next_due = session.lanes.next_due(session.conn, &wanted)?;
    let is_due = next_due.is_some_and(|due| due <= session.now);
    Ok((!is_due || request.max == 0).then(|| ClaimResult {
        claims: Vec::new(),
        next_due,
    }))
}

pub(super) fn claim(
    session: &mut Session<'_>,
    request: &ClaimRequest,
) -> Result<ClaimResult, Fault> {
    let wanted = session.lanes.wanted(session.conn, request)?;
    let mut taken = Taken::new(request);
    for priority in (0..PRIORITIES).rev() {
        let mut due = session.lanes.due(&wanted, priority, session.now);
        while let Some(Reverse((_, place))) = due.pop() {
            // Up to the time at which another lane may have something earlier.
            let until = due.peek().map_or(session.now, |Reverse((bound, _))| {
                Timestamp::from_micros(*bound)
            });
            if taken.is_full() {
                break;
            }
            take(session, &mut taken, place, priority, until)?;
            let next = session.lanes.exact(session.conn, place, priority)?;
            if next <= session.now.as_micros() {
                due.push(Reverse((next, place)));
            }
        }
    }
    Ok(ClaimResult {
        next_due: session.lanes.next_due(session.conn, &wanted)?,
        claims: taken.claims,
    })
}

struct Taken<'r> {
    request: &'r ClaimRequest,
    claims: Vec<Claim>,
    payload_bytes: usize,
}

impl<'r> Taken<'r> {
    fn new(request: &'r ClaimRequest) -> Self {
        Self {
            request,
            claims: Vec::new(),
            payload_bytes: 0,
        }
    }

    fn room(&self) -> usize {
        if self.payload_bytes > PAYLOAD_BYTES_MAX {
            return 0;
        }
        let max = self.request.max.min(CLAIMS_MAX);
        max.saturating_sub(self.claims.len())
    }

    fn is_full(&self) -> bool {
        self.room() == 0
    }

    fn push(&mut self, job: Job, now: Timestamp) {
        let ClaimRequest { worker, lease, .. } = self.request;
        self.payload_bytes += job.payload.as_str().len();
        self.claims.push(job.claimed(worker.clone(), *lease, now));
    }
}

/// Claims what one lane has due until the time given, as far as there is room.
fn take(
    session: &mut Session<'_>,
    taken: &mut Taken<'_>,
    place: usize,
    priority: usize,
    until: Timestamp,
) -> Result<(), Fault> {
    let Session {
        conn,
        now,
        names,
        lanes,
        counts,
        running,
        ..
    } = session;
    let lane = lanes.id(place);
    let room = i64::try_from(taken.room()).unwrap_or(i64::MAX);
    let mut select = conn.prepare_cached(include_str!("sql/claim_due.sql"))?;
    let mut rows = select.query(params![
        lane,
        priority_number(priority),
        until.as_micros(),
        room
    ])?;
    // The rows are written when all are read, for writing them moves them in the index.
    let (mut seqs, mut broken) = (Vec::new(), Vec::new());
    let first = taken.claims.len();
    while let Some(row) = rows.next()? {
        let Some(JobRow { seq, job, .. }) = JobRow::read_if_whole(conn, names, row)? else {
            broken.push(row.get(0)?);
            continue;
        };
        lanes.raise(place, priority, job.progress.run_at);
        seqs.push(seq);
        taken.push(job, *now);
        if taken.payload_bytes > PAYLOAD_BYTES_MAX {
            break;
        }
    }
    drop(rows);
    set_aside(conn, &broken)?;
    let mut update = conn.prepare_cached(include_str!("sql/claim.sql"))?;
    for (seq, claim) in seqs.iter().zip(&taken.claims[first..]) {
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
        counts.moved(lane, Some(Place::WAITING), Some(Place::RUNNING));
        let seat = Seat {
            seq: *seq,
            lane,
            priority: claim.job().priority.get(),
            schedule: claim.job().scheduled_run.map(|run| run.schedule),
        };
        running.claimed(claim.job().id, seat);
    }
    lanes.doubt(place, priority);
    Ok(())
}

/// Without this, rows that cannot be read would be due for ever, in front of all others.
fn set_aside(conn: &Connection, broken: &[i64]) -> Result<(), Fault> {
    for seq in broken {
        conn.prepare_cached(include_str!("sql/set_aside.sql"))?
            .execute(params![seq, Timestamp::MAX.as_micros()])?;
    }
    Ok(())
}
