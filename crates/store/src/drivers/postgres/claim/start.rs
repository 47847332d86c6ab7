//! What stands between a job and its start.
//!
//! The gates are read without holding them, and where jobs wait is taken from the cache, as a claim
//! does.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{
    AppliedGate, Destination, GateHolder, GateId, GateNumber, GateSnapshot, GateState, Gates, Job,
    JobId, JobSnapshot, JobState, PlaceSnapshot, Queue, Sublane, Tenant, Timestamp, WorkerName,
};
use tokio_postgres::types::ToSql;

use crate::drivers::postgres::{
    claim::{read_gates, use_gates},
    driver_error::DriverError,
    due_cache::RangeColumns,
    get,
    key::Key,
    session::Session,
    values::{parse, parse_option, time},
};
use crate::{
    claim::{DueRange, IndexedStart, Level, SublaneId, WaitingJob},
    drivers::sql::paging::row_limit,
    lane::Lane,
    limits::{GATE_HOLDERS_MAX, JOBS_AHEAD_MAX, RANGES_COUNTED_TOGETHER},
    store::{JobCount, StartQuery, StartReading},
};

pub(crate) async fn read_start(
    session: &Session<'_>,
    of: &StartQuery,
    gates: &Arc<Gates>,
) -> Result<Option<StartReading>, DriverError> {
    let shared = session.shared;
    shared.due.refresh(session).await?;
    use_gates(session, gates).await?;
    let id = match of {
        StartQuery::Job(id) => Some(*id),
        StartQuery::FirstOf(tenant, queue) => first_of(session, tenant, queue).await?,
    };
    let Some(id) = id else { return Ok(None) };
    let Some(job) = get::jobs(session, &[id]).await?.pop().flatten() else {
        return Ok(None);
    };
    if job.progress.state != JobState::Waiting {
        return Ok(Some(StartReading::new(job)));
    }
    let now = shared.clock.now();
    let waiting = waiting_job(&job);
    let looked = shared.due.lock().index.start(&waiting, now);
    let mut reading = StartReading::new(job);
    let applied: Vec<AppliedGate> = looked.gates.iter().map(|(gate, _)| gate.clone()).collect();
    reading.gates = gate_readings(session, applied).await?;
    reading.before_in_key = before_in_key(session, &reading, now).await?;
    if reading.job.progress.run_at <= now {
        count_before(session, &mut reading, &looked).await?;
    }
    Ok(Some(reading))
}

pub(crate) async fn gate_states(
    session: &Session<'_>,
    of: &[GateId],
    gates: &Arc<Gates>,
) -> Result<Vec<GateState>, DriverError> {
    use_gates(session, gates).await?;
    let applied: Vec<Option<AppliedGate>> = of.iter().map(|id| gates.applied(id)).collect();
    let states = read_states(session, applied.iter().flatten()).await?;
    let state = |gate: Option<AppliedGate>| states.get(&gate?.number).copied();
    let states = applied.into_iter().map(state);
    Ok(states.map(Option::unwrap_or_default).collect())
}

pub(crate) async fn destinations(
    session: &Session<'_>,
    tenant: &Tenant,
    among: &[Destination],
) -> Result<Vec<Destination>, DriverError> {
    let due = &session.shared.due;
    due.refresh(session).await?;
    Ok(due.lock().index.waiting_destinations(tenant, among))
}

fn waiting_job(job: &Job) -> WaitingJob {
    let sublane = Sublane::from(job);
    let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
    WaitingJob {
        range: DueRange {
            sublane: SublaneId {
                lane: Lane::from(job).number(),
                number: Sublane::number(destination, key),
            },
            level: Level::new(job.priority.get(), job.progress.is_retry()),
        },
        sublane,
        run_at: job.progress.run_at,
    }
}

async fn first_of(
    session: &Session<'_>,
    tenant: &Tenant,
    queue: &Queue,
) -> Result<Option<JobId>, DriverError> {
    let now = session.shared.clock.now();
    let due = &session.shared.due;
    let ranges = due.lock().index.first_ranges(tenant, queue, now);
    let columns = RangeColumns::of(ranges.iter().map(|first| &first.range));
    let oldest_live = vec![0_i64; ranges.len()];
    let params: [&(dyn ToSql + Sync); 4] = [
        &columns.lanes,
        &columns.sublanes,
        &columns.levels,
        &oldest_live,
    ];
    let sql = include_str!("start/start_first.sql");
    let mut heads = Vec::new();
    for row in session.query(sql, &params).await? {
        let number = usize::try_from(row.try_get::<_, i64>("number")? - 1);
        let Some(first) = ranges.get(number.unwrap_or(usize::MAX)) else {
            continue;
        };
        let run_at = time(row.try_get("run_at")?);
        heads.push((first.order(run_at, now), row.try_get::<_, Key>("id")?.job()));
    }
    Ok(heads.into_iter().min().map(|(_, id)| id))
}

async fn gate_readings(
    session: &Session<'_>,
    gates: Vec<AppliedGate>,
) -> Result<Vec<GateSnapshot>, DriverError> {
    if gates.is_empty() {
        return Ok(Vec::new());
    }
    let states = read_states(session, gates.iter()).await?;
    let mut holders = holders(session, &counted(gates.iter())).await?;
    let readings = gates.into_iter().map(|gate| GateSnapshot {
        state: states.get(&gate.number).copied().unwrap_or_default(),
        holders: holders.remove(&gate.number).unwrap_or_default(),
        ahead: 0,
        gate,
    });
    Ok(readings.collect())
}

/// How gates stand, without holding them.
async fn read_states<'g>(
    session: &Session<'_>,
    gates: impl Iterator<Item = &'g AppliedGate> + Clone,
) -> Result<HashMap<GateNumber, GateState>, DriverError> {
    let numbers: Vec<i64> = gates.map(|gate| gate.number.0).collect();
    let rows = read_gates(session, &numbers).await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.number, row.state))
        .collect())
}

/// The numbers of those gates that count what runs.
fn counted<'g>(gates: impl Iterator<Item = &'g AppliedGate>) -> Vec<i64> {
    let counted = gates.filter(|gate| gate.limits.most_running().is_some());
    counted.map(|gate| gate.number.0).collect()
}

async fn holders(
    session: &Session<'_>,
    numbers: &[i64],
) -> Result<HashMap<GateNumber, Vec<GateHolder>>, DriverError> {
    let mut holders: HashMap<_, Vec<_>> = HashMap::new();
    if numbers.is_empty() {
        return Ok(holders);
    }
    let sql = include_str!("start/start_holders.sql");
    let oldest_turns = session.shared.due.lock().known_gates.oldest_turns(numbers);
    let limit = row_limit(GATE_HOLDERS_MAX);
    for row in session
        .query(sql, &[&numbers, &oldest_turns, &limit])
        .await?
    {
        let of = holders.entry(GateNumber(row.try_get("number")?));
        of.or_default().push(GateHolder {
            job: row.try_get::<_, Key>("id")?.job(),
            tenant: parse(&row, "tenant", "tenant", Tenant::new)?,
            worker: parse_option(&row, "worker", "worker", WorkerName::new)?,
            since: time(row.try_get("since")?),
        });
    }
    Ok(holders)
}

async fn before_in_key(
    session: &Session<'_>,
    reading: &StartReading,
    now: Timestamp,
) -> Result<Option<JobSnapshot>, DriverError> {
    let is_ordered = reading.gates.iter().any(|gate| gate.gate.limits.ordered);
    let key = reading.job.concurrency_key.as_ref().filter(|_| is_ordered);
    let Some(key) = key else { return Ok(None) };
    let keys = vec![Sublane::key_number(&reading.job.tenant, key)];
    let sql = include_str!("claim_ordered.sql");
    let found = session.query(sql, &[&keys]).await?;
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let first = row.try_get::<_, Key>("id")?.job();
    if first == reading.job.id {
        return Ok(None);
    }
    let found = get::jobs(session, &[first]).await?.pop().flatten();
    Ok(found.map(|job| JobSnapshot {
        job: job.id,
        label: job.label(now),
        run_at: job.progress.run_at,
    }))
}

/// How many jobs for a destination are due.
pub(crate) async fn count_due(
    session: &Session<'_>,
    destination: &Destination,
    tenant: Option<&Tenant>,
    most: u64,
) -> Result<JobCount, DriverError> {
    let shared = session.shared;
    shared.due.refresh(session).await?;
    let now = shared.clock.now();
    let (ranges, is_cut) = shared.due.lock().index.due_ranges(destination, tenant, now);
    let limit = i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX);
    let mut count = 0;
    // Each of them may have as many as are asked for.
    for some in ranges.chunks(RANGES_COUNTED_TOGETHER) {
        if count > most {
            break;
        }
        let columns = RangeColumns::of(some.iter().map(|(range, _)| range));
        let oldest_live: Vec<i64> = some
            .iter()
            .map(|(_, oldest_live)| oldest_live.as_micros())
            .collect();
        let until = vec![now.as_micros(); some.len()];
        let ids: Vec<Option<Key>> = vec![None; some.len()];
        let limits = vec![limit; some.len()];
        let params: [&(dyn ToSql + Sync); 7] = [
            &columns.lanes,
            &columns.sublanes,
            &columns.levels,
            &oldest_live,
            &until,
            &ids,
            &limits,
        ];
        let sql = include_str!("start/start_ahead.sql");
        for row in session.query(sql, &params).await? {
            count += u64::try_from(row.try_get::<_, i64>("ahead")?).unwrap_or(0);
        }
    }
    let counted = JobCount::up_to(count, most);
    Ok(JobCount {
        at_least: counted.at_least || is_cut,
        ..counted
    })
}

async fn count_before(
    session: &Session<'_>,
    reading: &mut StartReading,
    looked: &IndexedStart,
) -> Result<(), DriverError> {
    reading.place = Some(PlaceSnapshot::default());
    let (before, most) = (&looked.before, JOBS_AHEAD_MAX + 1);
    let columns = RangeColumns::of(before.iter().map(|before| &before.range));
    let oldest_live: Vec<i64> = before.iter().map(|it| it.oldest_live.as_micros()).collect();
    let until: Vec<i64> = before.iter().map(|it| it.until.as_micros()).collect();
    let own = Key::from(reading.job.id);
    let ids: Vec<Option<Key>> = before
        .iter()
        .map(|it| it.is_by_order.then_some(own))
        .collect();
    let limits: Vec<i64> = before
        .iter()
        .map(|it| i64::try_from(it.most.min(most)).unwrap_or(i64::MAX))
        .collect();
    let params: [&(dyn ToSql + Sync); 7] = [
        &columns.lanes,
        &columns.sublanes,
        &columns.levels,
        &oldest_live,
        &until,
        &ids,
        &limits,
    ];
    let sql = include_str!("start/start_ahead.sql");
    let rows = session.query(sql, &params).await?;
    let mut is_cut = looked.is_cut;
    for (row, before) in rows.iter().zip(before) {
        let count = |column| -> Result<u64, DriverError> {
            Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
        };
        is_cut |= count("looked")? == most;
        reading.add_before(count("ahead")?, before.is_alike, &before.shared);
    }
    reading.bound_counts(JOBS_AHEAD_MAX, is_cut);
    Ok(())
}
