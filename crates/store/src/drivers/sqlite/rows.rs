//! Jobs and attempts in rows.

use rusqlite::{Connection, Row, Rows, Statement};
use steadfast_core::{
    Attempt, ConcurrencyKey, Destination, Fence, Guarantee, IdempotencyKey, Invalid, Job,
    JobProgress, Payload, Priority, ScheduledRun, Tags, Traceparent, WorkerName,
};

use super::{
    driver_error::{DriverError, pass_over},
    names::Names,
    values::{
        job_id, json_option, parse_option, schedule_id, state, text_option, time, time_option,
        wrong_type,
    },
};
use crate::{
    damage::DamagedRow,
    drivers::sql::encryption::{Cell, Cipher, open_webhook},
    drivers::sql::{
        columns::{AttemptColumns, JobColumns, columns},
        extras::StoredExtras,
        paging::Readable,
        values::duration,
    },
    lane::LaneId,
};

/// A job with the number of its row.
pub(super) struct JobRow {
    pub seq: i64,
    pub lane: LaneId,
    pub job: Job,
}

/// The columns of the view `job_row`.
#[derive(Clone, Copy)]
pub(super) struct JobRowColumns {
    seq: usize,
    pub job: JobColumns,
}

columns! {
    struct SeqColumn { seq }
}

impl JobRowColumns {
    pub(super) fn find(statement: &Statement<'_>) -> Result<Self, DriverError> {
        Ok(Self {
            seq: SeqColumn::find(statement.column_names())?.seq,
            job: JobColumns::find(statement.column_names())?,
        })
    }
}

impl JobRow {
    /// Reads a row among others. One that cannot be read is noted, and must not keep the others
    /// from being seen.
    pub(super) fn read_if_readable(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Option<Self>, DriverError> {
        match Self::read_or_damaged(conn, names, columns, row) {
            Ok(row) => Ok(Some(row)),
            Err(DriverError::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a row. One that cannot be read is noted, and says whose it is.
    pub(super) fn read_or_damaged(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Self, DriverError> {
        Self::read(conn, names, columns, row).or_else(|error| {
            if !error.is_unreadable() {
                return Err(error);
            }
            let id = job_id(row.get(columns.job.id)?);
            let lane = names.lane(conn, row.get(columns.job.lane)?).ok();
            let tenant = lane.map(|lane| lane.tenant.clone());
            let damaged = DamagedRow::new("job", id, error).of(tenant);
            names.damage().note(damaged.clone());
            Err(DriverError::Damaged(Box::new(damaged)))
        })
    }

    fn read(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Self, DriverError> {
        let seq = row.get(columns.seq)?;
        let columns = &columns.job;
        let lane = row.get(columns.lane)?;
        let policy = names.policy(conn, row.get(columns.policy)?)?;
        let id = job_id(row.get(columns.id)?);
        let payload = row.get_ref(columns.payload)?.as_str().map_err(wrong_type)?;
        let payload = names.cipher().open(Cell::Payload(id), payload)?;
        let name = names.lane(conn, lane)?;
        let is_at_most_once: bool = row.get(columns.at_most_once)?;
        let mut tags: Tags = json_option(row, columns.tags, "tags")?.unwrap_or_default();
        let extras = json_option::<StoredExtras>(row, columns.extras, "extras")?;
        let start_before = match &extras {
            Some(_) => row.get(columns.start_before)?,
            None => None,
        };
        let extras = extras.and_then(|extras| extras.read(start_before));
        let traceparent = match text_option(row, columns.traceparent)? {
            Some(text) => Traceparent::new(text).ok(),
            None => Traceparent::take_from(&mut tags),
        };
        let job = Job {
            id,
            tenant: name.tenant.clone(),
            queue: name.queue.clone(),
            kind: name.kind.clone(),
            payload: Payload::from_stored(&payload),
            priority: Priority::new(row.get(columns.priority)?)
                .map_err(|error| DriverError::unreadable("priority", error))?,
            policy,
            guarantee: if is_at_most_once {
                Guarantee::AtMostOnce
            } else {
                Guarantee::AtLeastOnce
            },
            timeout: row.get::<_, Option<i64>>(columns.timeout)?.map(duration),
            lease: duration(row.get(columns.lease)?),
            idempotency_key: parse_option(
                row,
                columns.idempotency_key,
                "idempotency key",
                IdempotencyKey::new,
            )?,
            scheduled_run: scheduled_run(row.get(columns.schedule)?, row.get(columns.tick)?),
            webhook: open_webhook(names.cipher(), id, text_option(row, columns.webhook)?)?,
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
            created_at: time(row.get(columns.created_at)?),
            progress: progress(columns, row)?,
        };
        Ok(Self { seq, lane, job })
    }
}

fn progress(columns: &JobColumns, row: &Row<'_>) -> Result<JobProgress, DriverError> {
    Ok(JobProgress {
        state: state(row.get(columns.state)?)?,
        run_at: time(row.get(columns.run_at)?),
        fence: Fence(row.get(columns.fence)?),
        attempt: row.get(columns.attempt)?,
        attempts_before: row.get(columns.attempts_before)?,
        cancel_requested: row.get(columns.cancel_requested)?,
        lease_until: time_option(row, columns.lease_until)?,
        started_at: time_option(row, columns.started_at)?,
        first_started_at: time_option(row, columns.first_started_at)?,
        finished_at: time_option(row, columns.finished_at)?,
        resolved_at: time_option(row, columns.resolved_at)?,
        worker: parse_option(row, columns.worker, "worker", WorkerName::new)?,
        snoozes: row.get(columns.snoozes)?,
        last_delay: row.get::<_, Option<i64>>(columns.last_delay)?.map(duration),
        reason: parse_option(row, columns.reason, "reason", str::parse)?,
        failure: json_option(row, columns.failure, "failure")?,
        note: row.get(columns.note)?,
    })
}

/// All attempt records of a result.
pub(super) fn attempts(
    mut rows: Rows<'_>,
    names: &Names,
) -> Result<Readable<Attempt>, DriverError> {
    let mut attempts = Readable::default();
    let mut columns = None;
    while let Some(row) = rows.next()? {
        let found = match columns {
            Some(found) => found,
            None => *columns.insert(AttemptColumns::find(row.as_ref().column_names())?),
        };
        let (job, fence): ([u8; 16], i64) = (row.get(found.job)?, row.get(found.fence)?);
        let id = format_args!("{}/{fence}", job_id(job));
        attempts.push(pass_over(
            attempt(&found, row, names.cipher()),
            names.damage_log(),
            "attempt",
            id,
        )?);
    }
    Ok(attempts)
}

/// A row of an attempt, with the job's public id in place of its number.
fn attempt(
    columns: &AttemptColumns,
    row: &Row<'_>,
    cipher: &Cipher,
) -> Result<Attempt, DriverError> {
    let (job, fence) = (
        job_id(row.get(columns.job)?),
        Fence(row.get(columns.fence)?),
    );
    let output = text_option(row, columns.output)?;
    let output = output.map(|output| cipher.open(Cell::Output(job, fence), output));
    let status = row.get_ref(columns.status)?.as_str().map_err(wrong_type)?;
    Ok(Attempt {
        job,
        fence,
        attempt: row.get(columns.attempt)?,
        attempts_before: row.get(columns.attempts_before)?,
        status: status
            .parse()
            .map_err(|error: Invalid| DriverError::unreadable("status", error))?,
        started_at: time(row.get(columns.started_at)?),
        finished_at: time(row.get(columns.finished_at)?),
        worker: parse_option(row, columns.worker, "worker", WorkerName::new)?,
        failure: json_option(row, columns.failure, "failure")?,
        output: output
            .transpose()?
            .map(|output| Payload::from_stored(&output)),
        note: row.get(columns.note)?,
        decision: json_option(row, columns.decision, "decision")?,
        usage: json_option(row, columns.usage, "usage")?,
    })
}

fn scheduled_run(schedule: Option<[u8; 16]>, tick: Option<i64>) -> Option<ScheduledRun> {
    Some(ScheduledRun {
        schedule: schedule_id(schedule?),
        tick: time(tick?),
    })
}
