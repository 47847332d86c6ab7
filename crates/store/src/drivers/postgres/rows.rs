//! Jobs and attempts in rows.

use std::sync::Arc;

use steadfast_core::{
    Attempt, ConcurrencyKey, Destination, Fence, Guarantee, IdempotencyKey, Job, JobProgress,
    JobState, Payload, Priority, ScheduledRun, Tags, Traceparent, WorkerName,
};
use tokio_postgres::Row;

use super::{
    driver_error::{DriverError, pass_over},
    key::Key,
    names::cache::ResolvedNames,
    session::Session,
    values::{json_option, number, parse, parse_option, time, time_option},
};
use crate::{
    damage::DamagedRow,
    drivers::sql::encryption::{Cell, Cipher, open_webhook},
    drivers::sql::{
        columns::{AttemptColumns, JobColumns},
        extras::StoredExtras,
        paging::Readable,
        values::{self, duration},
    },
};

/// Rows of jobs with their columns and names.
pub(super) struct JobRows {
    pub rows: Vec<Row>,
    pub columns: JobColumns,
    pub names: ResolvedNames,
}

impl JobRows {
    /// Reads a row among others. One that cannot be read is noted, and must not keep the others
    /// from being seen.
    pub(super) fn read_if_readable(
        &self,
        session: &Session<'_>,
        row: &Row,
    ) -> Result<Option<Job>, DriverError> {
        match self.read_or_damaged(session, row) {
            Ok(job) => Ok(Some(job)),
            Err(DriverError::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a row. One that cannot be read is noted, and says whose it is.
    pub(super) fn read_or_damaged(
        &self,
        session: &Session<'_>,
        row: &Row,
    ) -> Result<Job, DriverError> {
        self.read(session, row).or_else(|error| {
            if !error.is_unreadable() {
                return Err(error);
            }
            let id = row.try_get::<_, Key>(self.columns.id)?.job();
            let lane = self.names.lane(row.try_get(self.columns.lane)?).ok();
            let tenant = lane.map(|lane| lane.tenant.clone());
            let damaged = DamagedRow::new("job", id, error).of(tenant);
            session.shared.damage.note(damaged.clone());
            Err(DriverError::Damaged(Box::new(damaged)))
        })
    }

    fn read(&self, session: &Session<'_>, row: &Row) -> Result<Job, DriverError> {
        let columns = &self.columns;
        let id = row.try_get::<_, Key>(columns.id)?.job();
        let payload = row.try_get(columns.payload)?;
        let payload = session.shared.cipher.open(Cell::Payload(id), payload)?;
        let lane = self.names.lane(row.try_get(columns.lane)?)?;
        let priority = u8::try_from(row.try_get::<_, i16>(columns.priority)?).unwrap_or(u8::MAX);
        let is_at_most_once: bool = row.try_get(columns.at_most_once)?;
        let mut tags: Tags = json_option(row, columns.tags, "tags")?.unwrap_or_default();
        let extras = json_option::<StoredExtras>(row, columns.extras, "extras")?;
        let start_before = match &extras {
            Some(_) => row.try_get(columns.start_before)?,
            None => None,
        };
        let extras = extras.and_then(|extras| extras.read(start_before));
        let traceparent = match row.try_get::<_, Option<&str>>(columns.traceparent)? {
            Some(text) => Traceparent::new(text).ok(),
            None => Traceparent::take_from(&mut tags),
        };
        Ok(Job {
            id,
            tenant: lane.tenant.clone(),
            queue: lane.queue.clone(),
            kind: lane.kind.clone(),
            policy: Arc::clone(self.names.policy(row.try_get(columns.policy)?)?),
            payload: Payload::from_stored(&payload),
            priority: Priority::new(priority)
                .map_err(|error| DriverError::unreadable("priority", error))?,
            guarantee: if is_at_most_once {
                Guarantee::AtMostOnce
            } else {
                Guarantee::AtLeastOnce
            },
            timeout: row
                .try_get::<_, Option<i64>>(columns.timeout)?
                .map(duration),
            lease: duration(row.try_get(columns.lease)?),
            created_at: time(row.try_get(columns.created_at)?),
            idempotency_key: parse_option(
                row,
                columns.idempotency_key,
                "idempotency key",
                IdempotencyKey::new,
            )?,
            scheduled_run: scheduled_run(columns, row)?,
            webhook: open_webhook(&session.shared.cipher, id, row.try_get(columns.webhook)?)?,
            destination: parse_option(row, columns.destination, "destination", Destination::new)?,
            concurrency_key: parse_option(
                row,
                columns.concurrency_key,
                "concurrency key",
                ConcurrencyKey::new,
            )?,
            tags,
            traceparent,
            extras,
            progress: progress(columns, row)?,
        })
    }
}

fn scheduled_run(columns: &JobColumns, row: &Row) -> Result<Option<ScheduledRun>, DriverError> {
    let schedule: Option<Key> = row.try_get(columns.schedule)?;
    let tick = time_option(row, columns.tick)?;
    Ok(schedule.zip(tick).map(|(schedule, tick)| ScheduledRun {
        schedule: schedule.schedule(),
        tick,
    }))
}

fn progress(columns: &JobColumns, row: &Row) -> Result<JobProgress, DriverError> {
    Ok(JobProgress {
        state: state(row.try_get(columns.state)?)?,
        run_at: time(row.try_get(columns.run_at)?),
        fence: Fence(number(row, columns.fence)?),
        attempt: number(row, columns.attempt)?,
        attempts_before: number(row, columns.attempts_before)?,
        cancel_requested: row.try_get(columns.cancel_requested)?,
        lease_until: time_option(row, columns.lease_until)?,
        started_at: time_option(row, columns.started_at)?,
        first_started_at: time_option(row, columns.first_started_at)?,
        finished_at: time_option(row, columns.finished_at)?,
        resolved_at: time_option(row, columns.resolved_at)?,
        worker: parse_option(row, columns.worker, "worker", WorkerName::new)?,
        snoozes: u32::try_from(row.try_get::<_, i32>(columns.snoozes)?)
            .map_err(|error| DriverError::unreadable("number", error))?,
        last_delay: row
            .try_get::<_, Option<i64>>(columns.last_delay)?
            .map(duration),
        reason: parse_option(row, columns.reason, "reason", str::parse)?,
        failure: json_option(row, columns.failure, "failure")?,
        note: json_option(row, columns.note, "note")?,
    })
}

/// All attempt records of a result.
pub(super) fn attempts(
    session: &Session<'_>,
    rows: &[Row],
) -> Result<Readable<Attempt>, DriverError> {
    let Some(first) = rows.first() else {
        return Ok(Readable::default());
    };
    let columns = AttemptColumns::find(first.columns().iter().map(|column| column.name()))?;
    let mut found = Readable::default();
    for row in rows {
        let job = row.try_get::<_, Key>(columns.job)?.job();
        let fence: i64 = row.try_get(columns.fence)?;
        let id = format_args!("{job}/{fence}");
        found.push(pass_over(
            attempt(&columns, row, &session.shared.cipher),
            &session.shared.damage,
            "attempt",
            id,
        )?);
    }
    Ok(found)
}

fn attempt(columns: &AttemptColumns, row: &Row, cipher: &Cipher) -> Result<Attempt, DriverError> {
    let job = row.try_get::<_, Key>(columns.job)?.job();
    let fence = Fence(number(row, columns.fence)?);
    let output: Option<&str> = row.try_get(columns.output)?;
    let output = output.map(|output| cipher.open(Cell::Output(job, fence), output));
    Ok(Attempt {
        job,
        fence,
        attempt: number(row, columns.attempt)?,
        attempts_before: number(row, columns.attempts_before)?,
        status: parse(row, columns.status, "status", str::parse)?,
        started_at: time(row.try_get(columns.started_at)?),
        finished_at: time(row.try_get(columns.finished_at)?),
        worker: parse_option(row, columns.worker, "worker", WorkerName::new)?,
        failure: json_option(row, columns.failure, "failure")?,
        output: output
            .transpose()?
            .map(|output| Payload::from_stored(&output)),
        note: json_option(row, columns.note, "note")?,
        decision: json_option(row, columns.decision, "decision")?,
        usage: json_option(row, columns.usage, "usage")?,
    })
}

fn state(stored: i16) -> Result<JobState, DriverError> {
    values::state(stored).ok_or_else(|| DriverError::unreadable("state", stored.to_string()))
}
