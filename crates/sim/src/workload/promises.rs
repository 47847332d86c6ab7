//! Fields that only some jobs have: a unique key, a start deadline, prerequisites; and bulk work.

use std::{sync::Arc, time::Duration};

use rand::{RngExt as _, rngs::StdRng, seq::IndexedRandom as _};
use steadfast_core::{
    Actor, BatchId, CanaryRule, ConfirmSettings, ConflictAction, Debounce, Dependencies,
    ExpiryAction, JobId, Kind, NewBatch, NewJob, NewJobExtras, OnFailure, OperationKind, Payload,
    Queue, RunAt, StartBefore, Tenant, Timestamp, Unique, UniqueKey, UniqueScope,
};
use steadfast_engine::OperationRequest;

use super::{KINDS, QUEUES, policy_patch, queue, random_job, tenant};

/// How long a debounced job waits for the next request.
pub const DEBOUNCE: Duration = Duration::from_secs(5);
/// How far requests can move it in all.
pub const DEBOUNCE_MAX: Duration = Duration::from_secs(12);
/// Few, so that they are used again.
const UNIQUE_KEYS: u32 = 4;
/// Where callbacks of batches go, and nothing else.
pub const CALLBACK_QUEUE: &str = "callbacks";
/// Jobs that one waits for, at most.
const AFTER_MAX: usize = 3;

/// Gives a job the fields that only some jobs have. `others` are the existing jobs.
pub fn with_promises(random: &mut StdRng, job: NewJob, others: &[(JobId, Tenant)]) -> NewJob {
    // What was asked with a key must be asked again in the same words.
    if job.idempotency_key.is_some() {
        return job;
    }
    let mut extras = NewJobExtras::default();
    let mut job = job;
    if random.random_ratio(1, 3) {
        let unique = unique(random);
        if unique.scope == UniqueScope::Waiting {
            // Keys of one kind of work, which is replaced; the others are used for any.
            (job.kind, job.queue) = (Kind::new(KINDS[0]).unwrap(), Queue::new(QUEUES[0]).unwrap());
        }
        if unique.on_conflict != ConflictAction::Reject && random.random_ratio(2, 3) {
            job.run_at = RunAt::Now;
            extras.debounce =
                Debounce::new(DEBOUNCE, Some(DEBOUNCE_MAX), Some(&unique), RunAt::Now).ok();
        }
        extras.unique = Some(unique);
        let number: u32 = random.random();
        job.payload = Payload::from_json(&format!(r#"{{"request": {number}}}"#)).unwrap();
    }
    if random.random_ratio(1, 6) {
        let before = StartBefore::After(Duration::from_secs(random.random_range(3..60)));
        let actions = [ExpiryAction::Fail, ExpiryAction::Cancel];
        extras.start_before = Some((before, *actions.choose(random).unwrap()));
    }
    if random.random_ratio(1, 4) {
        extras.after = after(random, &job, others);
    }
    if random.random_ratio(1, 3) {
        extras.confirm = Some(ConfirmSettings::default());
    }
    job.with_extras(extras)
}

fn unique(random: &mut StdRng) -> Unique {
    let number = random.random_range(0..UNIQUE_KEYS);
    let actions = [
        ConflictAction::Keep,
        ConflictAction::Replace,
        ConflictAction::Reject,
    ];
    Unique {
        key: UniqueKey::new(&format!("unique-{number}")).unwrap(),
        scope: match number % 2 {
            0 => UniqueScope::Waiting,
            _ => UniqueScope::Unfinished,
        },
        on_conflict: *actions.choose(random).unwrap(),
    }
}

fn after(random: &mut StdRng, job: &NewJob, others: &[(JobId, Tenant)]) -> Option<Dependencies> {
    let own = others.iter().filter(|(_, tenant)| *tenant == job.tenant);
    let own: Vec<JobId> = own.map(|(id, _)| *id).collect();
    // Mostly those that have not ended long ago.
    let new = &own[own.len().saturating_sub(12)..];
    let count = random.random_range(1..=AFTER_MAX);
    let some = (0..count).filter_map(|_| new.choose(random).copied());
    let some: Vec<JobId> = some.collect();
    let ways = [OnFailure::Wait, OnFailure::Fail, OnFailure::Run];
    Dependencies::new(job.id, some, *ways.choose(random).unwrap()).ok()
}

/// Adds some jobs to a batch that is open.
pub fn added_to_batch(random: &mut StdRng, job: NewJob, open: &[(BatchId, Tenant)]) -> NewJob {
    let own = open.iter().filter(|(_, tenant)| *tenant == job.tenant);
    let own: Vec<BatchId> = own.map(|(id, _)| *id).collect();
    let batch = own.choose(random).copied();
    let is_added = random.random_ratio(1, 3) && job.idempotency_key.is_none();
    in_batch(job, batch.filter(|_| is_added))
}

fn in_batch(job: NewJob, batch: Option<BatchId>) -> NewJob {
    let mut extras = job.extras().cloned().unwrap_or_default();
    if batch.is_some() {
        // Clients refuse unique jobs in batches.
        (extras.unique, extras.debounce) = (None, None);
    }
    extras.batch = batch;
    job.with_extras(extras)
}

/// A few jobs that are counted together.
pub fn batch(random: &mut StdRng, others: &[(JobId, Tenant)], now: Timestamp) -> NewBatch {
    let (id, tenant) = (BatchId::new(now, random.random()), tenant(random));
    let count = random.random_range(0..4);
    let mut jobs = Vec::new();
    for _ in 0..count {
        let mut job = new_job(random, &tenant, now);
        job = with_promises(random, job, others);
        jobs.push(in_batch(job, Some(id)));
    }
    NewBatch {
        id,
        name: None,
        idempotency_key: None,
        is_open: random.random_ratio(1, 2),
        jobs,
        on_end: random
            .random_ratio(3, 4)
            .then(|| callback(random, &tenant, now)),
        on_success: random
            .random_ratio(1, 2)
            .then(|| callback(random, &tenant, now)),
        tenant,
    }
}

fn new_job(random: &mut StdRng, tenant: &Tenant, now: Timestamp) -> NewJob {
    let id = JobId::new(now, random.random());
    let mut job = random_job(random, id);
    job.tenant = tenant.clone();
    job
}

fn callback(random: &mut StdRng, tenant: &Tenant, now: Timestamp) -> NewJob {
    let mut job = new_job(random, tenant, now);
    job.queue = Queue::new(CALLBACK_QUEUE).unwrap();
    job.run_at = RunAt::Now;
    job
}

/// Work on many jobs that a person might ask for.
pub fn operation(random: &mut StdRng, ids: &[JobId]) -> OperationRequest {
    let kinds = [
        OperationKind::Requeue,
        OperationKind::Requeue,
        OperationKind::Discard,
        OperationKind::Cancel,
        OperationKind::Retry,
        OperationKind::EditPolicy,
        OperationKind::RunNow,
    ];
    let kind = *kinds.choose(random).unwrap();
    let mut request = OperationRequest::new(kind, Actor::named("a person"));
    if kind == OperationKind::EditPolicy {
        request.retry = Some(Arc::new(policy_patch(random)));
    }
    if random.random_ratio(1, 2) {
        let count = random.random_range(1..12);
        let some = (0..count).filter_map(|_| ids.choose(random).copied());
        request.ids = Some(some.collect());
    } else {
        request.tenant = random.random_ratio(1, 2).then(|| tenant(random));
        request.filter.queue = random.random_ratio(1, 2).then(|| queue(random));
        request.all = true;
    }
    // Few a second, so that it takes several batches.
    if random.random_ratio(2, 3) {
        request.pace = Some(random.random_range(1..4));
    }
    let is_tried = matches!(kind, OperationKind::Requeue | OperationKind::Retry);
    if is_tried && random.random_ratio(1, 3) {
        request.canary = Some(CanaryRule::default());
    }
    request
}
