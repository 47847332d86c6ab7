//! Storing new jobs.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use steadfast_core::{IdempotencyKey, JobId, NewJob, Payload, Tenant};

use super::{
    driver_error::DriverError,
    session::Session,
    values::{job_id, job_key, schedule_key, to_json},
};
use crate::{
    error::EnqueueError, limits::PAYLOAD_INLINE_BYTES_MAX, sql::values::nanos, store::EnqueueResult,
};

pub(super) type Answer = Result<Vec<EnqueueResult>, EnqueueError>;

/// Stores jobs, all or none. Conflicts are found before the first is written, because the
/// transaction is shared with other requests and cannot be rolled back for one of them.
pub(super) fn enqueue(session: &mut Session<'_>, jobs: &[NewJob]) -> Result<Answer, DriverError> {
    let existing = match existing_keys(session, jobs)? {
        Ok(existing) => existing,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let mut answers = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        answers.push(match existing.get(&index) {
            Some(id) => EnqueueResult::Existing(*id),
            None => insert(session, job)?,
        });
    }
    Ok(Ok(answers))
}

/// Stores a job without a key or with one that no other job has, unless its id is stored
/// already.
fn insert(session: &mut Session<'_>, job: &NewJob) -> Result<EnqueueResult, DriverError> {
    let Session {
        conn,
        now,
        names,
        hot,
        ..
    } = session;
    let lane = names.lane_id(conn, job)?;
    let policy = names.policy_id(conn, &job.policy)?;
    let run_at = job.due(*now);
    let tags = Some(job.tags()).filter(|tags| !tags.is_empty());
    let tags = tags.map(to_json).transpose()?;
    let webhook = job.webhook.as_deref().map(to_json).transpose()?;
    let inserted = hot.enqueue.on(conn)?.execute(params![
        job_key(job.id),
        lane,
        job.priority.get(),
        run_at.as_micros(),
        policy,
        job.guarantee == steadfast_core::Guarantee::AtMostOnce,
        job.timeout().map(nanos),
        nanos(job.lease()),
        now.as_micros(),
        job.idempotency_key.as_ref().map(IdempotencyKey::as_str),
        job.scheduled_run.map(|run| schedule_key(run.schedule)),
        job.scheduled_run.map(|run| run.tick.as_micros()),
        tags,
        inline(&job.payload),
        webhook,
    ])?;
    if inserted == 0 {
        return Ok(EnqueueResult::Existing(job.id));
    }
    save_large(session, session.conn.last_insert_rowid(), &job.payload)?;
    if let Some(key) = &job.idempotency_key {
        session
            .conn
            .prepare_cached(include_str!("sql/idempotency_insert.sql"))?
            .execute(params![
                job.tenant.as_str(),
                key.as_str(),
                job_key(job.id),
                job.fingerprint()
            ])?;
    }
    session.job_added(lane, job.priority.get(), run_at);
    Ok(EnqueueResult::Created(job.id, session.now))
}

/// Stores a job that was made inside the store, where a key that exists is no error.
pub(super) fn insert_unless_stored(
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

/// The payload, if it is small enough for the hot row.
pub(super) fn inline(payload: &Payload) -> Option<&str> {
    Some(payload.as_str()).filter(|text| text.len() <= PAYLOAD_INLINE_BYTES_MAX)
}

pub(super) fn save_large(
    session: &Session<'_>,
    seq: i64,
    payload: &Payload,
) -> Result<(), DriverError> {
    if inline(payload).is_none() {
        session
            .conn
            .prepare_cached(include_str!("sql/payload_save.sql"))?
            .execute(params![seq, payload.as_str()])?;
    }
    Ok(())
}

/// Which jobs of the batch are stored already by their key, or the first conflict.
fn existing_keys(
    session: &Session<'_>,
    jobs: &[NewJob],
) -> Result<Result<HashMap<usize, JobId>, EnqueueError>, DriverError> {
    let mut existing = HashMap::new();
    let mut keys_of_batch: HashMap<(&Tenant, &IdempotencyKey), KeyHolder> = HashMap::new();
    for (index, job) in jobs.iter().enumerate() {
        let Some(key) = &job.idempotency_key else {
            continue;
        };
        let fingerprint = job.fingerprint();
        let stored = find_key(session, &job.tenant, key)?;
        let in_batch = keys_of_batch.get(&(&job.tenant, key)).copied();
        let Some(holder) = stored.or(in_batch) else {
            let holder = KeyHolder {
                job: job.id,
                fingerprint,
            };
            keys_of_batch.insert((&job.tenant, key), holder);
            continue;
        };
        if holder.fingerprint != fingerprint {
            return Ok(Err(EnqueueError::Conflict {
                index,
                key: key.clone(),
                job: holder.job,
            }));
        }
        existing.insert(index, holder.job);
    }
    Ok(Ok(existing))
}

/// Which job has a key, and the fingerprint of its request: the job may have been edited since. The
/// key of a schedule has its id in place of a job's.
#[derive(Clone, Copy)]
pub(super) struct KeyHolder {
    pub(super) job: JobId,
    pub(super) fingerprint: [u8; 16],
}

pub(super) fn find_key(
    session: &Session<'_>,
    tenant: &Tenant,
    key: &IdempotencyKey,
) -> Result<Option<KeyHolder>, DriverError> {
    let holder = session
        .conn
        .prepare_cached(include_str!("sql/idempotency_find.sql"))?
        .query_row((tenant.as_str(), key.as_str()), |row| {
            Ok(KeyHolder {
                job: job_id(row.get("job")?),
                fingerprint: row.get("fingerprint")?,
            })
        })
        .optional()?;
    Ok(holder)
}
