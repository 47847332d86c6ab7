//! Columns to values and back.

use std::{error::Error, sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_core::{
    Attempt, Fence, Guarantee, IdempotencyKey, Job, JobId, JobProgress, JobState, Payload,
    Priority, ScheduleId, ScheduledRun, Timestamp, WorkerName,
};
use tokio_postgres::{
    Row,
    types::{FromSql, IsNull, ToSql, Type, accepts, private::BytesMut, to_sql_checked},
};

use super::{
    fault::Fault,
    names::{LaneId, Needed},
};

use crate::columns::{self, duration};

/// A public id in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key(u128);

impl From<JobId> for Key {
    fn from(id: JobId) -> Self {
        Self(id.bits())
    }
}

impl From<ScheduleId> for Key {
    fn from(id: ScheduleId) -> Self {
        Self(id.bits())
    }
}

impl Key {
    pub(super) fn job(self) -> JobId {
        JobId::from_bits(self.0)
    }

    pub(super) fn schedule(self) -> ScheduleId {
        ScheduleId::from_bits(self.0)
    }
}

impl ToSql for Key {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Key {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}

/// The columns of a job that a look at the row may start with.
pub(super) const COLUMN_LANE: usize = 1;
pub(super) const COLUMN_POLICY: usize = 2;
/// How many columns a job has; what a statement adds comes after them.
pub(super) const JOB_COLUMNS: usize = 31;

/// Reads a row among others. One that cannot be read is told of, and must not keep the others
/// from being seen.
pub(super) fn job_if_whole(names: &Needed, row: &Row) -> Result<Option<Job>, Fault> {
    match job(names, row) {
        Ok(job) => Ok(Some(job)),
        Err(Fault::Unreadable(why)) => {
            let id = row.try_get::<_, Key>(0)?.job();
            tracing::error!(jobId = %id, why, "job {id} is passed over, because it cannot be read");
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

pub(super) fn job(names: &Needed, row: &Row) -> Result<Job, Fault> {
    let name = names.lane(lane(row)?)?;
    let priority = u8::try_from(row.try_get::<_, i16>(4)?).unwrap_or(u8::MAX);
    Ok(Job {
        id: row.try_get::<_, Key>(0)?.job(),
        tenant: name.tenant.clone(),
        queue: name.queue.clone(),
        kind: name.kind.clone(),
        policy: Arc::clone(names.policy(row.try_get(COLUMN_POLICY)?)?),
        payload: Payload::from_stored(row.try_get(29)?),
        priority: Priority::new(priority).map_err(|error| Fault::unreadable("priority", error))?,
        guarantee: match row.try_get(21)? {
            true => Guarantee::AtMostOnce,
            false => Guarantee::AtLeastOnce,
        },
        timeout: row.try_get::<_, Option<i64>>(22)?.map(duration),
        lease: duration(row.try_get(23)?),
        created_at: time(row.try_get(24)?),
        idempotency_key: parsed_option(row, 25, "idempotency key", IdempotencyKey::new)?,
        scheduled_run: scheduled_run(row)?,
        webhook: json_option(row, 30, "webhook")?.map(Arc::new),
        tags: json_option(row, 28, "tags")?.unwrap_or_default(),
        progress: progress(row)?,
    })
}

pub(super) fn lane(row: &Row) -> Result<LaneId, Fault> {
    Ok(row.try_get(COLUMN_LANE)?)
}

fn scheduled_run(row: &Row) -> Result<Option<ScheduledRun>, Fault> {
    let schedule: Option<Key> = row.try_get(26)?;
    let tick = time_option(row, 27)?;
    Ok(schedule.zip(tick).map(|(schedule, tick)| ScheduledRun {
        schedule: schedule.schedule(),
        tick,
    }))
}

fn progress(row: &Row) -> Result<JobProgress, Fault> {
    Ok(JobProgress {
        state: state(row.try_get(3)?)?,
        run_at: time(row.try_get(5)?),
        fence: Fence(number(row, 6)?),
        attempt: number(row, 7)?,
        attempts_before: number(row, 8)?,
        cancel_requested: row.try_get(9)?,
        lease_until: time_option(row, 10)?,
        started_at: time_option(row, 11)?,
        first_started_at: time_option(row, 12)?,
        finished_at: time_option(row, 13)?,
        resolved_at: time_option(row, 14)?,
        worker: parsed_option(row, 15, "worker", WorkerName::new)?,
        snoozes: u32::try_from(row.try_get::<_, i32>(16)?)
            .map_err(|error| Fault::unreadable("number", error))?,
        last_delay: row.try_get::<_, Option<i64>>(17)?.map(duration),
        reason: parsed_option(row, 18, "reason", str::parse)?,
        failure: json_option(row, 19, "failure")?,
        note: json_option(row, 20, "note")?,
    })
}

pub(super) fn attempt(row: &Row) -> Result<Attempt, Fault> {
    let output: Option<&str> = row.try_get(8)?;
    Ok(Attempt {
        job: row.try_get::<_, Key>(0)?.job(),
        fence: Fence(number(row, 1)?),
        attempt: number(row, 2)?,
        attempts_before: 0,
        status: parsed(row, 3, "status", str::parse)?,
        started_at: time(row.try_get(4)?),
        finished_at: time(row.try_get(5)?),
        worker: parsed_option(row, 6, "worker", WorkerName::new)?,
        failure: json_option(row, 7, "failure")?,
        output: output.map(Payload::from_stored),
        note: json_option(row, 9, "note")?,
        decision: json_option(row, 10, "decision")?,
    })
}

fn state(stored: i16) -> Result<JobState, Fault> {
    columns::state(stored).ok_or_else(|| Fault::unreadable("state", stored))
}

pub(super) fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(super) fn time_option(row: &Row, column: usize) -> Result<Option<Timestamp>, Fault> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(time))
}

pub(super) fn micros(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_micros)
}

/// Microseconds, for what is added to times.
pub(super) fn duration_micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 2)
}

/// Numbers that PostgreSQL has no unsigned type for.
fn number(row: &Row, column: usize) -> Result<u32, Fault> {
    let stored: i64 = row.try_get(column)?;
    u32::try_from(stored).map_err(|error| Fault::unreadable("number", error))
}

/// Limits for statements.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Text that anybody may have written is kept as JSON, because PostgreSQL stores no NUL.
pub(super) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String, Fault> {
    serde_json::to_string(value).map_err(|error| Fault::unreadable("value", error))
}

pub(super) fn json_option<T: DeserializeOwned>(
    row: &Row,
    column: usize,
    what: &str,
) -> Result<Option<T>, Fault> {
    parsed_option(row, column, what, |text| serde_json::from_str(text))
}

pub(super) fn json<T: DeserializeOwned>(row: &Row, column: usize, what: &str) -> Result<T, Fault> {
    parsed(row, column, what, |text| serde_json::from_str(text))
}

pub(super) fn parsed_option<T, E: std::fmt::Display>(
    row: &Row,
    column: usize,
    what: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Fault> {
    let text: Option<&str> = row.try_get(column)?;
    text.map(|text| parse(text).map_err(|error| Fault::unreadable(what, error)))
        .transpose()
}

pub(super) fn parsed<T, E: std::fmt::Display>(
    row: &Row,
    column: usize,
    what: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, Fault> {
    let text: &str = row.try_get(column)?;
    parse(text).map_err(|error| Fault::unreadable(what, error))
}
