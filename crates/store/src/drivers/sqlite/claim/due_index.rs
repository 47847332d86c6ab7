//! Where jobs wait in the file, as the writer remembers it.
//!
//! The writer makes nearly all changes itself and notes them here. A write of another connection, or
//! a transaction that was rolled back, makes this stale, and the next claim reads it anew: a few
//! seeks for each flow key and level in which a job waits.

use std::{collections::HashSet, sync::Arc};

use rusqlite::{Connection, Row, params};
use steadfast_core::{FlowKey, GateNumber, GateState, Gates, NewJob, Timestamp};

use crate::drivers::sqlite::{
    driver_error::{DriverError, pass_over},
    names::Names,
    values::time,
};
use crate::{
    claim::{DueIndex, DueRange, FlowKeyId, Head, Level, Writers},
    drivers::current_gates::CurrentGates,
    drivers::sql::{columns::columns, rows},
    limits::CLAIM_EMPTY_RANGES_MAX,
    store::ClaimRequest,
};

columns! {
    struct RangeColumns { lane, flow_key, level, run_at, destination, concurrency_key }
}

pub(crate) struct FileDueIndex {
    pub index: DueIndex,
    gates: Arc<CurrentGates>,
    is_loaded: bool,
}

impl FileDueIndex {
    pub(crate) fn new(gates: Arc<CurrentGates>) -> Self {
        Self {
            index: DueIndex::new(Writers::One),
            gates,
            is_loaded: false,
        }
    }

    /// The gates that apply now.
    pub(crate) fn gates(&self) -> Arc<Gates> {
        self.gates.of_claims()
    }

    /// Rows were changed by others, or went back to what they were.
    pub(crate) fn invalidate(&mut self) {
        self.is_loaded = false;
    }

    /// A job waits: a new one, or one whose flow key is known. Answers whether that is earlier than was
    /// known.
    pub(crate) fn add(&mut self, range: DueRange, new: Option<&NewJob>, run_at: Timestamp) -> bool {
        let is_known = self.index.knows(range.flow_key);
        match new {
            _ if !self.is_loaded => true,
            Some(job) => self.index.add(range, || FlowKey::from(job), run_at),
            None if is_known => self.index.add_known(range, run_at),
            None => {
                self.invalidate();
                true
            }
        }
    }

    /// What a request may claim is known from here on.
    pub(crate) fn prepare(
        &mut self,
        conn: &Connection,
        names: &mut Names,
        request: &ClaimRequest,
        now: Timestamp,
    ) -> Result<(), DriverError> {
        self.load(conn, names, now)?;
        self.index.catch_up(request, now);
        Ok(())
    }

    /// Where jobs wait is known from here on, under the gates that hold.
    pub(crate) fn load(
        &mut self,
        conn: &Connection,
        names: &mut Names,
        now: Timestamp,
    ) -> Result<(), DriverError> {
        self.index.set_gates(&self.gates.of_claims());
        if !self.is_loaded {
            self.index.clear();
            self.load_ranges(conn, names, now)?;
            self.is_loaded = true;
        }
        Ok(())
    }

    /// When the next job that a request wants becomes due.
    pub(crate) fn next_due(
        &mut self,
        conn: &Connection,
        request: &ClaimRequest,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, DriverError> {
        for _ in 0..CLAIM_EMPTY_RANGES_MAX {
            let Some(range) = self.index.inexact_earliest(request, now) else {
                break;
            };
            self.index.set_head(range, head(conn, range)?);
        }
        Ok(self.index.next_due(request, now))
    }

    fn load_ranges(
        &mut self,
        conn: &Connection,
        names: &mut Names,
        now: Timestamp,
    ) -> Result<(), DriverError> {
        let mut ranges = conn.prepare_cached(include_str!("due_index/due_range.sql"))?;
        let columns = RangeColumns::find(ranges.column_names())?;
        let mut after = (0, i64::MIN, -1);
        loop {
            let mut rows = ranges.query(params![after.0, after.1, after.2])?;
            let Some(row) = rows.next()? else { break };
            after = (
                row.get(columns.lane)?,
                row.get(columns.flow_key)?,
                row.get(columns.level)?,
            );
            let run_at = time(row.get(columns.run_at)?);
            let Some(level) = Level::from_number(after.2) else {
                continue;
            };
            let id = FlowKeyId {
                lane: after.0,
                number: after.1,
            };
            let texts = (columns.destination, columns.concurrency_key);
            if let Some(flow_key) = read_flow_key(conn, names, id, texts, row)? {
                let range = DueRange {
                    flow_key: id,
                    level,
                };
                self.index.add(range, || flow_key, run_at);
            }
        }
        self.load_running(conn, names)?;
        self.load_gates(conn, now)
    }

    fn load_running(&mut self, conn: &Connection, names: &mut Names) -> Result<(), DriverError> {
        let mut statement = conn.prepare_cached(include_str!("due_index/due_running.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id = FlowKeyId {
                lane: row.get("lane")?,
                number: row.get("flow_key")?,
            };
            let texts = (2, 3);
            let running: u32 = row.get("running")?;
            if let Some(flow_key) = read_flow_key(conn, names, id, texts, row)? {
                self.index.add_running(id, || flow_key, running);
            }
        }
        Ok(())
    }

    fn load_gates(&mut self, conn: &Connection, now: Timestamp) -> Result<(), DriverError> {
        let mut statement = conn.prepare_cached(include_str!("due_index/gates.sql"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let number = GateNumber(row.get("number")?);
            let running = self.index.state(number).map_or(0, |state| state.running);
            let state = GateState {
                running,
                next_start: time(row.get("next_start")?),
                minute: row.get("minute")?,
                starts: row.get("starts")?,
                retries: row.get("retries")?,
            };
            self.index.set_state(number, state, now);
        }
        Ok(())
    }
}

/// The earliest job of a range.
pub(crate) fn head(conn: &Connection, range: DueRange) -> Result<Head, DriverError> {
    let FlowKeyId { lane, number } = range.flow_key;
    let earliest: Option<i64> = conn
        .prepare_cached(include_str!("claim_next.sql"))?
        .query_row((lane, number, range.level.number()), |row| row.get(0))?;
    Ok(earliest.map_or(Head::None, |run_at| Head::At(time(run_at))))
}

/// Stores the states of gates after starts.
pub(crate) fn save_gates(
    conn: &Connection,
    index: &DueIndex,
    gates: &HashSet<GateNumber>,
) -> Result<(), DriverError> {
    for number in gates.iter().copied() {
        let Some(state) = index.state(number) else {
            continue;
        };
        conn.prepare_cached(include_str!("due_index/gate_save.sql"))?
            .execute(params![
                number.0,
                state.next_start.as_micros(),
                state.minute,
                state.starts,
                state.retries,
            ])?;
    }
    Ok(())
}

/// What a flow key is, by a row of it; `None` if that cannot be read.
pub(crate) fn read_flow_key(
    conn: &Connection,
    names: &mut Names,
    id: FlowKeyId,
    (destination, concurrency_key): (usize, usize),
    row: &Row<'_>,
) -> Result<Option<FlowKey>, DriverError> {
    let damage = names.damage();
    let lane = match names.lane(conn, id.lane) {
        Ok(lane) => lane.clone(),
        Err(error) if error.is_unreadable() => return Ok(None),
        Err(error) => return Err(error),
    };
    let read = rows::flow_key(row, lane, (destination, concurrency_key));
    pass_over(read, &damage, "flow key", format_args!("{id:?}"))
}
