//! The engine as it really runs: tasks, leases, stops, and a store that goes away.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{AttemptStatus, EndReason, JobId, JobState, Outcome, PolicyPatch, Preset};
use steadfast_engine::{
    AttemptContext, Context, CreateResult, Engine, EngineConfig, Handler, JobError, JobEvent,
    JobKind, JobRequest, StopReason,
};
use steadfast_store::{
    AttemptOwner, BaseStore as _, JobStore as _, ManualClock, MemoryStore, PageRequest,
    QueryStore as _, SqliteOptions, SqliteStore, Store,
};
use tokio::sync::Semaphore;

use crate::{
    common::{self, Calls, ends, fails, flaky, notice, starts},
    flaky_store::FlakyStore,
};

#[derive(Serialize, Deserialize)]
struct Wait;

impl JobKind for Wait {
    const KIND: &'static str = "wait";
}

/// Runs until it is let go, or told to stop if it listens.
async fn wait(_: Wait, ctx: Context<Arc<Semaphore>>) -> Result<(), JobError> {
    let gate = ctx.state().clone();
    let _gone = gate.acquire().await;
    Ok(())
}

async fn wait_politely(_: Wait, ctx: Context) -> Result<(), JobError> {
    match ctx.stopped().await {
        StopReason::Cancelled => Err(JobError::failure("stopped", "was told to stop")),
        reason => Err(JobError::failure("stopped", format!("{reason:?}"))),
    }
}

/// An engine on a flaky store whose handler waits at the gate.
fn gated(config: EngineConfig) -> (FlakyStore, Arc<Semaphore>, Engine) {
    let store = FlakyStore::default();
    let gate = Arc::new(Semaphore::new(0));
    let builder = Engine::builder(store.clone()).state(gate.clone());
    let engine = builder.handler(wait).config(config).start().unwrap();
    (store, gate, engine)
}

/// An engine on a flaky store whose handler fails as often as it is asked to.
fn calling() -> (FlakyStore, Engine) {
    let store = FlakyStore::default();
    let builder = Engine::builder(store.clone()).state(Calls::default());
    (store, builder.handler(flaky).start().unwrap())
}

fn quick() -> PolicyPatch {
    PolicyPatch::fixed(Duration::from_millis(1)).max_retries(5)
}

async fn statuses(store: &dyn Store, job: JobId) -> Vec<AttemptStatus> {
    let page = PageRequest::first(99);
    let listed = store
        .list_attempts(AttemptOwner::Job(job), page)
        .await
        .unwrap();
    listed
        .items
        .iter()
        .rev()
        .map(|attempt| attempt.status)
        .collect()
}

#[tokio::test]
async fn a_job_runs_fails_and_is_retried_until_it_succeeds() {
    let store = Arc::new(MemoryStore::default());
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(Calls::default());
    let engine = builder.handler(flaky).start().unwrap();
    let mut notices = engine.subscribe();
    let id = engine
        .client()
        .enqueue(fails(2).job().retry(quick()))
        .await
        .unwrap();
    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    use AttemptStatus::{Failed, Success};
    assert_eq!(statuses(&*store, id).await, [Failed, Failed, Success]);
    engine.stop().await;
}

#[tokio::test]
async fn a_timeout_ends_an_attempt_as_class_timeout() {
    let gate = Arc::new(Semaphore::new(0));
    let engine = Engine::builder(MemoryStore::default())
        .state(gate)
        .handler(wait)
        .start()
        .unwrap();
    let mut notices = engine.subscribe();
    let request = Wait
        .job()
        .timeout(Duration::from_millis(5))
        .retry(Preset::Once);
    let id = engine.client().enqueue(request).await.unwrap();
    let JobEvent::Failed { failure, .. } = ends(&mut notices, id).await else {
        panic!("it did not fail");
    };
    assert_eq!(failure.unwrap().class.as_str(), "timeout");
    engine.stop().await;
}

#[tokio::test]
async fn a_graceful_stop_lets_a_running_attempt_end() {
    let gate = Arc::new(Semaphore::new(0));
    let store = Arc::new(MemoryStore::default());
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(gate.clone());
    let engine = builder.handler(wait).start().unwrap();
    let mut notices = engine.subscribe();
    let id = engine.client().enqueue(Wait).await.unwrap();
    let waiting = engine
        .client()
        .enqueue(Wait.job().delay(Duration::from_secs(60)))
        .await
        .unwrap();
    starts(&mut notices, id).await;
    let stopping = tokio::spawn(engine.stop());
    gate.add_permits(1);
    stopping.await.unwrap();
    let jobs = store.get_jobs(vec![id, waiting]).await.unwrap();
    let states: Vec<JobState> = jobs
        .into_iter()
        .map(|job| job.unwrap().progress.state)
        .collect();
    assert_eq!(states, [JobState::Succeeded, JobState::Waiting]);
}

#[tokio::test]
async fn what_outlasts_the_grace_period_is_given_back_uncounted() {
    let gate = Arc::new(Semaphore::new(0));
    let store = Arc::new(MemoryStore::default());
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(gate);
    let engine = builder
        .handler(wait)
        .grace(Duration::from_millis(5))
        .start()
        .unwrap();
    let mut notices = engine.subscribe();
    let client = engine.client();
    let id = client.enqueue(Wait).await.unwrap();
    let once = client.enqueue(Wait.job().at_most_once()).await.unwrap();
    starts(&mut notices, id).await;
    starts(&mut notices, once).await;
    engine.stop().await;

    let jobs = store.get_jobs(vec![id, once]).await.unwrap();
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
async fn a_running_job_that_is_cancelled_is_told_to_stop_and_ends_cancelled() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let builder = steadfast_engine::EngineBuilder::new(store.clone());
    let engine = builder.handler(wait_politely).start().unwrap();
    let mut notices = engine.subscribe();
    // Once by the engine's own client, and once by somebody elsewhere, when the lease is renewed.
    let elsewhere = steadfast_engine::Client::new(store);
    for (canceller, lease) in [(engine.client(), 3_600), (elsewhere, 1)] {
        let request = Wait.job().lease(Duration::from_secs(lease));
        let id = engine.client().enqueue(request).await.unwrap();
        starts(&mut notices, id).await;
        canceller.cancel(id).await.unwrap();
        assert_eq!(ends(&mut notices, id).await, JobEvent::Cancelled);
    }
    engine.stop().await;
}

#[tokio::test]
async fn an_expired_lease_is_settled_by_another_engine_and_the_late_result_is_refused() {
    let store = Arc::new(MemoryStore::default());
    // A worker that claims and is never heard of again.
    let request = Wait.job().lease(Duration::from_secs(1)).retry(quick());
    let client = steadfast_engine::Client::new(store.clone());
    let id = client.enqueue(request).await.unwrap();
    let claim = |worker: &str| steadfast_store::ClaimRequest {
        worker: steadfast_core::WorkerName::new(worker).unwrap(),
        tenant: None,
        queues: Vec::new(),
        kinds: Vec::new(),
        except_kinds: Vec::new(),
        max: 1,
        lease: None,
    };
    let lost = store.claim(claim("gone")).await.unwrap().claims.remove(0);

    let gate = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
    let config = EngineConfig {
        sweep_every: Duration::from_millis(50),
        ..EngineConfig::default()
    };
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(gate);
    let engine = builder.handler(wait).config(config).start().unwrap();
    let mut notices = engine.subscribe();
    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    use AttemptStatus::{Lost, Success};
    assert_eq!(statuses(&*store, id).await, [Lost, Success]);

    let late = lost.ended(
        steadfast_core::Outcome::Success { output: None },
        store.now(),
    );
    let transition = steadfast_core::after_attempt(
        &late,
        &steadfast_core::Subscriptions::default(),
        steadfast_core::Dice::new(0),
    );
    let answer = store.commit(vec![transition]).await.unwrap();
    assert_eq!(answer, [steadfast_store::CommitResult::Stale]);
    engine.stop().await;
}

#[tokio::test]
async fn a_late_result_is_refused_counted_and_told() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let gate = Arc::new(Semaphore::new(0));
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(gate.clone());
    let engine = builder.handler(wait).start().unwrap();
    let mut notices = engine.subscribe();
    let request = Wait.job().retry(Preset::Once);
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    // Another node finds the lease expired and settles it.
    clock.advance(Duration::from_secs(60));
    let expired = store.expired_leases(9).await.unwrap().remove(0);
    let lost = expired.ended(steadfast_core::Outcome::Lost, store.now());
    let transition = steadfast_core::after_attempt(
        &lost,
        &steadfast_core::Subscriptions::default(),
        steadfast_core::Dice::new(0),
    );
    store.commit(vec![transition]).await.unwrap();
    gate.add_permits(1);
    notice(&mut notices, |notice| notice.event == JobEvent::FenceLost).await;
    assert_eq!(engine.fences_lost(), 1);
    assert_eq!(statuses(&*store, id).await, [AttemptStatus::Lost]);
    engine.stop().await;
}

/// Ends with its lease, and has nothing to say then.
struct Loser;

#[async_trait::async_trait]
impl Handler for Loser {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        assert_eq!(attempt.stopped().await, StopReason::LeaseLost);
        Outcome::Lost
    }
}

#[tokio::test]
async fn an_attempt_that_ends_with_its_lease_is_let_go() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let builder = steadfast_engine::EngineBuilder::new(store.clone());
    let builder = builder.raw_handler(Wait::KIND, Arc::new(Loser));
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    let request = Wait.job().lease(Duration::from_secs(1)).retry(Preset::Once);
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    assert_eq!(engine.in_flight(), 1);
    // Another node is quicker than the renewal, and settles it.
    clock.advance(Duration::from_secs(60));
    let expired = store.expired_leases(9).await.unwrap().remove(0);
    let lost = expired.ended(Outcome::Lost, store.now());
    let subscriptions = steadfast_core::Subscriptions::default();
    let transition =
        steadfast_core::after_attempt(&lost, &subscriptions, steadfast_core::Dice::new(0));
    store.commit(vec![transition]).await.unwrap();
    // Later, so that nobody takes one end for the other.
    clock.advance(Duration::from_secs(1));
    let let_go = async {
        while engine.in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), let_go).await;
    assert!(waited.is_ok(), "the attempt is still renewed");
    assert_eq!(statuses(&*store, id).await, [AttemptStatus::Lost]);
    engine.stop().await;
}

#[tokio::test]
async fn a_store_that_goes_away_loses_nothing_and_is_not_hammered() {
    let (store, gate, engine) = gated(EngineConfig::default());
    let mut notices = engine.subscribe();
    let client = engine.client();
    let id = client.enqueue(Wait).await.unwrap();
    starts(&mut notices, id).await;

    store.set_away(true);
    gate.add_permits(Semaphore::MAX_PERMITS);
    // The outcome is tried at least twice against the closed door.
    let knocks = || {
        store
            .refused()
            .iter()
            .filter(|verb| **verb == "commit")
            .count()
    };
    while knocks() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(client.enqueue(Wait).await.is_err());
    let refused = store.refused().len();
    assert!(refused < 50, "{refused} calls while the store was away");
    store.set_away(false);

    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    let next = client.enqueue(Wait).await.unwrap();
    assert!(matches!(
        ends(&mut notices, next).await,
        JobEvent::Succeeded
    ));
    engine.stop().await;
}

#[tokio::test]
async fn an_outcome_that_cannot_be_stored_does_not_hold_up_the_others() {
    let (store, gate, engine) = gated(EngineConfig::default());
    let mut notices = engine.subscribe();
    let client = engine.client();
    let bad = client.enqueue(Wait).await.unwrap();
    let good = client.enqueue(Wait).await.unwrap();
    for id in [bad, good] {
        starts(&mut notices, id).await;
    }
    store.cannot_store(bad);
    gate.add_permits(2);
    assert!(matches!(
        ends(&mut notices, good).await,
        JobEvent::Succeeded
    ));
    engine.stop().await;
    // Nobody holds it any more: its lease runs out, and then somebody else may try.
    let job = client.job(bad).await.unwrap().unwrap();
    assert_eq!(job.progress.state, JobState::Running);
}

/// The machine slept, or its clock was set: every lease looks expired, and none is.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_loses_nothing_that_runs() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let gate = Arc::new(Semaphore::new(0));
    let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(gate.clone());
    let engine = builder.handler(wait).start().unwrap();
    let mut notices = engine.subscribe();
    let request = Wait.job().lease(Duration::from_secs(600));
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    clock.advance(Duration::from_secs(3_600));
    // sleep: by the paused timer, until the sweeper has been round a few times
    tokio::time::sleep(Duration::from_secs(120)).await;
    gate.add_permits(1);
    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    assert_eq!(statuses(&*store, id).await, [AttemptStatus::Success]);
    engine.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_a_store_that_is_away_within_its_grace() {
    let (store, gate, engine) = gated(EngineConfig::default());
    let mut notices = engine.subscribe();
    let client = engine.client();
    let id = client.enqueue(Wait.job().at_most_once()).await.unwrap();
    starts(&mut notices, id).await;
    store.set_away(true);
    gate.add_permits(1);
    let stopping = tokio::spawn(engine.stop());
    let knocks = || {
        store
            .refused()
            .iter()
            .filter(|verb| **verb == "commit")
            .count()
    };
    while knocks() < 3 {
        tokio::task::yield_now().await;
    }
    store.set_away(false);
    stopping.await.unwrap();
    let job = client.job(id).await.unwrap().unwrap();
    assert_eq!(job.progress.state, JobState::Succeeded);
}

#[tokio::test]
async fn a_sweeper_that_is_wrong_about_a_lease_does_not_stop_its_renewal() {
    let (store, gate, engine) = gated(EngineConfig {
        sweep_every: Duration::from_millis(10),
        ..EngineConfig::default()
    });
    let mut notices = engine.subscribe();
    let request = Wait.job().lease(Duration::from_secs(1));
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    store.call_running_expired();
    let renewals = store.renewals(4);
    tokio::time::timeout(Duration::from_secs(20), renewals)
        .await
        .unwrap();
    gate.add_permits(1);
    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    assert_eq!(statuses(&store, id).await, [AttemptStatus::Success]);
    engine.stop().await;
}

#[tokio::test]
async fn an_attempt_that_panics_while_it_is_cut_off_still_ends() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    async fn explode(_: Wait, _: Context) -> Result<(), JobError> {
        let _bomb = Bomb;
        std::future::pending().await
    }
    let engine = Engine::builder(MemoryStore::default())
        .handler(explode)
        .start()
        .unwrap();
    let request = Wait
        .job()
        .timeout(Duration::from_millis(5))
        .retry(Preset::Once);
    let id = engine.client().enqueue(request).await.unwrap();
    let job = engine.finished(id).await.unwrap();
    assert_eq!(job.progress.failure.unwrap().class.as_str(), "panic");
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_thread_does_not_hold_up_a_hurried_stop() {
    let (started, start) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let blocking = Arc::new((
        std::sync::Mutex::new(started),
        std::sync::Mutex::new(released),
    ));
    type Gate = Arc<(
        std::sync::Mutex<std::sync::mpsc::Sender<()>>,
        std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
    )>;
    async fn block(_: Wait, ctx: Context<Gate>) -> Result<(), JobError> {
        let (started, released) = &**ctx.state();
        started.lock().unwrap().send(()).unwrap();
        let _gone = released.lock().unwrap().recv();
        Ok(())
    }
    let builder = Engine::builder(MemoryStore::default()).state(blocking);
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
async fn a_commit_whose_answer_was_lost_counts_once() {
    let (store, engine) = calling();
    let mut notices = engine.subscribe();
    store.lose_commit_answers(2);
    let id = engine
        .client()
        .enqueue(fails(1).job().retry(quick()))
        .await
        .unwrap();
    assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    use AttemptStatus::{Failed, Success};
    assert_eq!(statuses(&store, id).await, [Failed, Success]);
    let stats = engine.client().stats(store.now()).await.unwrap();
    assert_eq!(stats.total.attempts, 2);
    engine.stop().await;
}

#[tokio::test]
async fn jobs_that_were_there_before_are_answered_in_their_places() {
    let client = steadfast_engine::Client::new(Arc::new(MemoryStore::default()));
    let keyed = |key: &str| fails(0).job().idempotency_key(key).tag("key", key);
    let made = client.create_all([keyed("a"), keyed("b")]).await.unwrap();
    let [a, b] = <[CreateResult; 2]>::try_from(made)
        .unwrap()
        .map(CreateResult::job);
    let made = client.create_all([keyed("b"), keyed("c"), keyed("a")]);
    let [first, second, third] = <[CreateResult; 3]>::try_from(made.await.unwrap()).unwrap();
    assert_eq!(
        [first, third],
        [CreateResult::Existing(b), CreateResult::Existing(a)]
    );
    assert!(matches!(second, CreateResult::New(job) if job.tags["key"] == "c"));
}

#[tokio::test]
async fn busy_jobs_do_not_have_schedules_looked_at_each_time() {
    let start = std::time::Instant::now();
    let (store, engine) = calling();
    let mut notices = engine.subscribe();
    for _ in 0..100 {
        let id = engine.client().enqueue(fails(0)).await.unwrap();
        assert!(matches!(ends(&mut notices, id).await, JobEvent::Succeeded));
    }
    let looks = u128::from(store.calls("due_schedules"));
    // Once every 50 ms, however long the jobs took.
    let most = start.elapsed().as_millis() / 50 + 1;
    assert!(looks > 0 && looks <= most, "{looks} looks, not {most}");
    engine.stop().await;
}

#[tokio::test]
async fn two_engines_on_one_store_never_run_an_attempt_twice() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    two_engines([store.clone(), store]).await;
}

#[tokio::test]
async fn two_engines_on_one_sqlite_file_never_run_an_attempt_twice() {
    let dir = tempfile::tempdir().unwrap();
    // Opened twice, as two processes would.
    let open = || -> Arc<dyn Store> {
        let path = dir.path().join("jobs.db");
        Arc::new(SqliteStore::open(path, SqliteOptions::default()).unwrap())
    };
    two_engines([open(), open()]).await;
}

/// 2,000 jobs, a fifth failing once, on two engines: every attempt has one record.
async fn two_engines([store, other]: [Arc<dyn Store>; 2]) {
    let calls = Arc::new(Calls::default());
    async fn counted(job: common::Flaky, ctx: Context<Arc<Calls>>) -> Result<(), JobError> {
        ctx.state()
            .0
            .fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        match ctx.attempt() <= job.failures {
            true => Err(JobError::failure("error", "once")),
            false => Ok(()),
        }
    }
    let start = |store: &Arc<dyn Store>| {
        let builder = steadfast_engine::EngineBuilder::new(store.clone()).state(calls.clone());
        builder.handler(counted).start().unwrap()
    };
    let (one, two) = (start(&store), start(&other));
    let mut notices = [one.subscribe(), two.subscribe()];
    let requests = (0..2_000).map(|n| fails(u32::from(n % 5 == 0)).job().retry(quick()));
    let requests: Vec<JobRequest> = requests.collect();
    for chunk in requests.chunks(1_000) {
        one.client().enqueue_all(chunk.to_vec()).await.unwrap();
    }
    let mut succeeded = 0;
    while succeeded < 2_000 {
        let [a, b] = &mut notices;
        let done = |notice: &steadfast_engine::Notice| matches!(notice.event, JobEvent::Succeeded);
        tokio::select! {
            _ = notice(a, done) => succeeded += 1,
            _ = notice(b, done) => succeeded += 1,
        }
    }
    one.stop().await;
    two.stop().await;
    assert_eq!(calls.count(), 2_400);
    let stats = store.lane_stats(store.now()).await.unwrap();
    assert_eq!(stats[0].total.attempts, 2_400);
    assert_eq!(stats[0].succeeded, 2_000);
}
