//! Storing new jobs.

use std::collections::HashMap;

use rusqlite::{OptionalExtension, params};
use steadfast_core::{IdempotencyKey, JobId, NewJob, Payload, Tenant};

use super::{
    fault::Fault,
    rows::{job_id, job_key, nanos, schedule_key, to_json},
    session::Session,
};
use crate::{EnqueueError, EnqueueResult};

/// A payload up to this size lives in the row that claims and commits rewrite. At this size
/// about four rows share a page; larger payloads would make each claim write pages of its own,
/// smaller ones are cheaper to copy than to look up elsewhere.
pub(super) const PAYLOAD_INLINE_BYTES_MAX: usize = 1_000;

pub(super) type Answer = Result<Vec<EnqueueResult>, EnqueueError>;

/// Stores jobs, all or none. Conflicts are found before the first is written, because the
/// transaction is shared with other requests and cannot be rolled back for one of them.
pub(super) fn enqueue(session: &mut Session<'_>, jobs: &[NewJob]) -> Result<Answer, Fault> {
    let known = match known_keys(session, jobs)? {
        Ok(known) => known,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let mut answers = Vec::with_capacity(jobs.len());
    for (index, job) in jobs.iter().enumerate() {
        answers.push(match known.get(&index) {
            Some(id) => EnqueueResult::Existing(*id),
            None => insert(session, job)?,
        });
    }
    Ok(Ok(answers))
}

/// Stores a job whose key is known, or has none, unless its id is known.
fn insert(session: &mut Session<'_>, job: &NewJob) -> Result<EnqueueResult, Fault> {
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
    let tags = match job.tags().is_empty() {
        true => None,
        false => Some(to_json(job.tags())?),
    };
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
    keep_large(session, session.conn.last_insert_rowid(), &job.payload)?;
    if let Some(key) = &job.idempotency_key {
        session
            .conn
            .prepare_cached(include_str!("sql/idempotency_keep.sql"))?
            .execute(params![
                job.tenant.as_str(),
                key.as_str(),
                job_key(job.id),
                job.fingerprint()
            ])?;
    }
    session.added(lane, job.priority.get(), run_at);
    Ok(EnqueueResult::Created(job.id, session.now))
}

/// Stores a job that came about inside the store, where a known key is nobody's mistake.
pub(super) fn insert_unless_known(session: &mut Session<'_>, job: &NewJob) -> Result<(), Fault> {
    if let Some(key) = &job.idempotency_key
        && find_key(session, &job.tenant, key)?.is_some()
    {
        return Ok(());
    }
    insert(session, job)?;
    Ok(())
}

/// The payload, if it belongs into the hot row.
pub(super) fn inline(payload: &Payload) -> Option<&str> {
    Some(payload.as_str()).filter(|text| text.len() <= PAYLOAD_INLINE_BYTES_MAX)
}

pub(super) fn keep_large(session: &Session<'_>, seq: i64, payload: &Payload) -> Result<(), Fault> {
    if inline(payload).is_none() {
        session
            .conn
            .prepare_cached(include_str!("sql/payload_keep.sql"))?
            .execute(params![seq, payload.as_str()])?;
    }
    Ok(())
}

/// Which jobs of the batch exist already by their key, or the first conflict.
fn known_keys(
    session: &Session<'_>,
    jobs: &[NewJob],
) -> Result<Result<HashMap<usize, JobId>, EnqueueError>, Fault> {
    let mut known = HashMap::new();
    let mut keys_of_batch: HashMap<(&Tenant, &IdempotencyKey), Holder> = HashMap::new();
    for (index, job) in jobs.iter().enumerate() {
        let Some(key) = &job.idempotency_key else {
            continue;
        };
        let fingerprint = job.fingerprint();
        let stored = find_key(session, &job.tenant, key)?;
        let in_batch = keys_of_batch.get(&(&job.tenant, key)).copied();
        let Some(holder) = stored.or(in_batch) else {
            let holder = Holder {
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
        known.insert(index, holder.job);
    }
    Ok(Ok(known))
}

/// Which job has a key, and what was asked then: the job may have been edited since.
#[derive(Clone, Copy)]
struct Holder {
    job: JobId,
    fingerprint: [u8; 16],
}

fn find_key(
    session: &Session<'_>,
    tenant: &Tenant,
    key: &IdempotencyKey,
) -> Result<Option<Holder>, Fault> {
    let holder = session
        .conn
        .prepare_cached(include_str!("sql/idempotency_find.sql"))?
        .query_row((tenant.as_str(), key.as_str()), |row| {
            Ok(Holder {
                job: job_id(row.get(0)?),
                fingerprint: row.get(1)?,
            })
        })
        .optional()?;
    Ok(holder)
}
