//! What a verb works with: a connection inside a transaction, the time, and what the writer
//! keeps in memory beside the file.

use std::collections::HashMap;

use rusqlite::{Connection, PrepFlags, Statement};
use steadfast_core::{JobId, JobState, ScheduleId, Timestamp};

use super::{
    counts::{Counts, Place},
    fault::Fault,
    lanes::Lanes,
    names::{LaneId, Names},
};

pub(super) struct Session<'c> {
    pub conn: &'c Connection,
    pub now: Timestamp,
    pub names: Names,
    pub lanes: Lanes,
    pub counts: Counts,
    pub hot: Hot<'c>,
    pub running: Running,
    /// Something may be due earlier than sleepers know.
    pub due_sooner: bool,
    data_version: i64,
}

/// The statements that every job passes through, kept at hand: even to find one of them in
/// the connection's cache costs as much as binding it.
pub(super) struct Hot<'c> {
    pub enqueue: Prepared<'c>,
    pub progress: Prepared<'c>,
    pub attempt_keep: Prepared<'c>,
}

impl Default for Hot<'_> {
    fn default() -> Self {
        Self {
            enqueue: Prepared::new(include_str!("sql/enqueue.sql")),
            progress: Prepared::new(include_str!("sql/progress.sql")),
            attempt_keep: Prepared::new(include_str!("sql/attempt_keep.sql")),
        }
    }
}

/// A statement that is prepared when it is first needed.
pub(super) struct Prepared<'c> {
    sql: &'static str,
    statement: Option<Statement<'c>>,
}

impl<'c> Prepared<'c> {
    const fn new(sql: &'static str) -> Self {
        Self {
            sql,
            statement: None,
        }
    }

    pub(super) fn on(&mut self, conn: &'c Connection) -> Result<&mut Statement<'c>, Fault> {
        let statement = match self.statement.take() {
            Some(statement) => statement,
            None => conn.prepare_with_flags(self.sql, PrepFlags::SQLITE_PREPARE_PERSISTENT)?,
        };
        Ok(self.statement.insert(statement))
    }
}

/// Where the jobs that were claimed here are, so that ending an attempt need not search.
///
/// Only a shortcut: whatever it says is checked by the guard of the commit that uses it.
#[derive(Default)]
pub(super) struct Running(HashMap<JobId, Seat>);

/// What does not change about a job while it runs.
#[derive(Clone, Copy)]
pub(super) struct Seat {
    pub seq: i64,
    pub lane: LaneId,
    pub priority: u8,
    pub schedule: Option<ScheduleId>,
}

/// Jobs whose attempts end elsewhere are never taken out, so it starts over when it is full.
const RUNNING_MAX: usize = 100_000;

impl Running {
    pub(super) fn claimed(&mut self, job: JobId, seat: Seat) {
        if self.0.len() >= RUNNING_MAX {
            self.0.clear();
        }
        self.0.insert(job, seat);
    }

    pub(super) fn seat(&self, job: JobId) -> Option<Seat> {
        self.0.get(&job).copied()
    }

    pub(super) fn ended(&mut self, job: JobId) {
        self.0.remove(&job);
    }
}

/// A number that changes with every commit of another connection.
pub(super) fn data_version(conn: &Connection) -> Result<i64, Fault> {
    let version = conn
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))?;
    Ok(version)
}

/// The part of a job that says where it waits and is counted.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub lane: LaneId,
    pub priority: u8,
    pub run_at: Timestamp,
    pub place: Place,
    pub state: JobState,
    pub is_run: bool,
}

impl<'c> Session<'c> {
    /// `data_version` is what was found when the connection was opened.
    pub(super) fn new(conn: &'c Connection, now: Timestamp, data_version: i64) -> Self {
        Self {
            conn,
            now,
            names: Names::default(),
            lanes: Lanes::default(),
            counts: Counts::default(),
            hot: Hot::default(),
            running: Running::default(),
            due_sooner: false,
            data_version,
        }
    }

    /// Notices what other connections have committed since the last look.
    pub(super) fn look(&mut self) -> Result<(), Fault> {
        let version = data_version(self.conn)?;
        if self.data_version != version {
            self.data_version = version;
            self.lanes.forget();
            self.due_sooner = true;
        }
        Ok(())
    }

    pub(super) fn begin(&mut self) -> Result<(), Fault> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.look()
    }

    pub(super) fn commit(&mut self) -> Result<(), Fault> {
        self.counts.write(self.conn)?;
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    /// Takes everything back, in the file and in memory.
    pub(super) fn roll_back(&mut self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "cannot roll back");
        }
        self.names = Names::default();
        self.lanes.forget_all();
        self.counts.clear();
        self.running = Running::default();
    }

    /// A job that was not there now waits.
    pub(super) fn added(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) {
        self.counts.moved(lane, None, Some(Place::WAITING));
        self.waits(lane, priority, run_at);
    }

    /// A job has gone from one spot to another.
    pub(super) fn moved(&mut self, from: Spot, to: Spot) {
        self.counts
            .moved(from.lane, Some(from.place), Some(to.place));
        if from.state == JobState::Waiting {
            self.lanes.removed(from.lane, from.priority, from.run_at);
        }
        if to.state == JobState::Waiting {
            self.waits(to.lane, to.priority, to.run_at);
        }
        // The end of a run may let a queued tick go.
        self.due_sooner |= to.state.is_final() && to.is_run;
    }

    fn waits(&mut self, lane: LaneId, priority: u8, run_at: Timestamp) {
        let is_earlier = self.lanes.added(lane, priority, run_at);
        self.due_sooner |= is_earlier || run_at <= self.now;
    }
}
