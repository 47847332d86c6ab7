//! How many jobs may wait: creates fit whole or are refused, and nothing else is.

use steadfast_core::{
    Gate, GateDefaults, GateLimits, GateScope, Gates, JobCommand, JobState, NewJob,
};
use tokio::task::JoinSet;

use crate::conformance::claims::flow::{gate, gates};
use crate::conformance::fixture::{Fixture, failure, json, key, queue, tenant};
use crate::{EnqueueError, EnqueueResult, GateSettings};

fn at_most(most: u32) -> GateLimits {
    GateLimits {
        max_waiting: Some(most),
        ..GateLimits::default()
    }
}

/// Limits the queue of all jobs that a case creates unless it says otherwise.
async fn limit(f: &Fixture, most: u32) {
    let one = gate(None, GateScope::Queue, "default", at_most(most));
    f.use_gates(&gates([one])).await;
}

/// The sentence of a refusal.
async fn refusal(f: &Fixture, jobs: Vec<NewJob>) -> String {
    match f.store.enqueue(jobs, None).await {
        Err(error @ EnqueueError::WaitingFull(_)) => {
            assert!(error.is_transient());
            error.to_string()
        }
        other => panic!("not refused: {other:?}"),
    }
}

pub async fn jobs_beyond_the_limit_are_refused_whole(f: Fixture) {
    limit(&f, 10).await;
    f.enqueue(f.jobs(8)).await;
    assert_eq!(
        refusal(&f, f.jobs(3)).await,
        "queue default has 8 waiting jobs and may have 10 (maxWaiting): 3 new jobs do not fit, and \
         nothing was created"
    );
    assert_eq!(f.count_all().await, 8);
    f.enqueue(f.jobs(2)).await;
    assert!(refusal(&f, f.jobs(1)).await.contains("has 10 waiting jobs"));
    // A job that has started makes room.
    assert_eq!(f.claim(1).await.len(), 1);
    f.enqueue(f.jobs(1)).await;
    refusal(&f, f.jobs(1)).await;
}

pub async fn each_limit_of_a_job_counts(f: Fixture) {
    let own = |most| gate(Some("acme"), GateScope::Queue, "mail", at_most(most));
    let of_tenant = gate(None, GateScope::Tenant, "acme", at_most(5));
    let of_queue = gate(None, GateScope::Queue, "mail", at_most(4));
    f.use_gates(&gates([own(2), of_tenant, of_queue])).await;
    let of = |owner: &str, name: &str| {
        f.job_with(|job| (job.tenant, job.queue) = (tenant(owner), queue(name)))
    };
    f.enqueue(vec![of("acme", "mail"), of("acme", "mail")])
        .await;
    let sentence = refusal(&f, vec![of("acme", "mail")]).await;
    assert!(
        sentence.starts_with("queue mail of tenant acme has 2 "),
        "{sentence}"
    );
    f.enqueue(vec![of("beta", "mail"), of("beta", "mail")])
        .await;
    let sentence = refusal(&f, vec![of("beta", "mail"), of("beta", "other")]).await;
    assert!(sentence.starts_with("queue mail has 4 "), "{sentence}");
    f.enqueue(vec![of("beta", "other"), of("acme", "other")])
        .await;
    f.enqueue(vec![of("acme", "third"), of("acme", "other")])
        .await;
    let sentence = refusal(&f, vec![of("acme", "fourth")]).await;
    assert!(sentence.starts_with("tenant acme has 5 "), "{sentence}");
}

pub async fn defaults_limit_each_queue_and_a_changed_limit_applies_at_once(f: Fixture) {
    f.store.set_gate_settings(GateSettings {
        defaults: GateDefaults {
            queue: at_most(1),
            ..GateDefaults::default()
        },
        gates: Vec::new(),
    });
    f.enqueue(f.jobs(1)).await;
    refusal(&f, f.jobs(1)).await;
    f.enqueue(vec![f.job_with(|job| job.queue = queue("other"))])
        .await;
    limit(&f, 2).await;
    f.enqueue(f.jobs(1)).await;
    refusal(&f, f.jobs(1)).await;
    f.store.set_gate_settings(GateSettings::default());
    f.use_gates(&Gates::new([] as [Gate; 0], GateDefaults::default()))
        .await;
    f.enqueue(f.jobs(5)).await;
}

pub async fn what_is_stored_already_needs_no_room(f: Fixture) {
    limit(&f, 2).await;
    let keyed = f.job_with(|job| job.idempotency_key = key("order-1"));
    let plain = f.job();
    f.enqueue(vec![keyed.clone(), plain.clone()]).await;
    let again = f.store.enqueue(vec![plain.clone()], None).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(plain.id)]);
    let mut other = f.job();
    other.idempotency_key.clone_from(&keyed.idempotency_key);
    let again = f.store.enqueue(vec![other], None).await.unwrap();
    assert_eq!(again, [EnqueueResult::Existing(keyed.id)]);
    // The key of a refused job is free.
    let mut next = f.job_with(|job| job.idempotency_key = key("order-2"));
    refusal(&f, vec![next.clone()]).await;
    next.payload = json("7");
    assert_eq!(f.claim(1).await.len(), 1);
    f.enqueue_one(next).await;
}

pub async fn a_batch_is_refused_with_its_jobs(f: Fixture) {
    limit(&f, 2).await;
    let mut batch = f.batch(3);
    let id = batch.id;
    let refused = f.store.create_batch(batch.clone(), 10).await.unwrap_err();
    assert!(matches!(refused, EnqueueError::WaitingFull(_)), "{refused}");
    assert!(f.store.get_batch(id).await.unwrap().is_none());
    assert_eq!(f.count_all().await, 0);
    batch.jobs.pop();
    f.store.create_batch(batch, 10).await.unwrap();
    assert_eq!(f.count_all().await, 2);
}

pub async fn retries_and_commands_are_never_refused(f: Fixture) {
    limit(&f, 1).await;
    let claim = f.claimed(f.job()).await;
    let id = claim.job().id;
    f.enqueue(f.jobs(1)).await;
    // The retry waits beside the new job, one more than the limit.
    let retried = f.end(claim, failure("no connection")).await;
    assert_eq!(retried.progress.state, JobState::Waiting);
    let sentence = refusal(&f, f.jobs(1)).await;
    assert!(
        sentence.contains("has 2 waiting jobs and may have 1"),
        "{sentence}"
    );
    let cancelled = f.command(id, JobCommand::Cancel).await;
    assert_eq!(cancelled.progress.state, JobState::Cancelled);
    let again = f.command(id, JobCommand::Retry { payload: None }).await;
    assert_eq!(again.progress.state, JobState::Waiting);
}

pub async fn the_limit_is_exact_for_callers_at_once(f: Fixture) {
    const CALLERS: usize = 8;
    const MOST: u32 = 100;
    limit(&f, MOST).await;
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let store = f.store.clone();
        let requests: Vec<Vec<NewJob>> = (0..20).map(|_| f.jobs(3)).collect();
        callers.spawn(async move {
            let mut stored = 0;
            for jobs in requests {
                match store.enqueue(jobs, None).await {
                    Ok(results) => stored += results.len(),
                    Err(EnqueueError::WaitingFull(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            stored
        });
    }
    let stored: usize = callers.join_all().await.into_iter().sum();
    // Three at a time.
    assert_eq!(stored, 99);
    assert_eq!(f.count_all().await, 99);
}
