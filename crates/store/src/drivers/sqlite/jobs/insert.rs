//! A new job's row, and what is stored beside it.

use std::borrow::Cow;

use rusqlite::{Connection, OptionalExtension, params};
use steadfast_core::{
    ConcurrencyKey, Destination, FlowKey, Guarantee, IdempotencyKey, JobId, NewJob, Payload,
    Tenant, Traceparent, tag_text,
};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    row_inserts::InsertedRows,
    session::Session,
    values::{job_id, job_key, schedule_key, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::{Cell, Cipher, seal_webhook},
    drivers::sql::{rows::extras::StoredExtras, values::nanos},
    limits::PAYLOAD_INLINE_BYTES_MAX,
    store::EnqueueResult,
};

/// A job on its way to a row.
#[derive(Clone, Copy)]
pub(crate) struct NewRow<'j> {
    pub(crate) job: &'j NewJob,
    flow_key: FlowKeyId,
    policy: i64,
}

impl<'j> NewRow<'j> {
    pub(crate) fn of(session: &mut Session<'_>, job: &'j NewJob) -> Result<Self, DriverError> {
        let Session { conn, names, .. } = session;
        let (destination, key) = (job.destination.as_ref(), job.concurrency_key.as_ref());
        Ok(Self {
            job,
            flow_key: FlowKeyId {
                lane: names.lane_id(conn, job)?,
                number: FlowKey::number(destination, key),
            },
            policy: names.policy_id(conn, &job.policy)?,
        })
    }

    /// Lets the job be found by its tags.
    pub(crate) fn save_tags(self, session: &Session<'_>) -> Result<(), DriverError> {
        let job = self.job;
        for (name, value) in job.tags() {
            let params = params![tag_text(name, value), job_key(job.id), job.tenant.as_str()];
            let sql = include_str!("insert/tag_insert.sql");
            session.conn.prepare_cached(sql)?.execute(params)?;
        }
        Ok(())
    }

    pub(crate) fn wait_in_lane(self, session: &mut Session<'_>) {
        let range = DueRange {
            flow_key: self.flow_key,
            level: Level::new(self.job.priority.get(), false),
        };
        session.job_added(range, self.job, self.job.due(session.now));
    }
}

/// Writes the rows of the first of some jobs, unless their ids are stored already.
pub(crate) fn insert_rows<'j, T>(
    session: &mut Session<'_>,
    all: &[T],
    row_of: impl Fn(&T) -> NewRow<'j>,
) -> Result<InsertedRows, DriverError> {
    let Session {
        conn,
        now,
        hot,
        names,
        ..
    } = session;
    hot.enqueue.insert_some(conn, all, |row, of| {
        let NewRow {
            job,
            flow_key,
            policy,
        } = row_of(of);
        let key = job.concurrency_key.as_ref();
        let tags = Some(job.tags()).filter(|tags| !tags.is_empty());
        row.bind(job_key(job.id))?;
        row.bind(flow_key.lane)?;
        row.bind(job.priority.get())?;
        row.bind(job.due(*now).as_micros())?;
        row.bind(policy)?;
        row.bind(job.guarantee == Guarantee::AtMostOnce)?;
        row.bind(job.timeout().map(nanos))?;
        row.bind(nanos(job.lease()))?;
        row.bind(now.as_micros())?;
        row.bind(job.idempotency_key.as_ref().map(IdempotencyKey::as_str))?;
        row.bind(job.scheduled_run.map(|run| schedule_key(run.schedule)))?;
        row.bind(job.scheduled_run.map(|run| run.tick.as_micros()))?;
        row.bind(tags.map(to_json).transpose()?)?;
        let payload = StoredPayload::seal(names.cipher(), job.id, &job.payload)?;
        row.bind(payload.inline())?;
        row.bind(seal_webhook(
            names.cipher(),
            job.id,
            job.webhook.as_deref(),
        )?)?;
        row.bind(flow_key.number)?;
        row.bind(job.destination.as_ref().map(Destination::as_str))?;
        row.bind(key.map(ConcurrencyKey::as_str))?;
        row.bind(key.map(|key| FlowKey::key_number(&job.tenant, key)))?;
        row.bind(job.traceparent().map(Traceparent::as_str))?;
        let extras = StoredExtras::of(job);
        row.bind(extras.as_ref().map(to_json).transpose()?)?;
        row.bind(job.unique().map(|unique| unique.number(&job.tenant)))?;
        row.bind(
            job.start_deadline(*now)
                .map(|deadline| deadline.at().as_micros()),
        )
    })
}

/// Stores a job without a key or with one that no other job has, unless its id is stored
/// already.
pub(crate) fn insert(
    session: &mut Session<'_>,
    job: &NewJob,
) -> Result<EnqueueResult, DriverError> {
    let row = NewRow::of(session, job)?;
    if insert_rows(session, &[row], |row| *row)?.stored == 0 {
        return Ok(EnqueueResult::Existing(job.id));
    }
    if !is_inline(session.names.cipher(), &job.payload) {
        let payload = StoredPayload::seal(session.names.cipher(), job.id, &job.payload)?;
        payload.save_large(session.conn, session.conn.last_insert_rowid())?;
    }
    if let Some(key) = &job.idempotency_key {
        session
            .conn
            .prepare_cached(include_str!("insert/idempotency_insert.sql"))?
            .execute(params![
                job.tenant.as_str(),
                key.as_str(),
                job_key(job.id),
                job.fingerprint()
            ])?;
    }
    row.save_tags(session)?;
    row.wait_in_lane(session);
    Ok(EnqueueResult::Created(job.id, session.now))
}

/// Stores a job that was made inside the store, where a key that exists is no error.
pub(crate) fn insert_unless_stored(
    session: &mut Session<'_>,
    job: &NewJob,
) -> Result<(), DriverError> {
    if let Some(key) = &job.idempotency_key
        && find_key(session, &job.tenant, key)?.is_some()
    {
        return Ok(());
    }
    insert(session, job)?;
    Ok(())
}

/// A payload as it is stored.
pub(crate) struct StoredPayload<'p>(Cow<'p, str>);

impl<'p> StoredPayload<'p> {
    pub(crate) fn seal(
        cipher: &Cipher,
        job: JobId,
        payload: &'p Payload,
    ) -> Result<Self, DriverError> {
        let sealed = cipher.seal(Cell::Payload(job), payload.as_str())?;
        Ok(Self(sealed))
    }

    /// The payload, if it is small enough for the hot row.
    pub(crate) fn inline(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| text.len() <= PAYLOAD_INLINE_BYTES_MAX)
    }

    pub(crate) fn save_large(&self, conn: &Connection, seq: i64) -> Result<(), DriverError> {
        if self.inline().is_none() {
            conn.prepare_cached(include_str!("insert/payload_save.sql"))?
                .execute(params![seq, self.0])?;
        }
        Ok(())
    }
}

/// Whether a payload is small enough for the hot row.
pub(crate) fn is_inline(cipher: &Cipher, payload: &Payload) -> bool {
    cipher.stored_bytes(payload.as_str().len()) <= PAYLOAD_INLINE_BYTES_MAX
}

/// Which job has a key, and the fingerprint of its request: the job may have been edited since. The
/// key of a schedule has its id in place of a job's.
#[derive(Clone, Copy)]
pub(crate) struct KeyHolder {
    pub(crate) job: JobId,
    pub(crate) fingerprint: [u8; 16],
}

pub(crate) fn find_key(
    session: &Session<'_>,
    tenant: &Tenant,
    key: &IdempotencyKey,
) -> Result<Option<KeyHolder>, DriverError> {
    let holder = session
        .conn
        .prepare_cached(include_str!("insert/idempotency_find.sql"))?
        .query_row((tenant.as_str(), key.as_str()), |row| {
            Ok(KeyHolder {
                job: job_id(row.get("job")?),
                fingerprint: row.get("fingerprint")?,
            })
        })
        .optional()?;
    Ok(holder)
}
