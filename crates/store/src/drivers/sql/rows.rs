//! Jobs and attempts in rows, whichever database they come from.

pub(crate) mod extras;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use steadfast_core::{
    Attempt, ConcurrencyKey, Destination, Fence, FlowKey, Guarantee, IdempotencyKey, Job, JobId,
    JobProgress, Kind, Payload, Priority, Queue, RetryPolicy, ScheduleId, ScheduledRun, Tags,
    Tenant, Timestamp, Traceparent, WorkerName,
};

use super::{
    columns::{AttemptColumns, JobColumns, LaneColumns},
    encryption::{Cell, Cipher, open_webhook},
    paging::Readable,
    values::{duration, read_state},
};
use crate::{
    damage::DamageLog,
    drivers::driver_error::{DriverError, pass_over},
    error::ErrorSource,
    lane::Lane,
};

use extras::StoredExtras;

/// The values of a row, by the positions of their columns.
pub(crate) trait RowValues {
    /// A number of any width; a boolean is 0 or 1.
    fn int_if_any(&self, column: usize) -> Result<Option<i64>, DriverError>;

    fn text_if_any(&self, column: usize) -> Result<Option<&str>, DriverError>;

    fn id_if_any(&self, column: usize) -> Result<Option<u128>, DriverError>;

    /// Free text, as this database stores it.
    fn free_text(&self, column: usize) -> Result<Option<String>, DriverError>;

    fn int(&self, column: usize) -> Result<i64, DriverError> {
        present(self.int_if_any(column)?)
    }

    fn text(&self, column: usize) -> Result<&str, DriverError> {
        present(self.text_if_any(column)?)
    }

    fn id(&self, column: usize) -> Result<u128, DriverError> {
        present(self.id_if_any(column)?)
    }

    /// A number that no column has an unsigned type for.
    fn number(&self, column: usize) -> Result<u32, DriverError> {
        let number = u32::try_from(self.int(column)?);
        number.map_err(|error| DriverError::unreadable("number", error))
    }

    fn time(&self, column: usize) -> Result<Timestamp, DriverError> {
        self.int(column).map(Timestamp::from_micros)
    }

    fn time_if_any(&self, column: usize) -> Result<Option<Timestamp>, DriverError> {
        Ok(self.int_if_any(column)?.map(Timestamp::from_micros))
    }

    fn parsed<T, E: Into<ErrorSource>>(
        &self,
        column: usize,
        what: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, DriverError> {
        let parsed = self.text_if_any(column)?.map(parse).transpose();
        parsed.map_err(|error| DriverError::unreadable(what, error))
    }

    fn json<T: DeserializeOwned>(
        &self,
        column: usize,
        what: &'static str,
    ) -> Result<Option<T>, DriverError> {
        self.parsed(column, what, |text| serde_json::from_str(text))
    }
}

fn present<T>(value: Option<T>) -> Result<T, DriverError> {
    value.ok_or_else(|| DriverError::unreadable("value", "it is null"))
}

/// The names of a lane.
pub(crate) fn lane<R: RowValues>(row: &R, columns: &LaneColumns) -> Result<Lane, DriverError> {
    Ok(Lane {
        tenant: present(row.parsed(columns.tenant, "tenant", Tenant::new)?)?,
        queue: present(row.parsed(columns.queue, "queue", Queue::new)?)?,
        kind: present(row.parsed(columns.kind, "kind", Kind::new)?)?,
    })
}

/// What the gates see of a job, from the columns of its destination and its concurrency key.
pub(crate) fn flow_key<R: RowValues>(
    row: &R,
    lane: Lane,
    (destination, concurrency_key): (usize, usize),
) -> Result<FlowKey, DriverError> {
    let key = "concurrency key";
    Ok(FlowKey {
        tenant: lane.tenant,
        queue: lane.queue,
        kind: lane.kind,
        destination: row.parsed(destination, "destination", Destination::new)?,
        concurrency_key: row.parsed(concurrency_key, key, ConcurrencyKey::new)?,
    })
}

/// A row of a job, whose lane and policy are known.
pub(crate) fn job<R: RowValues>(
    row: &R,
    columns: &JobColumns,
    lane: Lane,
    policy: Arc<RetryPolicy>,
    cipher: &Cipher,
) -> Result<Job, DriverError> {
    let id = JobId::from_bits(row.id(columns.id)?);
    let payload = cipher.open(Cell::Payload(id), row.text(columns.payload)?)?;
    let priority = u8::try_from(row.int(columns.priority)?).unwrap_or(u8::MAX);
    let mut tags: Tags = row.json(columns.tags, "tags")?.unwrap_or_default();
    let extras: Option<StoredExtras> = row.json(columns.extras, "extras")?;
    let start_before = match &extras {
        Some(_) => row.int_if_any(columns.start_before)?,
        None => None,
    };
    let traceparent = match row.text_if_any(columns.traceparent)? {
        Some(text) => Traceparent::new(text).ok(),
        None => Traceparent::take_from(&mut tags),
    };
    let schedule = row.id_if_any(columns.schedule)?.map(ScheduleId::from_bits);
    let run = schedule.zip(row.time_if_any(columns.tick)?);
    Ok(Job {
        id,
        tenant: lane.tenant,
        queue: lane.queue,
        kind: lane.kind,
        policy,
        payload: Payload::from_stored(&payload),
        priority: Priority::new(priority)
            .map_err(|error| DriverError::unreadable("priority", error))?,
        guarantee: match row.int(columns.at_most_once)? {
            0 => Guarantee::AtLeastOnce,
            _ => Guarantee::AtMostOnce,
        },
        timeout: row.int_if_any(columns.timeout)?.map(duration),
        lease: duration(row.int(columns.lease)?),
        created_at: row.time(columns.created_at)?,
        idempotency_key: row.parsed(
            columns.idempotency_key,
            "idempotency key",
            IdempotencyKey::new,
        )?,
        scheduled_run: run.map(|(schedule, tick)| ScheduledRun { schedule, tick }),
        webhook: open_webhook(cipher, id, row.text_if_any(columns.webhook)?)?,
        destination: row.parsed(columns.destination, "destination", Destination::new)?,
        concurrency_key: row.parsed(
            columns.concurrency_key,
            "concurrency key",
            ConcurrencyKey::new,
        )?,
        tags,
        traceparent,
        extras: extras.and_then(|extras| extras.read(start_before)),
        progress: progress(row, columns)?,
    })
}

fn progress<R: RowValues>(row: &R, columns: &JobColumns) -> Result<JobProgress, DriverError> {
    Ok(JobProgress {
        state: read_state(row.int(columns.state)?)?,
        run_at: row.time(columns.run_at)?,
        fence: Fence(row.number(columns.fence)?),
        attempt: row.number(columns.attempt)?,
        attempts_before: row.number(columns.attempts_before)?,
        cancel_requested: row.int(columns.cancel_requested)? != 0,
        lease_until: row.time_if_any(columns.lease_until)?,
        started_at: row.time_if_any(columns.started_at)?,
        first_started_at: row.time_if_any(columns.first_started_at)?,
        finished_at: row.time_if_any(columns.finished_at)?,
        resolved_at: row.time_if_any(columns.resolved_at)?,
        worker: row.parsed(columns.worker, "worker", WorkerName::new)?,
        snoozes: row.number(columns.snoozes)?,
        last_delay: row.int_if_any(columns.last_delay)?.map(duration),
        reason: row.parsed(columns.reason, "reason", str::parse)?,
        failure: row.json(columns.failure, "failure")?,
        note: row.free_text(columns.note)?,
    })
}

/// Adds a row of an attempt to others. One that cannot be read is reported.
pub(crate) fn push_attempt<R: RowValues>(
    attempts: &mut Readable<Attempt>,
    row: &R,
    columns: &AttemptColumns,
    cipher: &Cipher,
    damage: &DamageLog,
) -> Result<(), DriverError> {
    let (job, fence) = (
        JobId::from_bits(row.id(columns.job)?),
        row.int(columns.fence)?,
    );
    let read = attempt(row, columns, cipher);
    let read = pass_over(read, damage, "attempt", format_args!("{job}/{fence}"))?;
    attempts.push(read);
    Ok(())
}

fn attempt<R: RowValues>(
    row: &R,
    columns: &AttemptColumns,
    cipher: &Cipher,
) -> Result<Attempt, DriverError> {
    let job = JobId::from_bits(row.id(columns.job)?);
    let fence = Fence(row.number(columns.fence)?);
    let output = row.text_if_any(columns.output)?;
    let output = output.map(|output| cipher.open(Cell::Output(job, fence), output));
    Ok(Attempt {
        job,
        fence,
        attempt: row.number(columns.attempt)?,
        attempts_before: row.number(columns.attempts_before)?,
        status: present(row.parsed(columns.status, "status", str::parse)?)?,
        started_at: row.time(columns.started_at)?,
        finished_at: row.time(columns.finished_at)?,
        worker: row.parsed(columns.worker, "worker", WorkerName::new)?,
        failure: row.json(columns.failure, "failure")?,
        output: output
            .transpose()?
            .map(|output| Payload::from_stored(&output)),
        note: row.free_text(columns.note)?,
        decision: row.json(columns.decision, "decision")?,
    })
}
