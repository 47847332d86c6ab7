//! Columns to values and back.

use std::sync::Arc;

use rusqlite::{Connection, Row, types::ValueRef};
use serde::{Serialize, de::DeserializeOwned};
use steadfast_core::{
    Attempt, Fence, Guarantee, IdempotencyKey, Job, JobId, JobProgress, JobState, Payload,
    Priority, ScheduleId, ScheduledRun, Timestamp, WorkerName,
};

use super::{
    fault::Fault,
    names::{LaneId, Names},
};

pub(super) use crate::columns::nanos;
use crate::columns::{self, duration};

/// A row of the view `job_row`.
pub(super) struct JobRow {
    pub seq: i64,
    pub lane: LaneId,
    pub job: Job,
}

/// The columns of `job_row` that a look at the row may start with.
pub(super) const COLUMN_LANE: usize = 1;
pub(super) const COLUMN_STATE: usize = 2;

impl JobRow {
    /// Reads a row among others. One that cannot be read is told of, and must not keep the
    /// others from being seen.
    pub(super) fn read_if_whole(
        conn: &Connection,
        names: &mut Names,
        row: &Row<'_>,
    ) -> Result<Option<Self>, Fault> {
        match Self::read(conn, names, row) {
            Ok(row) => Ok(Some(row)),
            Err(Fault::Unreadable(why)) => {
                let id = job_id(row.get(20)?);
                tracing::error!(jobId = %id, why, "job {id} is passed over, because it cannot be read");
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    pub(super) fn read(conn: &Connection, names: &mut Names, row: &Row<'_>) -> Result<Self, Fault> {
        let lane = row.get(COLUMN_LANE)?;
        let policy = names.policy(conn, row.get(21)?)?;
        let name = names.lane(conn, lane)?;
        let job = Job {
            id: job_id(row.get(20)?),
            tenant: name.tenant.clone(),
            queue: name.queue.clone(),
            kind: name.kind.clone(),
            payload: Payload::from_stored(row.get_ref(30)?.as_str().map_err(wrong)?),
            priority: Priority::new(row.get(3)?)
                .map_err(|error| Fault::unreadable("priority", error))?,
            policy,
            guarantee: match row.get(22)? {
                true => Guarantee::AtMostOnce,
                false => Guarantee::AtLeastOnce,
            },
            timeout: row.get::<_, Option<i64>>(23)?.map(duration),
            lease: duration(row.get(24)?),
            idempotency_key: parsed(row, 26, "idempotency key", IdempotencyKey::new)?,
            scheduled_run: scheduled_run(row.get(27)?, row.get(28)?),
            webhook: json(row, 31, "webhook")?.map(Arc::new),
            tags: json(row, 29, "tags")?.unwrap_or_default(),
            created_at: time(row.get(25)?),
            progress: progress(row)?,
        };
        Ok(Self {
            seq: row.get(0)?,
            lane,
            job,
        })
    }
}

fn progress(row: &Row<'_>) -> Result<JobProgress, Fault> {
    let time_at = |column| -> Result<Option<Timestamp>, Fault> {
        Ok(row.get::<_, Option<i64>>(column)?.map(time))
    };
    Ok(JobProgress {
        state: state(row.get(COLUMN_STATE)?)?,
        run_at: time(row.get(4)?),
        fence: Fence(row.get(5)?),
        attempt: row.get(6)?,
        attempts_before: row.get(7)?,
        cancel_requested: row.get(8)?,
        lease_until: time_at(9)?,
        started_at: time_at(10)?,
        first_started_at: time_at(11)?,
        finished_at: time_at(12)?,
        resolved_at: time_at(13)?,
        worker: parsed(row, 14, "worker", WorkerName::new)?,
        snoozes: row.get(15)?,
        last_delay: row.get::<_, Option<i64>>(16)?.map(duration),
        reason: parsed(row, 17, "reason", str::parse)?,
        failure: json(row, 18, "failure")?,
        note: row.get(19)?,
    })
}

/// A row of an attempt, with the job's public id in the place of its number.
pub(super) fn attempt(row: &Row<'_>) -> Result<Attempt, Fault> {
    let status = row.get_ref(3)?.as_str().map_err(wrong)?.parse();
    Ok(Attempt {
        job: job_id(row.get(0)?),
        fence: Fence(row.get(1)?),
        attempt: row.get(2)?,
        attempts_before: 0,
        status: status.map_err(|error| Fault::unreadable("status", error))?,
        started_at: time(row.get(4)?),
        finished_at: time(row.get(5)?),
        worker: parsed(row, 6, "worker", WorkerName::new)?,
        failure: json(row, 7, "failure")?,
        output: text(row, 8)?.map(Payload::from_stored),
        note: row.get(9)?,
        decision: json(row, 10, "decision")?,
    })
}

pub(super) fn state(stored: i64) -> Result<JobState, Fault> {
    let number = i16::try_from(stored).ok();
    number
        .and_then(columns::state)
        .ok_or_else(|| Fault::unreadable("state", stored))
}

pub(super) fn state_number(state: JobState) -> i64 {
    columns::state_number(state).into()
}

pub(super) fn job_id(bytes: [u8; 16]) -> JobId {
    JobId::from_bits(u128::from_be_bytes(bytes))
}

pub(super) fn job_key(id: JobId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

pub(super) fn schedule_id(bytes: [u8; 16]) -> ScheduleId {
    ScheduleId::from_bits(u128::from_be_bytes(bytes))
}

pub(super) fn schedule_key(id: ScheduleId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::unreadable("value", error))
}

pub(super) fn json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    what: &str,
) -> Result<Option<T>, Fault> {
    text(row, column)?
        .map(|text| serde_json::from_str(text).map_err(|error| Fault::unreadable(what, error)))
        .transpose()
}

pub(super) fn parsed<T, E: std::fmt::Display>(
    row: &Row<'_>,
    column: usize,
    what: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Fault> {
    text(row, column)?
        .map(|text| parse(text).map_err(|error| Fault::unreadable(what, error)))
        .transpose()
}

fn text<'row>(row: &'row Row<'_>, column: usize) -> Result<Option<&'row str>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => Ok(Some(value.as_str().map_err(wrong)?)),
    }
}

fn scheduled_run(schedule: Option<[u8; 16]>, tick: Option<i64>) -> Option<ScheduledRun> {
    Some(ScheduledRun {
        schedule: schedule_id(schedule?),
        tick: time(tick?),
    })
}

fn wrong(error: rusqlite::types::FromSqlError) -> Fault {
    Fault::unreadable("value", error)
}
