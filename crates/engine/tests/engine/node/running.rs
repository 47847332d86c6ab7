//! The engine as it really runs: tasks, retries, timeouts and cancels.

use std::{sync::Arc, time::Duration, time::Instant};

use steadfast_core::{AttemptStatus, JobState, LogLevel, Preset};
use steadfast_engine::{
    Client, Context, Engine, JobError, JobEvent, JobKind as _, Notice, Observer, StopReason,
};
use steadfast_store::{MemoryStore, Store};
use tokio::sync::Semaphore;

use crate::{
    common::{Calls, DEADLINE, GatedEngine, Wait, ends, fails, flaky, quick, starts, statuses},
    flaky_store::FlakyStore,
};

#[tokio::test]
async fn a_job_runs_fails_and_is_retried_until_it_succeeds() {
    let store = Arc::new(MemoryStore::default());
    let builder = Engine::builder(store.clone()).state(Calls::default());
    let engine = builder.handler(flaky).start().unwrap();
    let mut notices = engine.subscribe();
    let request = fails(2).job().retry(quick());
    let id = engine.client().enqueue(request).await.unwrap();
    assert_eq!(ends(&mut notices, id).await, JobEvent::Succeeded);
    use AttemptStatus::{Failed, Success};
    assert_eq!(statuses(&*store, id).await, [Failed, Failed, Success]);
    engine.stop().await;
}

#[tokio::test]
async fn a_timeout_ends_an_attempt_as_class_timeout() {
    let mut gated = GatedEngine::new();
    let request = Wait
        .job()
        .timeout(Duration::from_millis(5))
        .retry(Preset::Once);
    let id = gated.start(request).await;
    let JobEvent::Failed { failure, .. } = ends(&mut gated.notices, id).await else {
        panic!("it did not fail");
    };
    assert_eq!(failure.unwrap().class.as_str(), "timeout");
    gated.stop().await;
}

#[tokio::test]
async fn an_attempt_that_panics_while_it_is_cut_off_still_ends() {
    struct PanicOnDrop;
    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    async fn hang(_: Wait, _: Context) -> Result<(), JobError> {
        let _guard = PanicOnDrop;
        std::future::pending().await
    }
    let builder = Engine::builder(MemoryStore::default()).handler(hang);
    let engine = builder.start().unwrap();
    let request = Wait
        .job()
        .timeout(Duration::from_millis(5))
        .retry(Preset::Once);
    let id = engine.client().enqueue(request).await.unwrap();
    let job = engine.finished(id).await.unwrap();
    assert_eq!(job.progress.failure.unwrap().class.as_str(), "panic");
    engine.stop().await;
}

/// Ends when it gets the signal to stop.
async fn wait_for_stop(_: Wait, ctx: Context) -> Result<(), JobError> {
    let reason = ctx.stopped().await;
    assert_eq!(reason, StopReason::Cancelled);
    Err(JobError::failure("stopped", "got the signal to stop"))
}

#[tokio::test]
async fn a_running_job_that_is_cancelled_gets_the_signal_to_stop_and_ends_cancelled() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let builder = Engine::builder(store.clone()).handler(wait_for_stop);
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    // Once by the engine's own client, and once by another program, of which the
    // node learns from the store.
    for canceller in [engine.client(), Client::new(store)] {
        let request = Wait.job().lease(Duration::from_secs(3_600));
        let id = engine.client().enqueue(request).await.unwrap();
        starts(&mut notices, id).await;
        canceller.cancel(id).await.unwrap();
        assert_eq!(ends(&mut notices, id).await, JobEvent::Cancelled);
    }
    engine.stop().await;
}

#[tokio::test]
async fn busy_jobs_do_not_have_schedules_looked_at_each_time() {
    let start = Instant::now();
    let store = FlakyStore::default();
    let builder = Engine::builder(store.clone()).state(Calls::default());
    let engine = builder.handler(flaky).start().unwrap();
    let mut notices = engine.subscribe();
    for _ in 0..100 {
        let id = engine.client().enqueue(fails(0)).await.unwrap();
        assert_eq!(ends(&mut notices, id).await, JobEvent::Succeeded);
    }
    let looks = u128::from(store.calls("due_schedules"));
    // Once every 50 ms, however long the jobs took.
    let most = start.elapsed().as_millis() / 50 + 1;
    assert!(looks > 0 && looks <= most, "{looks} looks, not {most}");
    engine.stop().await;
}

/// Logs a line whenever the test lets it, and one more before it ends.
async fn log_lines(_: Wait, ctx: Context<Arc<Semaphore>>) -> Result<(), JobError> {
    for text in ["one", "two"] {
        ctx.log(LogLevel::Info, text);
        ctx.state().acquire().await?.forget();
    }
    ctx.log(LogLevel::Warn, "three");
    Ok(())
}

#[tokio::test]
async fn each_line_of_a_handler_is_stored_once_while_it_runs_and_when_it_ends() {
    let gate = Arc::new(Semaphore::new(0));
    let builder = Engine::builder(MemoryStore::default()).state(gate.clone());
    let engine = builder.handler(log_lines).start().unwrap();
    let client = engine.client();
    let id = client.enqueue(Wait).await.unwrap();
    let texts = async || {
        let logs = client.attempt_logs(id, 1, 0).await.unwrap();
        let lines = logs.into_iter().flat_map(|log| log.log.since(0).lines);
        lines.map(|line| line.text).collect::<Vec<_>>()
    };
    for stored in [vec!["one"], vec!["one", "two"]] {
        let wait = async {
            while texts().await != stored {
                // sleep: lines are stored in the background
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.unwrap();
        gate.add_permits(1);
    }
    let job = engine.finished(id).await.unwrap();
    assert_eq!(job.progress.state, JobState::Succeeded);
    assert_eq!(texts().await, ["one", "two", "three"]);
    engine.stop().await;
}

/// An observer of the user's, with a mistake in it.
struct Panics;

impl Observer for Panics {
    fn notice(&self, _: &Notice) {
        panic!("a mistake in an observer");
    }
}

#[tokio::test]
async fn an_observer_that_panics_stops_nothing() {
    let builder = Engine::builder(MemoryStore::default()).state(Calls::default());
    let builder = builder.handler(flaky).observer(Arc::new(Panics));
    let engine = builder.start().unwrap();
    for _ in 0..2 {
        let request = fails(1).job().retry(quick());
        let id = engine.client().enqueue(request).await.unwrap();
        let finished = tokio::time::timeout(DEADLINE, engine.finished(id)).await;
        let job = finished.expect("the engine is stuck").unwrap();
        assert_eq!(job.progress.state, JobState::Succeeded);
    }
    assert_eq!(engine.in_flight(), 0);
    engine.stop().await;
}
