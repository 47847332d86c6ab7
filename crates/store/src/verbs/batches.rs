//! Jobs that are counted together.

use std::{
    collections::{BTreeMap, HashSet},
    time::Instant,
};

use steadfast_core::{
    AuditRecord, BatchEvent, BatchId, BatchJobState, JobId, JobState, NewBatch, NewJob, Timestamp,
    limits,
};

use super::{
    audit::save_audit,
    event_position::{EventLook, EventPage},
    records::{newest_page, skip_corrupt},
    template::Template,
};
use crate::{
    drivers::driver_error::{DriverError, UnreadableValue},
    drivers::transaction::{
        BatchChange, Lock, Reads, Record, RecordKind, RecordOrder, RecordQuery, RecordState,
        StoredRecord, Transaction,
    },
    drivers::{Asker, Driver},
    error::{EnqueueError, StoreError},
    limits::{BATCHES_COUNTED_TOGETHER_MAX, EVENTS_PAGE_MAX},
    paging::page_of,
    store::{
        BatchCallback, BatchCreateResult, BatchFilter, BatchRecord, Page, PageRequest, added_event,
        check_batch, requested_batches,
    },
    verbs::links::IS_OF_BATCH,
};

/// A batch as it is stored, with its revision.
struct StoredBatch {
    batch: BatchRecord,
    revision: u64,
}

pub(super) async fn create(
    tx: &mut dyn Transaction,
    batch: &NewBatch,
    unfinished_max: usize,
) -> Result<Result<BatchCreateResult, EnqueueError>, DriverError> {
    let record = BatchRecord::new(batch, tx.now());
    if let Some(answer) = refuse(tx, batch, &record, unfinished_max).await? {
        return Ok(Ok(answer));
    }
    save(tx, &record, None).await?;
    let results = tx.enqueue(&batch.jobs).await?;
    let refusal = results.as_ref().ok();
    let refusal = refusal.and_then(|results| BatchCreateResult::refusal(results));
    if refusal.is_some() || results.is_err() {
        // The transaction may be shared with other requests.
        let id = batch.id.to_string();
        tx.delete_record(RecordKind::Batch, &id, None).await?;
    }
    let results = match (results, refusal) {
        (Err(refused), _) => return Ok(Err(refused)),
        (Ok(_), Some(refusal)) => return Ok(Ok(refusal)),
        (Ok(results), None) => results,
    };
    let callbacks = [
        (BatchCallback::End, &batch.on_end),
        (BatchCallback::Success, &batch.on_success),
    ];
    for (callback, job) in callbacks {
        if let Some(job) = job {
            save_callback(tx, batch.id, callback, job).await?;
        }
    }
    let events = if batch.is_open {
        vec![]
    } else {
        vec![BatchEvent::Closed]
    };
    let stored = change(tx, batch.id, events)
        .await?
        .ok_or(DriverError::NotRun)?;
    Ok(Ok(BatchCreateResult::Created(stored, results)))
}

/// Why a batch is not stored.
async fn refuse(
    tx: &mut dyn Transaction,
    batch: &NewBatch,
    record: &BatchRecord,
    unfinished_max: usize,
) -> Result<Option<BatchCreateResult>, DriverError> {
    let tenant = batch.tenant.as_str();
    tx.lock_names(&[format!("batches of {tenant}")]).await?;
    if let Some(stored) = find(tx, batch.id).await? {
        return Ok(Some(BatchCreateResult::Existing(stored)));
    }
    if let Some(key) = &batch.idempotency_key {
        let query = RecordQuery {
            kind: RecordKind::Batch,
            order: RecordOrder::Named {
                name: key.as_str(),
                tenant: Some(tenant),
                before: None,
            },
            limit: 1,
        };
        if let Some(stored) = tx.records(&query).await?.first() {
            let stored = read(stored)?.batch;
            return Ok(Some(match stored.fingerprint == record.fingerprint {
                true => BatchCreateResult::Existing(stored),
                false => BatchCreateResult::KeyTaken(stored.id),
            }));
        }
    }
    let (kind, state) = (RecordKind::Batch, RecordState::Open);
    let unfinished = tx
        .count_records(kind, tenant, state, unfinished_max)
        .await?;
    Ok((unfinished >= unfinished_max).then_some(BatchCreateResult::TooMany))
}

pub(super) async fn close(
    tx: &mut dyn Transaction,
    id: BatchId,
    audit: Option<&AuditRecord>,
) -> Result<Option<BatchRecord>, DriverError> {
    let before = lock(tx, id).await?.map(|stored| stored.batch);
    let closed = change(tx, id, vec![BatchEvent::Closed]).await?;
    save_audit(tx, audit.filter(|_| closed != before)).await?;
    Ok(closed)
}

pub(super) async fn find(
    tx: &mut (impl Reads + ?Sized),
    id: BatchId,
) -> Result<Option<BatchRecord>, DriverError> {
    let id = id.to_string();
    let found = tx.record(RecordKind::Batch, &id, Lock::None).await?;
    Ok(found
        .as_ref()
        .map(read)
        .transpose()?
        .map(|stored| stored.batch))
}

pub(super) async fn list(
    tx: &mut dyn Reads,
    filter: &BatchFilter,
    page: PageRequest<BatchId>,
) -> Result<Page<BatchRecord, BatchId>, DriverError> {
    if let Some(id) = filter.id {
        let found = find(tx, id).await?;
        let is_listed = |it: &BatchRecord| page.after.is_none_or(|after| it.id < after);
        let found = found.filter(|it| is_listed(it) && filter.matches(it));
        return Ok(page_of(found.into_iter().collect(), page.limit, |it| it.id));
    }
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let state = filter.is_unfinished.then_some(RecordState::Open);
    let kind = RecordKind::Batch;
    let read = |stored: &StoredRecord| Ok(read(stored)?.batch);
    newest_page(tx, kind, (tenant, state), page, read, |batch| batch.id).await
}

/// Deletes batches that have ended before a time, whose jobs are all deleted and counted.
pub(super) async fn prune(
    tx: &mut dyn Transaction,
    ended_before: Timestamp,
    limit: usize,
) -> Result<usize, DriverError> {
    let keyed_before = tx.now().minus(limits::IDEMPOTENCY_KEY_RETENTION_MIN);
    let old = tx.old_batches(ended_before, limit).await?;
    let mut deleted = 0;
    for record in &old {
        let stored = skip_corrupt(tx, read(record), "batch", &record.id)?;
        let Some(StoredBatch { batch, .. }) = stored else {
            continue;
        };
        if batch.idempotency_key.is_some() && batch.created_at > keyed_before {
            continue;
        }
        for callback in [BatchCallback::End, BatchCallback::Success] {
            let id = callback_id(batch.id, callback);
            tx.delete_record(RecordKind::Callback, &id, None).await?;
        }
        let is_deleted = tx
            .delete_record(RecordKind::Batch, &record.id, None)
            .await?;
        deleted += usize::from(is_deleted);
    }
    Ok(deleted)
}

/// Whether it, or a job that it is to make, cannot be read.
pub(crate) async fn is_corrupt(tx: &mut dyn Reads, id: BatchId) -> Result<bool, DriverError> {
    let mut looked = find(tx, id).await.map(drop);
    for callback in [BatchCallback::End, BatchCallback::Success] {
        if looked.is_ok() {
            looked = find_callback(tx, id, callback).await.map(drop);
        }
    }
    match looked {
        Err(error) if error.is_unreadable() => Ok(true),
        looked => looked.map(|()| false),
    }
}

/// Refuses jobs of a request for batches that do not take them. Those that do are locked from here
/// on, in the order of their ids, so that none is closed before the jobs are counted. The batch
/// `member_of` takes jobs also if it is closed.
pub(crate) async fn check(
    tx: &mut dyn Transaction,
    new: Vec<(usize, &NewJob)>,
    member_of: Option<BatchId>,
) -> Result<Result<(), EnqueueError>, DriverError> {
    for (batch, mut jobs) in requested_batches(new) {
        let ids: Vec<JobId> = jobs.iter().map(|(_, job)| job.id).collect();
        // One that is stored was added by a request whose answer was lost.
        let stored = tx.stored_jobs(&ids, Lock::None).await?;
        let stored: HashSet<JobId> = stored.into_iter().map(|row| row.id).collect();
        jobs.retain(|(_, job)| !stored.contains(&job.id));
        if jobs.is_empty() {
            continue;
        }
        let stored = lock(tx, batch).await?.map(|stored| stored.batch);
        if let Err(refused) = check_batch(batch, stored.as_ref(), &jobs, member_of) {
            return Ok(Err(refused));
        }
    }
    Ok(Ok(()))
}

/// Counts jobs that were stored in their batches.
pub(crate) async fn add(
    tx: &mut dyn Transaction,
    added: &[(JobId, BatchId)],
    member_of: Option<BatchId>,
) -> Result<(), DriverError> {
    if added.is_empty() {
        return Ok(());
    }
    tx.add_batch_jobs(added).await?;
    let ids: Vec<JobId> = added.iter().map(|(job, _)| *job).collect();
    tx.mark_jobs(&ids, IS_OF_BATCH).await?;
    let mut counts: BTreeMap<BatchId, u64> = BTreeMap::new();
    for (_, batch) in added {
        *counts.entry(*batch).or_default() += 1;
    }
    for (batch, count) in counts {
        let event = added_event(batch, count, member_of);
        change(tx, batch, vec![event]).await?;
    }
    Ok(())
}

async fn lock(tx: &mut dyn Transaction, id: BatchId) -> Result<Option<StoredBatch>, DriverError> {
    let id = id.to_string();
    let found = tx.record(RecordKind::Batch, &id, Lock::Update).await?;
    found.as_ref().map(read).transpose()
}

/// Does what events make of a batch, and answers with it as it then is.
async fn change(
    tx: &mut dyn Transaction,
    id: BatchId,
    events: Vec<BatchEvent>,
) -> Result<Option<BatchRecord>, DriverError> {
    match lock(tx, id).await? {
        Some(stored) => apply(tx, stored, events).await.map(Some),
        None => Ok(None),
    }
}

/// The same for one that is locked.
async fn apply(
    tx: &mut dyn Transaction,
    stored: StoredBatch,
    events: Vec<BatchEvent>,
) -> Result<BatchRecord, DriverError> {
    let mut next = stored.batch.clone();
    let due = next.apply(events, tx.now());
    let due = due.map_err(|refused| DriverError::unreadable("batch", refused))?;
    // One that cannot be read is found before anything is written: the transaction may go on.
    let mut jobs = Vec::with_capacity(due.len());
    for callback in &due {
        jobs.extend(find_callback(tx, next.id, *callback).await?);
    }
    if next != stored.batch {
        save(tx, &next, Some(stored.revision)).await?;
    }
    for callback in due {
        let id = callback_id(next.id, callback);
        tx.delete_record(RecordKind::Callback, &id, None).await?;
    }
    tx.insert_jobs(&jobs).await?;
    Ok(next)
}

async fn save(
    tx: &mut dyn Transaction,
    batch: &BatchRecord,
    replaces: Option<u64>,
) -> Result<(), DriverError> {
    let body = serde_json::to_string(batch);
    let record = Record {
        kind: RecordKind::Batch,
        id: &batch.id.to_string(),
        tenant: batch.tenant.as_str(),
        name: batch.idempotency_key.as_ref().map(|key| key.as_str()),
        state: match batch.finished_at {
            None => RecordState::Open,
            Some(_) => RecordState::Ended,
        },
        at: batch.finished_at,
        revision: replaces.map_or(1, |revision| revision + 1),
        replaces,
        body: &body.map_err(|error| DriverError::unreadable("batch", error))?,
    };
    match tx.save_record(&record).await? {
        true => Ok(()),
        false => Err(DriverError::NotRun),
    }
}

fn read(stored: &StoredRecord) -> Result<StoredBatch, DriverError> {
    let batch = serde_json::from_str(stored.body("batch")?);
    Ok(StoredBatch {
        batch: batch.map_err(|error| DriverError::unreadable("batch", error))?,
        revision: stored.revision,
    })
}

fn callback_id(batch: BatchId, callback: BatchCallback) -> String {
    match callback {
        BatchCallback::End => format!("{batch}/end"),
        BatchCallback::Success => format!("{batch}/success"),
    }
}

async fn save_callback(
    tx: &mut dyn Transaction,
    batch: BatchId,
    callback: BatchCallback,
    job: &NewJob,
) -> Result<(), DriverError> {
    let body = serde_json::to_string(&Template::from(job));
    let record = Record {
        kind: RecordKind::Callback,
        id: &callback_id(batch, callback),
        tenant: job.tenant.as_str(),
        name: None,
        state: RecordState::Open,
        at: None,
        revision: 1,
        replaces: None,
        body: &body.map_err(|error| DriverError::unreadable("callback", error))?,
    };
    tx.save_record(&record).await.map(drop)
}

/// The job that a batch is to make, unless it was made.
async fn find_callback(
    tx: &mut (impl Reads + ?Sized),
    batch: BatchId,
    callback: BatchCallback,
) -> Result<Option<NewJob>, DriverError> {
    let id = callback_id(batch, callback);
    let Some(stored) = tx.record(RecordKind::Callback, &id, Lock::None).await? else {
        return Ok(None);
    };
    let template: Result<Template, _> = serde_json::from_str(stored.body("callback")?);
    let template = template.map_err(|error| UnreadableValue::new("callback", error))?;
    let job = NewJob::try_from(template);
    Ok(Some(job.map_err(|error| {
        UnreadableValue::new("callback", error)
    })?))
}

/// Counts what has happened to jobs of batches, and answers whether there is more. Another node may
/// do the same: each batch is locked by one of them at a time.
pub(super) async fn count_events<D: Driver>(driver: &D, limit: usize) -> Result<bool, StoreError> {
    let position = driver.event_position();
    let mut look = position.begin(limit, Instant::now());
    let counted = count_pages(driver, &mut look).await;
    let has_more = position.end(look);
    counted.map(|()| has_more)
}

/// Some batches are counted in a transaction, and each by itself if that fails, so that one that fails
/// holds up no other.
async fn count_pages<D: Driver>(driver: &D, look: &mut EventLook) -> Result<(), StoreError> {
    while let Some(after) = look.next() {
        let began = Instant::now();
        let found = driver.read("count_batch_events", Asker::Node, after, |tx, after| {
            Box::pin(tx.batches_with_events(*after, EVENTS_PAGE_MAX))
        });
        let page = EventPage::new(found.await?, look);
        let batches = look.visit(page, began, began.elapsed());
        let groups = batches.chunks(BATCHES_COUNTED_TOGETHER_MAX);
        let mut groups: Vec<&[BatchId]> = groups.rev().collect();
        while let Some(group) = groups.pop().filter(|_| look.room() > 0) {
            let share = look.room().div_ceil(group.len());
            look.pass(group);
            let (rows, arguments) = (look.room(), (group.to_vec(), look.floor(), share));
            let counted = driver.transact("count_batch_events", rows, arguments, |tx, it| {
                Box::pin(count_group(tx, &it.0, it.1, it.2))
            });
            match counted.await {
                Ok(counted) => {
                    look.take_back(&counted.done);
                    look.add(counted.events, counted.has_rest);
                }
                Err(_) if group.len() > 1 => {
                    look.take_back(group);
                    groups.extend(group.chunks(1).rev());
                }
                // The next look meets it again, if it lasts.
                Err(error) if look.has_counted() => {
                    tracing::debug!(batch = %group[0], %error, "cannot count the jobs of a batch");
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// What was counted of some batches.
#[derive(Default)]
struct GroupCount {
    events: usize,
    /// Those that were counted to their end.
    done: Vec<BatchId>,
    /// There is more of the others.
    has_rest: bool,
}

/// Counts what has happened to jobs of some batches, up to `share` of each. Events of a batch that
/// another caller has locked, or that is corrupt, are kept for later.
async fn count_group(
    tx: &mut dyn Transaction,
    batches: &[BatchId],
    floor: i64,
    share: usize,
) -> Result<GroupCount, DriverError> {
    let ids: Vec<String> = batches.iter().map(ToString::to_string).collect();
    let locked = tx.free_records(RecordKind::Batch, &ids).await?;
    // Read once the batches are locked, so that the changes of each job come in their order.
    let mut events: BTreeMap<BatchId, Vec<BatchChange>> = BTreeMap::new();
    for event in tx.batch_changes(batches, floor, share).await? {
        events.entry(event.batch).or_default().push(event);
    }
    let (mut counted, mut numbers) = (GroupCount::default(), Vec::new());
    let mut gone: HashSet<&str> = ids.iter().map(String::as_str).collect();
    for record in &locked {
        gone.remove(record.id.as_str());
        let stored = skip_corrupt(tx, read(record), "batch", &record.id)?;
        let Some(stored) = stored else {
            continue;
        };
        let id = stored.batch.id;
        let events = events.remove(&id).unwrap_or_default();
        let changes = events.iter().map(|event| BatchEvent::Changed {
            from: member_state(event.from),
            to: member_state(event.to),
        });
        let applied = apply(tx, stored, changes.collect()).await;
        if skip_corrupt(tx, applied, "batch", id)?.is_none() {
            continue;
        }
        numbers.extend(events.iter().map(|event| event.seq));
        match events.len() < share {
            true => counted.done.push(id),
            false => counted.has_rest = true,
        }
    }
    tx.delete_events(&numbers).await?;
    counted.events = numbers.len();
    // Of one that was deleted there is nothing to count.
    for id in gone {
        if tx
            .record(RecordKind::Batch, id, Lock::None)
            .await?
            .is_none()
        {
            tx.delete_batch_events(id).await?;
        }
    }
    Ok(counted)
}

/// Where a job of a batch stood or stands. One in a state that cannot be read has not ended; when it
/// is mended, that is an event, too.
fn member_state(state: Option<JobState>) -> BatchJobState {
    state.map_or(BatchJobState::Unfinished, BatchJobState::from_state)
}
