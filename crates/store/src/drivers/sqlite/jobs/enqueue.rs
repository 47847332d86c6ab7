//! Storing new jobs.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use rusqlite::{Connection, OptionalExtension, params};
use steadfast_core::{
    ConcurrencyKey, Destination, FlowKey, Guarantee, IdempotencyKey, JobId, NewJob, Payload,
    Tenant, Traceparent, tag_text,
};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    row_inserts::InsertedRows,
    session::Session,
    transaction::{WriterTransaction, finish},
    unique,
    values::{job_id, job_key, schedule_key, to_json},
};
use crate::{
    claim::{DueRange, FlowKeyId, Level},
    drivers::sql::encryption::{Cell, Cipher, seal_webhook},
    drivers::sql::{extras::StoredExtras, values::nanos},
    error::EnqueueError,
    limits::PAYLOAD_INLINE_BYTES_MAX,
    store::EnqueueResult,
    verbs::links::NewDependant,
    verbs::tenant_room::check_flow_keys,
    verbs::unique::UniquePlan,
    verbs::{
        batches,
        dependencies::{self, RequestContext},
    },
};

pub(crate) type Answer = Result<Vec<EnqueueResult>, EnqueueError>;

/// Stores the jobs of one request, all or none.
pub(crate) fn enqueue(session: &mut Session<'_>, jobs: &[NewJob]) -> Result<Answer, DriverError> {
    let mut answers = enqueue_together(session, &[jobs])?;
    answers.pop().ok_or(DriverError::NotRun)
}

/// Stores the jobs of several requests, each all or none. Conflicts of a request are found before
/// its first job is written, because the transaction is shared with other requests and cannot be
/// rolled back for one of them.
// long: the steps of one request, in their order
pub(crate) fn enqueue_together(
    session: &mut Session<'_>,
    requests: &[&[NewJob]],
) -> Result<Vec<Answer>, DriverError> {
    let mut plain = PlainJobs::default();
    let mut answers: Vec<Answer> = Vec::with_capacity(requests.len());
    for (request, jobs) in requests.iter().enumerate() {
        let existing = match existing_keys(session, jobs)? {
            Ok(existing) => existing,
            Err(conflict) => {
                answers.push(Err(conflict));
                continue;
            }
        };
        // A request that is repeated needs no room.
        if existing.len() < jobs.len()
            && let Err(full) = check_room(session, jobs)?
        {
            answers.push(Err(full));
            continue;
        }
        let plan = match unique::plan(session, jobs, &existing)? {
            Ok(plan) => plan,
            Err(conflict) => {
                answers.push(Err(conflict));
                continue;
            }
        };
        if jobs.iter().any(|job| job.after().is_some()) {
            // It may wait for one of those.
            plain.insert_all(session)?;
        }
        let known = |index| {
            let unique = || plan.answers.get(&index).map(|result| result.id());
            existing.get(&index).copied().or_else(unique)
        };
        let dependants = match plan_links(session, jobs, &plan, known)? {
            Ok(dependants) => dependants,
            Err(refused) => {
                answers.push(Err(refused));
                continue;
            }
        };
        let mut results = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.iter().enumerate() {
            let known = existing.get(&index).map(|id| EnqueueResult::Existing(*id));
            results.push(match known.or(plan.answers.get(&index).copied()) {
                Some(known) => known,
                None if is_plain(session.names.cipher(), job) => {
                    let row = NewRow::of(session, job)?;
                    plain.rows.push((row, (request, index)));
                    // Unless it turns out to be stored already.
                    EnqueueResult::Created(job.id, session.now)
                }
                None => {
                    plain.insert_all(session)?;
                    let dependant = dependants.get(&index).map(|new| &new.job);
                    insert(
                        session,
                        dependant.or(plan.creates.get(&index)).unwrap_or(job),
                    )?
                }
            });
        }
        unique::edit(session, &plan)?;
        save_links(session, jobs, &dependants, &results)?;
        answers.push(Ok(results));
    }
    plain.insert_all(session)?;
    for (job, (request, index)) in plain.stored_before {
        if let Some(Ok(results)) = answers.get_mut(request) {
            results[index] = EnqueueResult::Existing(job);
        }
    }
    Ok(answers)
}

/// Refuses jobs in lanes and flow keys that their tenants may not have.
fn check_room(
    session: &mut Session<'_>,
    jobs: &[NewJob],
) -> Result<Result<(), EnqueueError>, DriverError> {
    match session.names.check_lanes(session.conn, jobs)? {
        Ok(()) => Ok(check_flow_keys(jobs, &mut session.due.index, session.now)),
        full => Ok(full),
    }
}

/// The jobs of a request that wait for others, as they are to be stored; or why the others, or the
/// batches that jobs are to be added to, do not allow it.
fn plan_links(
    session: &mut Session<'_>,
    jobs: &[NewJob],
    plan: &UniquePlan,
    known: impl Fn(usize) -> Option<JobId>,
) -> Result<Result<HashMap<usize, NewDependant>, EnqueueError>, DriverError> {
    if jobs
        .iter()
        .all(|job| job.after().is_none() && job.batch().is_none())
    {
        return Ok(Ok(HashMap::new()));
    }
    let new = jobs
        .iter()
        .enumerate()
        .filter(|(index, _)| known(*index).is_none());
    let new = new.map(|(index, job)| (index, plan.creates.get(&index).unwrap_or(job)));
    let new: Vec<(usize, &NewJob)> = new.collect();
    let mut transaction = WriterTransaction::new(session);
    let context = RequestContext::of_enqueue(jobs.iter(), known);
    let dependants = match finish(dependencies::plan(&mut transaction, &new, &context))? {
        Ok(dependants) => dependants,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let checked = finish(batches::check(&mut transaction, new, None))?;
    Ok(checked.map(|()| dependants))
}

/// Counts jobs that were stored in their batches, and stores what they wait for.
fn save_links(
    session: &mut Session<'_>,
    jobs: &[NewJob],
    dependants: &HashMap<usize, NewDependant>,
    results: &[EnqueueResult],
) -> Result<(), DriverError> {
    let (mut added, mut waiting) = (Vec::new(), Vec::new());
    for (index, (job, result)) in jobs.iter().zip(results).enumerate() {
        if let EnqueueResult::Created(id, at) = result {
            added.extend(job.batch().map(|batch| (*id, batch)));
            waiting.extend(dependants.get(&index).map(|new| (new, *at)));
        }
    }
    if added.is_empty() && waiting.is_empty() {
        return Ok(());
    }
    let mut transaction = WriterTransaction::new(session);
    finish(batches::add(&mut transaction, &added, None))?;
    finish(dependencies::save(&mut transaction, &waiting))
}

/// Whether the job's own row is all there is to write.
fn is_plain(cipher: &Cipher, job: &NewJob) -> bool {
    let extras = job.extras();
    job.idempotency_key.is_none()
        && extras.is_none_or(|extras| {
            extras.unique.is_none() && extras.after.is_none() && extras.batch.is_none()
        })
        && is_inline(cipher, &job.payload)
}

/// Jobs that are written together, and where their answers are: request and index.
#[derive(Default)]
struct PlainJobs<'j> {
    rows: Vec<(NewRow<'j>, (usize, usize))>,
    stored_before: Vec<(JobId, (usize, usize))>,
}

impl PlainJobs<'_> {
    fn insert_all(&mut self, session: &mut Session<'_>) -> Result<(), DriverError> {
        let mut rest = &self.rows[..];
        while !rest.is_empty() {
            let InsertedRows { taken, stored } = insert_rows(session, rest, |(row, _)| *row)?;
            let (inserted, later) = rest.split_at(taken);
            rest = later;
            let mut new_ids = match stored == taken {
                true => None,
                false => Some(newest_ids(session, stored)?),
            };
            for (row, answer) in inserted {
                // An id that is there twice was stored once.
                if new_ids.as_mut().is_none_or(|ids| ids.remove(&row.job.id)) {
                    row.save_tags(session)?;
                    row.wait_in_lane(session);
                } else {
                    self.stored_before.push((row.job.id, *answer));
                }
            }
        }
        self.rows.clear();
        Ok(())
    }
}

/// The ids of the jobs that were stored last.
fn newest_ids(session: &Session<'_>, count: usize) -> Result<HashSet<JobId>, DriverError> {
    if count == 0 {
        return Ok(HashSet::new());
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let before = session.conn.last_insert_rowid() - count;
    let sql = include_str!("enqueue/enqueue_stored.sql");
    let mut statement = session.conn.prepare_cached(sql)?;
    let ids = statement.query_map([before], |row| Ok(job_id(row.get("id")?)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

/// A job on its way to a row.
#[derive(Clone, Copy)]
struct NewRow<'j> {
    job: &'j NewJob,
    flow_key: FlowKeyId,
    policy: i64,
}

impl<'j> NewRow<'j> {
    fn of(session: &mut Session<'_>, job: &'j NewJob) -> Result<Self, DriverError> {
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
    fn save_tags(self, session: &Session<'_>) -> Result<(), DriverError> {
        let job = self.job;
        for (name, value) in job.tags() {
            let params = params![tag_text(name, value), job_key(job.id), job.tenant.as_str()];
            let sql = include_str!("enqueue/tag_insert.sql");
            session.conn.prepare_cached(sql)?.execute(params)?;
        }
        Ok(())
    }

    fn wait_in_lane(self, session: &mut Session<'_>) {
        let range = DueRange {
            flow_key: self.flow_key,
            level: Level::new(self.job.priority.get(), false),
        };
        session.job_added(range, self.job, self.job.due(session.now));
    }
}

/// Writes the rows of the first of some jobs, unless their ids are stored already.
fn insert_rows<'j, T>(
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
            .prepare_cached(include_str!("enqueue/idempotency_insert.sql"))?
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
            conn.prepare_cached(include_str!("enqueue/payload_save.sql"))?
                .execute(params![seq, self.0])?;
        }
        Ok(())
    }
}

/// Whether a payload is small enough for the hot row.
fn is_inline(cipher: &Cipher, payload: &Payload) -> bool {
    cipher.stored_bytes(payload.as_str().len()) <= PAYLOAD_INLINE_BYTES_MAX
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
        .prepare_cached(include_str!("enqueue/idempotency_find.sql"))?
        .query_row((tenant.as_str(), key.as_str()), |row| {
            Ok(KeyHolder {
                job: job_id(row.get("job")?),
                fingerprint: row.get("fingerprint")?,
            })
        })
        .optional()?;
    Ok(holder)
}
