//! What stands between a job and its start.
//!
//! What claims decide by is in the writer's memory, and is only copied there; rows are counted by
//! readers.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use rusqlite::{Connection, params};
use steadfast_core::{
    AppliedGate, Destination, GateHolder, GateId, GateSnapshot, GateState, Gates, JobSnapshot,
    JobState, PlaceSnapshot, Queue, Sublane, Tenant, Timestamp, WorkerName,
};

use crate::drivers::sqlite::{
    SqliteStore,
    driver_error::DriverError,
    due_index::{self, read_sublane},
    get,
    readers::Reader,
    rows::{JobRow, JobRowColumns},
    session::Session,
    values::{job_id, parse_option, time},
};
use crate::{
    claim::{DueRange, FirstRange, Head, IndexedStart, Level, SublaneId, WaitingJob},
    drivers::sql::paging::row_limit,
    error::StoreError,
    limits::{GATE_HOLDERS_MAX, HOLDERS_LOOKED_MAX, JOBS_AHEAD_MAX},
    store::{BaseStore as _, JobCount, StartQuery, StartReading},
};

const OPERATION: &str = "read_start";

pub(crate) async fn read_start(
    store: &SqliteStore,
    of: StartQuery,
    gates: Arc<Gates>,
) -> Result<Option<StartReading>, StoreError> {
    let row = match of {
        StartQuery::Job(id) => {
            let find = move |reader: &mut Reader| get::job(&reader.conn, &mut reader.names, id);
            store.read(OPERATION, find).await?
        }
        StartQuery::FirstOf(tenant, queue) => first_of(store, tenant, queue, &gates).await?,
    };
    let Some(row) = row else { return Ok(None) };
    if row.job.progress.state != JobState::Waiting {
        return Ok(Some(StartReading::new(row.job)));
    }
    let job = Arc::new(waiting_job(&row));
    let (looked, gates, now) = in_index(store, gates, move |session| {
        let index = &session.due.index;
        (
            index.start(&job, session.now),
            index.gates().clone(),
            session.now,
        )
    })
    .await?;
    let finish = move |reader: &mut Reader| finish(reader, row, looked, &gates, now);
    store.read(OPERATION, finish).await.map(Some)
}

pub(crate) async fn gate_states(
    store: &SqliteStore,
    of: Vec<GateId>,
    gates: Arc<Gates>,
) -> Result<Vec<GateState>, StoreError> {
    in_index(store, gates, move |session| {
        session.due.index.gate_states(&of)
    })
    .await
}

pub(crate) async fn waiting_destinations(
    store: &SqliteStore,
    tenant: Tenant,
    among: Vec<Destination>,
) -> Result<Vec<Destination>, StoreError> {
    // Gates do not matter here: those that are known stay.
    in_index(store, Arc::default(), move |session| {
        session.due.index.waiting_destinations(&tenant, &among)
    })
    .await
}

fn waiting_job(row: &JobRow) -> WaitingJob {
    let (job, progress) = (&row.job, &row.job.progress);
    let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
    WaitingJob {
        range: DueRange {
            sublane: SublaneId {
                lane: row.lane,
                number: Sublane::number(destination, key),
            },
            level: Level::new(job.priority.get(), progress.is_retry()),
        },
        sublane: Sublane::from(job),
        run_at: progress.run_at,
    }
}

/// Asks the writer what it knows, which is up to date and has these gates.
pub(crate) async fn in_index<T: Send + 'static>(
    store: &SqliteStore,
    gates: Arc<Gates>,
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
        due.load_under(conn, names, &gates, *now)?;
        Ok(look(session))
    };
    let peek = look.clone();
    let peek = move |session: &mut Session<'_>| peek(session).map(Some);
    store.peek_or_write(OPERATION, 0, peek, look).await
}

async fn first_of(
    store: &SqliteStore,
    tenant: Tenant,
    queue: Queue,
    gates: &Arc<Gates>,
) -> Result<Option<JobRow>, StoreError> {
    let ranges = in_index(store, gates.clone(), move |session| {
        let index = &session.due.index;
        index.first_ranges(&tenant, &queue, session.now)
    });
    let (ranges, now) = (ranges.await?, store.now());
    let find = move |reader: &mut Reader| first_row(reader, &ranges, now);
    store.read(OPERATION, find).await
}

fn first_row(
    reader: &mut Reader,
    ranges: &[FirstRange],
    now: Timestamp,
) -> Result<Option<JobRow>, DriverError> {
    let mut heads = Vec::new();
    for first in ranges {
        if let Head::At(run_at) = due_index::head(&reader.conn, first.range)? {
            heads.push((first.order(run_at, now), first.range));
        }
    }
    heads.sort_unstable();
    let Some((_, range)) = heads.first() else {
        return Ok(None);
    };
    let Reader { conn, names } = reader;
    let mut select = conn.prepare_cached(include_str!("claim_due.sql"))?;
    let columns = JobRowColumns::find(&select)?;
    let SublaneId { lane, number } = range.sublane;
    let at = now.as_micros();
    let mut rows = select.query(params![lane, number, range.level.number(), 1, at])?;
    match rows.next()? {
        Some(row) => JobRow::read_if_readable(conn, names, &columns, row),
        None => Ok(None),
    }
}

/// Adds what rows tell.
fn finish(
    reader: &mut Reader,
    row: JobRow,
    looked: IndexedStart,
    gates: &Gates,
    now: Timestamp,
) -> Result<StartReading, DriverError> {
    let JobRow { seq, job, .. } = row;
    let mut reading = StartReading::new(job);
    reading.gates = gate_readings(reader, looked.gates, gates)?;
    reading.before_in_key = before_in_key(reader, &reading, now)?;
    if reading.job.progress.run_at <= now {
        reading.place = Some(PlaceSnapshot::default());
        let mut is_cut = looked.is_cut;
        let mut left = JOBS_AHEAD_MAX + 1;
        for before in looked.before {
            if left == 0 {
                is_cut = true;
                break;
            }
            let seq = if before.is_by_order { seq } else { i64::MAX };
            let most = before.most.min(left);
            let (range, until) = (before.range, before.until);
            let (count, entries) = due_before(&reader.conn, range, until, seq, most)?;
            // Those of exactly its time that come after it may hide others.
            is_cut |= entries == left;
            left -= count.min(left);
            reading.add_before(count, before.is_alike, &before.shared);
        }
        reading.bound_counts(JOBS_AHEAD_MAX, is_cut);
    }
    Ok(reading)
}

/// How many jobs for a destination are due.
pub(crate) async fn count_due(
    store: &SqliteStore,
    destination: Destination,
    tenant: Option<Tenant>,
    most: u64,
) -> Result<JobCount, StoreError> {
    let looked = in_index(store, Arc::default(), move |session| {
        let index = &session.due.index;
        let found = index.due_ranges(&destination, tenant.as_ref(), session.now);
        (found, session.now)
    });
    let ((ranges, is_cut), now) = looked.await?;
    let count = move |reader: &mut Reader| {
        let mut count = 0;
        for (range, _) in ranges {
            if count > most {
                break;
            }
            let left = (most - count).saturating_add(1);
            count += due_before(&reader.conn, range, now, i64::MAX, left)?.0;
        }
        let counted = JobCount::up_to(count, most);
        Ok(JobCount {
            at_least: counted.at_least || is_cut,
            ..counted
        })
    };
    store.read("count_due", count).await
}

/// How many jobs of a range are due until a time, of those of exactly that time only the rows before
/// one, and how many entries were looked at, which are no more than `most`.
fn due_before(
    conn: &Connection,
    range: DueRange,
    until: Timestamp,
    seq: i64,
    most: u64,
) -> Result<(u64, u64), DriverError> {
    let SublaneId { lane, number } = range.sublane;
    let (level, until) = (range.level.number(), until.as_micros());
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let (count, entries): (i64, i64) = conn
        .prepare_cached(include_str!("start/start_ahead.sql"))?
        .query_row(params![lane, number, level, until, seq, limit], |row| {
            Ok((row.get("ahead")?, row.get("looked")?))
        })?;
    let count = u64::try_from(count).unwrap_or(0);
    Ok((count, u64::try_from(entries).unwrap_or(0)))
}

fn before_in_key(
    reader: &mut Reader,
    reading: &StartReading,
    now: Timestamp,
) -> Result<Option<JobSnapshot>, DriverError> {
    let is_ordered = reading.gates.iter().any(|gate| gate.gate.limits.ordered);
    let key = reading.job.concurrency_key.as_ref().filter(|_| is_ordered);
    let Some(key) = key else { return Ok(None) };
    let Reader { conn, names } = reader;
    let number = Sublane::key_number(&reading.job.tenant, key);
    let mut select = conn.prepare_cached(include_str!("claim_ordered.sql"))?;
    let columns = JobRowColumns::find(&select)?;
    let mut rows = select.query([number])?;
    let first = match rows.next()? {
        Some(row) => JobRow::read_if_readable(conn, names, &columns, row)?,
        None => None,
    };
    let first = first.filter(|first| first.job.id != reading.job.id);
    Ok(first.map(|JobRow { job, .. }| JobSnapshot {
        job: job.id,
        label: job.label(now),
        run_at: job.progress.run_at,
    }))
}

fn gate_readings(
    reader: &mut Reader,
    states: Vec<(AppliedGate, GateState)>,
    gates: &Gates,
) -> Result<Vec<GateSnapshot>, DriverError> {
    let mut readings: Vec<GateSnapshot> = states
        .into_iter()
        .map(|(gate, state)| GateSnapshot {
            gate,
            state,
            ahead: 0,
            holders: Vec::new(),
        })
        .collect();
    let is_held =
        |gate: &GateSnapshot| gate.gate.limits.most_running().is_some() && gate.state.running > 0;
    if readings.iter().any(is_held) {
        add_holders(reader, &mut readings, gates)?;
    }
    Ok(readings)
}

fn add_holders(
    reader: &mut Reader,
    readings: &mut [GateSnapshot],
    gates: &Gates,
) -> Result<(), DriverError> {
    let Reader { conn, names } = reader;
    let mut select = conn.prepare_cached(include_str!("start/start_holders.sql"))?;
    let mut rows = select.query([row_limit(HOLDERS_LOOKED_MAX)])?;
    let mut applied: HashMap<SublaneId, Option<(Tenant, Vec<AppliedGate>)>> = HashMap::new();
    while let Some(row) = rows.next()? {
        let id = SublaneId {
            lane: row.get("lane")?,
            number: row.get("sublane")?,
        };
        let applied = match applied.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let sublane = read_sublane(conn, names, id, (3, 4), row)?;
                let of = sublane.map(|of| (of.tenant.clone(), gates.applying_to(&of)));
                new.insert(of)
            }
        };
        let Some((tenant, gates)) = applied else {
            continue;
        };
        let holder = GateHolder {
            job: job_id(row.get("id")?),
            tenant: tenant.clone(),
            worker: parse_option(row, 5, "worker", WorkerName::new)?,
            since: time(row.get("since")?),
        };
        for reading in &mut *readings {
            let is_shared = gates.iter().any(|gate| gate.number == reading.gate.number);
            let counts = is_shared && reading.gate.limits.most_running().is_some();
            if counts && reading.holders.len() < GATE_HOLDERS_MAX {
                reading.holders.push(holder.clone());
            }
        }
    }
    Ok(())
}
