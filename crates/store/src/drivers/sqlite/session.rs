//! What a verb works with: a connection inside a transaction, the time, and what the writer
//! holds in memory beside the file.

use std::{collections::HashMap, sync::Arc};

use rusqlite::{Connection, PrepFlags, Statement};
use steadfast_core::{CostChange, JobId, JobState, NewJob, ScheduleId, Timestamp};

use super::{
    counts::{Bucket, Counts},
    driver_error::DriverError,
    due_index::{FileDueIndex, save_gates},
    log_mark::Checkpointer,
    names::Names,
    row_inserts::RowInserts,
    rows::JobRowColumns,
};
use crate::{
    claim::{DueRange, FlowKeyId},
    drivers::current_gates::CurrentGates,
    failures::FailureTallies,
    lane::LaneId,
    limits::{RUNNING_ROWS_MAX, WAKE_LANES_MAX},
    wake::WakeReasons,
};

pub(super) struct Session<'c> {
    pub conn: &'c Connection,
    pub now: Timestamp,
    pub names: Names,
    pub due: FileDueIndex,
    pub counts: Counts,
    pub failures: FailureTallies,
    pub hot: HotStatements<'c>,
    pub running: RunningRows,
    /// Only the writer has one.
    pub checkpointer: Option<Checkpointer>,
    /// What may be due earlier than waiting callers know.
    pub wakes: PendingWakes,
    /// The columns of what claims read, found once: a claim of one job is too short to look
    /// them up again.
    pub claim_columns: Option<JobRowColumns>,
    data_version: i64,
}

/// What transactions have made due, until callers are woken for it.
#[derive(Default)]
pub(super) struct PendingWakes {
    lanes: Vec<(LaneId, WaitingJobs)>,
    schedules: bool,
    links: bool,
    everything: bool,
}

/// Jobs of one lane that wait, and did not before.
struct WaitingJobs {
    count: usize,
    earliest: Timestamp,
}

impl PendingWakes {
    fn job_waits(&mut self, lane: LaneId, run_at: Timestamp) {
        // Jobs seldom come alone, and those of one lane come together.
        let known = self.lanes.iter_mut().rev().find(|(id, _)| *id == lane);
        if let Some((_, waiting)) = known {
            waiting.count += 1;
            waiting.earliest = waiting.earliest.min(run_at);
        } else if self.lanes.len() < WAKE_LANES_MAX {
            let waiting = WaitingJobs {
                count: 1,
                earliest: run_at,
            };
            self.lanes.push((lane, waiting));
        } else {
            self.wake_all();
        }
    }

    /// A schedule may be due, or a run has ended for which a tick waits.
    pub(super) fn schedule_waits(&mut self) {
        self.schedules = true;
    }

    /// Something has happened to a job that others wait for.
    pub(super) fn links_changed(&mut self) {
        self.links = true;
    }

    pub(super) fn wake_all(&mut self) {
        self.everything = true;
    }
}

/// The statements that every job passes through, outside of the connection's cache: finding one
/// there hashes its whole text, which costs about as much as binding its parameters.
pub(super) struct HotStatements<'c> {
    pub enqueue: RowInserts<'c>,
    pub progress: LazyStatement<'c>,
    pub attempt_insert: RowInserts<'c>,
    pub claim: LazyStatement<'c>,
    pub claim_due: LazyStatement<'c>,
}

impl Default for HotStatements<'_> {
    fn default() -> Self {
        Self {
            enqueue: RowInserts::new(include_str!("jobs/enqueue/enqueue.sql")),
            progress: LazyStatement::new(include_str!("jobs/commit/progress.sql")),
            attempt_insert: RowInserts::new(include_str!("jobs/commit/attempt_insert.sql")),
            claim: LazyStatement::new(include_str!("claim/claim.sql")),
            claim_due: LazyStatement::new(include_str!("claim/claim_due.sql")),
        }
    }
}

/// A statement that is prepared when it is first needed.
pub(super) struct LazyStatement<'c> {
    sql: &'static str,
    statement: Option<Statement<'c>>,
}

impl<'c> LazyStatement<'c> {
    const fn new(sql: &'static str) -> Self {
        Self {
            sql,
            statement: None,
        }
    }

    pub(super) fn on(&mut self, conn: &'c Connection) -> Result<&mut Statement<'c>, DriverError> {
        let statement = match self.statement.take() {
            Some(statement) => statement,
            None => conn.prepare_with_flags(self.sql, PrepFlags::SQLITE_PREPARE_PERSISTENT)?,
        };
        Ok(self.statement.insert(statement))
    }
}

/// Which rows hold the jobs that were claimed here, so that ending an attempt need not search.
///
/// Only a shortcut: the guard of the commit that uses a row checks it.
#[derive(Default)]
pub(super) struct RunningRows(HashMap<JobId, RunningRow>);

/// What does not change about a job while it runs.
#[derive(Clone, Copy)]
pub(super) struct RunningRow {
    pub seq: i64,
    pub flow_key: FlowKeyId,
    pub priority: u8,
    pub schedule: Option<ScheduleId>,
}

impl RunningRows {
    pub(super) fn insert(&mut self, job: JobId, row: RunningRow) {
        if self.0.len() >= RUNNING_ROWS_MAX {
            self.0.clear();
        }
        self.0.insert(job, row);
    }

    pub(super) fn get(&self, job: JobId) -> Option<RunningRow> {
        self.0.get(&job).copied()
    }

    pub(super) fn remove(&mut self, job: JobId) {
        self.0.remove(&job);
    }
}

/// A number that changes with every commit of another connection.
pub(super) fn data_version(conn: &Connection) -> Result<i64, DriverError> {
    let version = conn
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))?;
    Ok(version)
}

/// Where a job waits and is counted.
#[derive(Clone, Copy)]
pub(super) struct JobPosition {
    pub range: DueRange,
    pub run_at: Timestamp,
    pub bucket: Bucket,
    pub state: JobState,
    pub is_scheduled_run: bool,
}

impl<'c> Session<'c> {
    /// `data_version` is what was found when the connection was opened.
    pub(super) fn new(
        conn: &'c Connection,
        now: Timestamp,
        data_version: i64,
        gates: Arc<CurrentGates>,
    ) -> Self {
        Self {
            conn,
            now,
            names: Names::default(),
            due: FileDueIndex::new(gates),
            counts: Counts::default(),
            failures: FailureTallies::default(),
            hot: HotStatements::default(),
            running: RunningRows::default(),
            checkpointer: None,
            wakes: PendingWakes::default(),
            claim_columns: None,
            data_version,
        }
    }

    /// Notices what other connections have committed since the last check.
    pub(super) fn notice_other_writers(&mut self) -> Result<(), DriverError> {
        let version = data_version(self.conn)?;
        if self.data_version != version {
            self.data_version = version;
            self.due.invalidate();
            self.names.forget_stored();
            // A newer binary may have changed the schema.
            self.claim_columns = None;
            self.wakes.wake_all();
        }
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), DriverError> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.notice_other_writers()
    }

    /// Undoes everything, in the file and in memory.
    pub(super) fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "cannot roll back");
        }
        self.names.forget_stored();
        self.due.invalidate();
        self.counts.clear();
        self.failures = FailureTallies::default();
        self.hot = HotStatements::default();
        self.claim_columns = None;
        self.running = RunningRows::default();
    }

    /// A new job waits.
    pub(super) fn job_added(&mut self, range: DueRange, job: &NewJob, run_at: Timestamp) {
        let bucket = Bucket::waiting(run_at, range.level.is_retry());
        self.counts
            .move_job(range.flow_key.lane, None, Some(bucket));
        self.job_waits(range, Some(job), run_at);
    }

    /// A job has gone from one position to another.
    pub(super) fn job_moved(&mut self, from: JobPosition, to: JobPosition) {
        let lane = from.range.flow_key.lane;
        self.counts
            .move_job(lane, Some(from.bucket), Some(to.bucket));
        if from.state == JobState::Waiting {
            self.due.index.remove(from.range, from.run_at);
        }
        if to.state == JobState::Waiting {
            self.job_waits(to.range, None, to.run_at);
        }
        // It was the first of an ordered key and is not any more, or the other way round.
        let has_left = from.state == JobState::Waiting && to.state.is_final();
        let has_come = to.state == JobState::Waiting && from.state != JobState::Running;
        let is_elsewhere = from.state != JobState::Waiting || from.range != to.range;
        if has_left || (has_come && is_elsewhere) {
            self.due.index.order_changed(from.range.flow_key, self.now);
            self.wake_opened();
        }
        if from.state == JobState::Running && to.state != JobState::Running {
            self.due.index.remove_running(from.range.flow_key, self.now);
            self.wake_opened();
        }
        // The end of a run may let a queued tick fire.
        if to.state.is_final() && to.is_scheduled_run {
            self.wakes.schedule_waits();
        }
    }

    /// The gates of all running attempts are known from here on.
    pub(super) fn know_gates(&mut self) -> Result<(), DriverError> {
        let Self {
            conn,
            names,
            due,
            now,
            ..
        } = self;
        due.load(conn, names, *now)
    }

    /// An attempt used more or less than what was reserved for it.
    pub(super) fn settle_cost(
        &mut self,
        flow_key: FlowKeyId,
        change: &CostChange,
    ) -> Result<(), DriverError> {
        let index = &mut self.due.index;
        let settled = index.settle_cost(flow_key, change, self.now);
        save_gates(self.conn, index, &settled)
    }

    fn job_waits(&mut self, range: DueRange, job: Option<&NewJob>, run_at: Timestamp) {
        let is_earlier = self.due.add(range, job, run_at);
        if is_earlier || run_at <= self.now {
            self.wakes.job_waits(range.flow_key.lane, run_at);
        }
    }

    /// Callers may be waiting for what gates have let through.
    pub(super) fn wake_opened(&mut self) {
        for (flow_key, at) in self.due.index.take_wake_list() {
            self.wakes.job_waits(flow_key.lane, at);
        }
    }

    /// What has become due since the last call.
    pub(super) fn take_wakes(&mut self) -> Option<WakeReasons> {
        let PendingWakes {
            lanes,
            schedules,
            links,
            everything,
        } = std::mem::take(&mut self.wakes);
        if everything {
            return Some(WakeReasons::everything());
        }
        let mut reasons = WakeReasons::default();
        if schedules {
            reasons.schedule_waits();
        }
        if links {
            reasons.links_changed();
        }
        for (id, waiting) in lanes {
            match self.names.lane(self.conn, id) {
                Ok(lane) => reasons.jobs_wait(lane, waiting.count, waiting.earliest),
                Err(error) => {
                    tracing::warn!(%error, "waking all waiters because a lane cannot be decoded");
                    return Some(WakeReasons::everything());
                }
            }
        }
        (!reasons.is_empty()).then_some(reasons)
    }
}
