//! The rows behind an explanation. What claims decide by is in the writer's memory and is copied
//! from there; readers count rows.

use std::collections::{HashMap, hash_map::Entry};

use rusqlite::{Connection, OptionalExtension as _, params};
use steadfast_core::{
    AppliedGate, GateHolder, GateNumber, GateState, Gates, Job, JobId, Tenant, Timestamp,
    WorkerName,
};

use crate::drivers::sqlite::{
    SqliteStore,
    driver_error::DriverError,
    due_index::read_flow_key,
    get,
    readers::Reader,
    rows::{JobRow, JobRowColumns},
    session::Session,
    values::{job_id, job_key, time},
};
use crate::{
    claim::{DueIndex, DueRange, FlowKeyId},
    drivers::sql::{
        paging::row_limit,
        rows::RowValues as _,
        start::{CountedRange, RangeCount, RangeMinute, StartReads},
    },
    error::StoreError,
    limits::{GATE_HOLDERS_MAX, HOLDERS_LOOKED_MAX},
};

/// Reads under the gates that hold.
pub(crate) struct StartReader<'s> {
    store: &'s SqliteStore,
    operation: &'static str,
}

impl SqliteStore {
    pub(crate) fn start_reader(&self, operation: &'static str) -> StartReader<'_> {
        StartReader {
            store: self,
            operation,
        }
    }
}

impl StartReader<'_> {
    /// Asks the writer what it knows, which is up to date and has the gates that hold.
    async fn in_session<T: Send + 'static>(
        &self,
        look: impl Fn(&Session<'_>) -> T + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        let look = move |session: &mut Session<'_>| {
            session.notice_other_writers()?;
            let Session {
                conn,
                names,
                due,
                now,
                ..
            } = session;
            due.load(conn, names, *now)?;
            Ok(look(session))
        };
        let peek = look.clone();
        let peek = move |session: &mut Session<'_>| peek(session).map(Some);
        self.store
            .peek_or_write(self.operation, 0, peek, look)
            .await
    }
}

impl StartReads for StartReader<'_> {
    type Error = StoreError;

    async fn ask_index<T: Send + 'static>(
        &self,
        ask: impl Fn(&DueIndex, Timestamp) -> T + Clone + Send + 'static,
    ) -> Result<T, StoreError> {
        let look = move |session: &Session<'_>| ask(&session.due.index, session.now);
        self.in_session(look).await
    }

    async fn job(&self, id: JobId) -> Result<Option<Job>, StoreError> {
        let find = move |reader: &mut Reader| get::job(&reader.conn, &mut reader.names, id);
        let found = self.store.read(self.operation, find).await?;
        Ok(found.map(|row| row.job))
    }

    async fn heads(
        &self,
        ranges: Vec<DueRange>,
    ) -> Result<Vec<(usize, Timestamp, JobId)>, StoreError> {
        let find = move |reader: &mut Reader| {
            let mut heads = Vec::new();
            for (index, range) in ranges.iter().enumerate() {
                if let Some((run_at, id)) = head(&reader.conn, *range)? {
                    heads.push((index, run_at, id));
                }
            }
            Ok(heads)
        };
        self.store.read(self.operation, find).await
    }

    async fn count(&self, ranges: Vec<CountedRange>) -> Result<Vec<RangeCount>, StoreError> {
        let count = move |reader: &mut Reader| {
            let counts = ranges.iter().map(|range| count_range(&reader.conn, range));
            counts.collect()
        };
        self.store.read(self.operation, count).await
    }

    async fn count_minutes(
        &self,
        ranges: Vec<(DueRange, Timestamp)>,
        until: Timestamp,
        entries_max: i64,
    ) -> Result<Vec<RangeMinute>, StoreError> {
        let count = move |reader: &mut Reader| {
            let mut minutes = Vec::new();
            let sql = include_str!("start/due_by_minute.sql");
            let mut statement = reader.conn.prepare_cached(sql)?;
            for (index, (range, _)) in ranges.iter().enumerate() {
                let FlowKeyId { lane, number } = range.flow_key;
                let (level, until) = (range.level.number(), until.as_micros());
                let mut rows = statement.query(params![lane, number, level, until, entries_max])?;
                while let Some(row) = rows.next()? {
                    minutes.push(RangeMinute {
                        range: index,
                        minute: row.get("minute")?,
                        jobs: row.get("jobs")?,
                    });
                }
            }
            Ok(minutes)
        };
        self.store.read(self.operation, count).await
    }

    async fn first_of_key(&self, number: i64) -> Result<Option<Job>, StoreError> {
        let find = move |reader: &mut Reader| {
            let Reader { conn, names } = reader;
            let mut select = conn.prepare_cached(include_str!("claim_ordered.sql"))?;
            let columns = JobRowColumns::find(&select)?;
            let mut rows = select.query([number])?;
            let found = match rows.next()? {
                Some(row) => JobRow::read_if_readable(conn, names, &columns, row)?,
                None => None,
            };
            Ok(found.map(|row| row.job))
        };
        self.store.read(self.operation, find).await
    }

    async fn gate_states(&self, gates: Vec<AppliedGate>) -> Result<Vec<GateState>, StoreError> {
        let look = move |session: &Session<'_>| {
            let states = gates
                .iter()
                .map(|gate| session.due.index.last_state(gate.number));
            states.collect()
        };
        self.in_session(look).await
    }

    async fn holders(
        &self,
        held: Vec<AppliedGate>,
    ) -> Result<HashMap<GateNumber, Vec<GateHolder>>, StoreError> {
        let gates = self.gates().await?;
        let find = move |reader: &mut Reader| holders(reader, &held, &gates);
        self.store.read(self.operation, find).await
    }
}

fn head(conn: &Connection, range: DueRange) -> Result<Option<(Timestamp, JobId)>, DriverError> {
    let FlowKeyId { lane, number } = range.flow_key;
    let found = conn
        .prepare_cached(include_str!("start/start_first.sql"))?
        .query_row(params![lane, number, range.level.number()], |row| {
            Ok((time(row.get("run_at")?), job_id(row.get("id")?)))
        })
        .optional()?;
    Ok(found)
}

fn count_range(conn: &Connection, counted: &CountedRange) -> Result<RangeCount, DriverError> {
    let FlowKeyId { lane, number } = counted.range.flow_key;
    let (level, until) = (counted.range.level.number(), counted.until.as_micros());
    let limit = i64::try_from(counted.entries_max).unwrap_or(i64::MAX);
    let before = counted.before.map(job_key);
    let (jobs, entries): (i64, i64) = conn
        .prepare_cached(include_str!("start/start_ahead.sql"))?
        .query_row(params![lane, number, level, until, before, limit], |row| {
            Ok((row.get("ahead")?, row.get("looked")?))
        })?;
    Ok(RangeCount {
        jobs: u64::try_from(jobs).unwrap_or(0),
        entries: u64::try_from(entries).unwrap_or(0),
    })
}

fn holders(
    reader: &mut Reader,
    held: &[AppliedGate],
    gates: &Gates,
) -> Result<HashMap<GateNumber, Vec<GateHolder>>, DriverError> {
    let Reader { conn, names } = reader;
    let mut select = conn.prepare_cached(include_str!("start/start_holders.sql"))?;
    let mut rows = select.query([row_limit(HOLDERS_LOOKED_MAX)])?;
    let mut applied: HashMap<FlowKeyId, Option<(Tenant, Vec<AppliedGate>)>> = HashMap::new();
    let mut holders: HashMap<GateNumber, Vec<GateHolder>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let id = FlowKeyId {
            lane: row.get("lane")?,
            number: row.get("flow_key")?,
        };
        let applied = match applied.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let flow_key = read_flow_key(conn, names, id, (3, 4), row)?;
                let of = flow_key.map(|of| (of.tenant.clone(), gates.applying_to(&of)));
                new.insert(of)
            }
        };
        let Some((tenant, gates)) = applied else {
            continue;
        };
        let holder = GateHolder {
            job: job_id(row.get("id")?),
            tenant: tenant.clone(),
            worker: row.parsed(5, "worker", WorkerName::new)?,
            since: time(row.get("since")?),
        };
        let is_passed = |gate: &&AppliedGate| gates.iter().any(|it| it.number == gate.number);
        for gate in held.iter().filter(is_passed) {
            let known = holders.entry(gate.number).or_default();
            if known.len() < GATE_HOLDERS_MAX {
                known.push(holder.clone());
            }
        }
    }
    Ok(holders)
}
