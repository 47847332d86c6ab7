//! Storing new jobs.

use std::collections::HashMap;

use steadfast_core::{BatchId, JobCommand, JobId, NewJob, Subscriptions, Timestamp};

use crate::drivers::postgres::{
    change::run_command_in,
    driver_error::DriverError,
    insert::{BatchKeys, insert, insert_others},
    names::{NumberedJob, check_room, with_numbers},
    session::{Conn, Session},
    transaction::wrappers::SessionTransaction,
    unique,
};
use crate::{
    drivers::transaction::{Reads as _, Transaction as _},
    error::EnqueueError,
    store::EnqueueResult,
    verbs::links::NewDependant,
    verbs::{
        batches,
        dependencies::{self, RequestContext},
        waiting_limit,
    },
    wake::WakeReasons,
};

pub(crate) type Answer = Result<Vec<EnqueueResult>, EnqueueError>;

/// Stores jobs, all or none.
pub(crate) async fn enqueue(
    conn: &mut Conn<'_>,
    jobs: &[NewJob],
    hints: &mut WakeReasons,
) -> Result<Answer, DriverError> {
    let numbered = match numbered(&conn.session(), jobs, hints).await? {
        Ok(numbered) => numbered,
        Err(full) => return Ok(Err(full)),
    };
    let is_plain = |job: &NewJob| {
        let extras = job.extras();
        job.idempotency_key.is_none()
            && extras.is_none_or(|extras| {
                extras.unique.is_none() && extras.after.is_none() && extras.batch.is_none()
            })
    };
    let gates = conn.shared.due.gates.of_claims();
    if jobs.iter().all(is_plain) && !waiting_limit::applies(&gates, jobs) {
        // One statement is a transaction by itself.
        let created = insert(&conn.session(), &numbered, hints).await?;
        let none = HashMap::new();
        return Ok(Ok(answers(jobs, &none, created)));
    }
    let transaction = conn.begin().await?;
    let answer = enqueue_in(&transaction.session(), &numbered, hints).await?;
    match answer {
        Ok(_) => transaction.commit().await?,
        Err(_) => transaction.roll_back().await?,
    }
    Ok(answer)
}

/// Jobs with the numbers of their lanes and policies, unless their tenants may not have more lanes or flow
/// keys. This comes first, because a lane whose row is stored is one that its tenant has.
pub(crate) async fn numbered<'j>(
    session: &Session<'_>,
    jobs: &'j [NewJob],
    hints: &mut WakeReasons,
) -> Result<Result<Vec<NumberedJob<'j>>, EnqueueError>, DriverError> {
    if let Err(full) = check_room(session, jobs).await?
        && !all_stored(session, jobs, hints).await?
    {
        return Ok(Err(full));
    }
    Ok(Ok(with_numbers(session, jobs.iter()).await?))
}

/// Whether a request is repeated: all its jobs have keys that are taken. It needs no room.
async fn all_stored(
    session: &Session<'_>,
    jobs: &[NewJob],
    hints: &mut WakeReasons,
) -> Result<bool, DriverError> {
    let mut transaction = SessionTransaction::new(session, hints);
    for job in jobs {
        let Some(key) = &job.idempotency_key else {
            return Ok(false);
        };
        if transaction.find_key(&job.tenant, key).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores jobs of which some have keys, in a transaction that is rolled back on a conflict.
pub(crate) async fn enqueue_in(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    hints: &mut WakeReasons,
) -> Result<Answer, DriverError> {
    let keys = BatchKeys::insert(session, jobs).await?;
    let existing = match keys.existing(jobs) {
        Ok(existing) => existing,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let plan = match unique::plan(session, jobs, &existing).await? {
        Ok(plan) => plan,
        Err(conflict) => return Ok(Err(conflict)),
    };
    let mut known: HashMap<usize, EnqueueResult> = existing
        .iter()
        .map(|(index, id)| (*index, EnqueueResult::Existing(*id)))
        .collect();
    known.extend(&plan.answers);
    let mut plan = plan;
    let new = (0..jobs.len()).filter(|index| !known.contains_key(index));
    let new = new.map(|index| (index, plan.creates.get(&index).unwrap_or(jobs[index].job)));
    let new: Vec<(usize, &NewJob)> = new.collect();
    let mut transaction = SessionTransaction::new(session, hints);
    let known_id = |index| known.get(&index).map(|result| result.id());
    let context = RequestContext::of_enqueue(jobs.iter().map(|it| it.job), known_id);
    let dependants = match dependencies::plan(&mut transaction, &new, &context).await? {
        Ok(dependants) => dependants,
        Err(unknown) => return Ok(Err(unknown)),
    };
    let gates = session.shared.due.gates.of_claims();
    let created = new.iter().map(|(_, job)| *job);
    if let Err(full) = waiting_limit::check(&mut transaction, &gates, created).await? {
        return Ok(Err(full));
    }
    if let Err(refused) = batches::check(&mut transaction, new, None).await? {
        return Ok(Err(refused));
    }
    for (index, dependant) in &dependants {
        plan.creates.insert(*index, dependant.job.clone());
    }
    let created = insert_others(session, jobs, &keys, &known, &plan, hints).await?;
    save_links(session, jobs, &dependants, &created, hints).await?;
    for (id, edit) in &plan.edits {
        let (edit, none) = (JobCommand::Edit(edit.clone()), Subscriptions::default());
        run_command_in(session, &[*id], &edit, &none, hints).await?;
    }
    let mut transaction = SessionTransaction::new(session, hints);
    for record in &plan.audits {
        transaction.save_audit(record).await?;
    }
    let jobs = jobs.iter().map(|numbered| numbered.job);
    Ok(Ok(answers(jobs, &known, created)))
}

/// Counts jobs that were stored in their batches, and stores what they wait for.
async fn save_links(
    session: &Session<'_>,
    jobs: &[NumberedJob<'_>],
    dependants: &HashMap<usize, NewDependant>,
    created: &HashMap<JobId, Timestamp>,
    hints: &mut WakeReasons,
) -> Result<(), DriverError> {
    let new = jobs.iter().map(|numbered| numbered.job);
    let added = new.filter(|job| created.contains_key(&job.id));
    let added = added.filter_map(|job| Some((job.id, job.batch()?)));
    let added: Vec<(JobId, BatchId)> = added.collect();
    let waiting = dependants.values();
    let waiting = waiting.filter_map(|new| Some((new, *created.get(&new.job.id)?)));
    let waiting: Vec<(&NewDependant, Timestamp)> = waiting.collect();
    let mut transaction = SessionTransaction::new(session, hints);
    batches::add(&mut transaction, &added, None).await?;
    dependencies::save(&mut transaction, &waiting).await
}

fn answers<'j>(
    jobs: impl IntoIterator<Item = &'j NewJob>,
    known: &HashMap<usize, EnqueueResult>,
    mut created: HashMap<JobId, Timestamp>,
) -> Vec<EnqueueResult> {
    let answer = |(index, job): (usize, &NewJob)| match known.get(&index) {
        Some(known) => *known,
        // An id twice in one batch was stored for the first of the two.
        None => match created.remove(&job.id) {
            Some(at) => EnqueueResult::Created(job.id, at),
            None => EnqueueResult::Existing(job.id),
        },
    };
    jobs.into_iter().enumerate().map(answer).collect()
}
