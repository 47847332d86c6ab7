//! How an engine stops.

use std::{
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use steadfast_core::{AttemptStatus, EndReason, JobState, Payload};
use steadfast_engine::{
    ClaimError, Client, Context, Engine, EngineConfig, JobError, JobKind as _, JobRequest,
};
use steadfast_store::{ClaimRequest, JobDetail, MemoryStore};

use crate::{
    common::{DEADLINE, GatedEngine, Wait, statuses},
    flaky_store::FlakyStore,
};

#[tokio::test]
async fn a_graceful_stop_lets_a_running_attempt_end() {
    let mut gated = GatedEngine::new();
    let running = gated.start(Wait).await;
    let later = Wait.job().delay(Duration::from_secs(60));
    let waiting = gated.client.enqueue(later).await.unwrap();
    let (store, gate) = (gated.store.clone(), gated.gate.clone());
    let stopping = tokio::spawn(gated.stop());
    gate.add_permits(1);
    stopping.await.unwrap();
    let jobs = store
        .get_jobs(vec![running, waiting], JobDetail::Full)
        .await
        .unwrap();
    let states: Vec<JobState> = jobs
        .into_iter()
        .map(|job| job.unwrap().progress.state)
        .collect();
    assert_eq!(states, [JobState::Succeeded, JobState::Waiting]);
}

#[tokio::test]
async fn what_outlasts_the_grace_period_is_given_back_uncounted() {
    let config = EngineConfig::default().with_grace(Duration::from_millis(5));
    let mut gated = GatedEngine::on(MemoryStore::default(), config);
    let id = gated.start(Wait).await;
    let once = gated.start(Wait.job().at_most_once()).await;
    let store = gated.store.clone();
    gated.stop().await;

    let jobs = store
        .get_jobs(vec![id, once], JobDetail::Full)
        .await
        .unwrap();
    let [Some(job), Some(once)] = &jobs[..] else {
        panic!("jobs are gone");
    };
    assert_eq!(
        (job.progress.state, job.progress.attempt),
        (JobState::Waiting, 0)
    );
    assert_eq!(statuses(&*store, id).await, [AttemptStatus::Released]);
    assert_eq!(once.progress.reason, Some(EndReason::OutcomeUnknown));
}

#[tokio::test]
async fn a_stop_waits_for_a_store_that_is_away_within_its_grace() {
    let store = FlakyStore::default();
    let mut gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let id = gated.start(Wait.job().at_most_once()).await;
    store.set_away(true);
    gated.open_gate(1);
    let client = gated.client.clone();
    let stopping = tokio::spawn(gated.stop());
    let refused_commits = || {
        let refused = store.refused();
        refused.iter().filter(|verb| **verb == "commit").count()
    };
    while refused_commits() < 3 {
        tokio::task::yield_now().await;
    }
    store.set_away(false);
    stopping.await.unwrap();
    let job = client.job(id).await.unwrap().unwrap();
    assert_eq!(job.progress.state, JobState::Succeeded);
}

type Channels = Arc<(Mutex<Sender<()>>, Mutex<Receiver<()>>)>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_does_not_hold_up_a_stop_at_once() {
    let (started, start) = channel();
    let (release, released) = channel::<()>();
    async fn block(_: Wait, ctx: Context<Channels>) -> Result<(), JobError> {
        let (started, released) = &**ctx.state();
        started.lock().unwrap().send(()).unwrap();
        let _closed = released.lock().unwrap().recv();
        Ok(())
    }
    let channels: Channels = Arc::new((Mutex::new(started), Mutex::new(released)));
    let builder = Engine::builder(MemoryStore::default()).state(channels);
    let engine = builder.handler(block).start().unwrap();
    engine.client().enqueue(Wait).await.unwrap();
    tokio::task::spawn_blocking(move || start.recv())
        .await
        .unwrap()
        .unwrap();
    let stop = tokio::time::timeout(Duration::from_secs(15), engine.stop_now());
    assert!(stop.await.is_ok());
    drop(release);
}

#[tokio::test]
async fn from_the_start_of_a_stop_workers_get_no_claims() {
    let mut gated = GatedEngine::new();
    gated.start(Wait).await;
    let node = gated.engine.node();
    let request = ClaimRequest {
        kinds: vec!["work".parse().unwrap()],
        ..ClaimRequest::new("w1".parse().unwrap(), 1)
    };
    let poll = node.clone();
    let waiting = request.clone();
    let poll = tokio::spawn(async move { poll.claim(waiting, DEADLINE).await });
    let (store, gate) = (gated.store.clone(), gated.gate.clone());
    let stopping = tokio::spawn(gated.stop());
    node.stopping().await;
    // The poll that waits ends at once, and with nothing.
    assert!(poll.await.unwrap().unwrap().is_empty());
    let new = JobRequest::new("work", Payload::default());
    let id = Client::new(store.clone()).enqueue(new).await.unwrap();
    let refused = node.claim(request, Duration::ZERO).await;
    assert!(matches!(refused, Err(ClaimError::Stopping)));
    let job = store
        .get_jobs(vec![id], JobDetail::Full)
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(job.progress.state, JobState::Waiting);
    gate.add_permits(1);
    stopping.await.unwrap();
}
