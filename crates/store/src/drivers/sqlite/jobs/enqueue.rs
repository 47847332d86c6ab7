//! Storing new jobs.

use std::collections::{HashMap, HashSet};

use steadfast_core::{IdempotencyKey, JobCommand, JobId, NewJob, Subscriptions, Tenant};

use crate::drivers::sqlite::{
    change::run_command,
    driver_error::DriverError,
    insert::{KeyHolder, NewRow, find_key, insert, insert_rows, is_inline},
    row_inserts::InsertedRows,
    session::Session,
    transaction::wrappers::{WriterTransaction, finish},
    unique,
    values::job_id,
};
use crate::{
    drivers::sql::encryption::Cipher,
    drivers::transaction::Transaction as _,
    error::EnqueueError,
    store::EnqueueResult,
    verbs::links::NewDependant,
    verbs::tenant_room::check_flow_keys,
    verbs::unique::UniquePlan,
    verbs::{
        batches,
        dependencies::{self, RequestContext},
        waiting_limit,
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
        let new = (0..jobs.len()).filter(|index| known(*index).is_none());
        if let Err(full) = check_waiting(session, &mut plain, new.map(|index| &jobs[index]))? {
            answers.push(Err(full));
            continue;
        }
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
        edit_unique(session, &plan)?;
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

/// Refuses jobs if too many would wait.
fn check_waiting<'j>(
    session: &mut Session<'_>,
    plain: &mut PlainJobs<'_>,
    new: impl Iterator<Item = &'j NewJob> + Clone,
) -> Result<Result<(), EnqueueError>, DriverError> {
    let gates = session.due.gates();
    if !waiting_limit::applies(&gates, new.clone()) {
        return Ok(Ok(()));
    }
    // They wait, too.
    plain.insert_all(session)?;
    let mut transaction = WriterTransaction::new(session);
    finish(waiting_limit::check(&mut transaction, &gates, new))
}

/// Changes the jobs that wait as was planned.
fn edit_unique(session: &mut Session<'_>, plan: &UniquePlan) -> Result<(), DriverError> {
    for (id, edit) in &plan.edits {
        let command = JobCommand::Edit(edit.clone());
        // It waits, so nothing speaks against it.
        let _edited = run_command(session, *id, &command, &Subscriptions::default())?;
    }
    let mut transaction = WriterTransaction::new(session);
    for record in &plan.audits {
        finish(transaction.save_audit(record))?;
    }
    Ok(())
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
