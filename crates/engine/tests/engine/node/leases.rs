//! Leases that expire, and results that come too late.

use std::{sync::Arc, time::Duration};

use steadfast_core::{AttemptStatus, CommitResult, JobId, Outcome, PolicyPatch, Preset};
use steadfast_engine::{
    AttemptContext, Client, Engine, EngineConfig, Handler, JobEvent, JobKind as _, StopReason,
};
use steadfast_store::{ManualClock, MemoryStore, Store};

use crate::{
    common::{DEADLINE, GatedEngine, Wait, claim, notice, pass, quick, settle, starts, statuses},
    flaky_store::FlakyStore,
};

/// Another node finds the lease of the only running job expired and settles it.
async fn lose_lease(store: &dyn Store, clock: &ManualClock) {
    clock.advance(Duration::from_secs(60));
    let expired = store.expired_leases(9).await.unwrap().remove(0);
    let result = settle(store, expired, Outcome::Lost).await;
    assert_eq!(result, CommitResult::Done);
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_is_settled_by_another_engine_and_the_late_result_is_refused() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    // A worker that claims and is never heard of again.
    let lease = Duration::from_secs(1);
    let request = Wait
        .job()
        .lease(lease)
        .retry(PolicyPatch::fixed(Duration::ZERO));
    let id = Client::new(store.clone()).enqueue(request).await.unwrap();
    let lost = claim(&*store, Vec::new()).await.remove(0);

    clock.advance(lease);
    let config = EngineConfig::default().with_sweep_every(Duration::from_millis(50));
    let mut gated = GatedEngine::on_shared(store.clone(), config);
    gated.open_gate(1);
    gated.succeeds(id).await;
    use AttemptStatus::{Lost, Success};
    assert_eq!(gated.statuses(id).await, [Lost, Success]);

    let late = settle(&*store, lost, Outcome::Success { output: None }).await;
    assert_eq!(late, CommitResult::Stale);
    gated.stop().await;
}

/// While no node runs, a worker can neither renew a lease nor report.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_was_kept_while_no_node_ran_counts() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let request = Wait.job().at_most_once();
    let id = Client::new(store.clone()).enqueue(request).await.unwrap();
    let kept = claim(&*store, Vec::new()).await.remove(0);
    pass(&clock, Duration::from_secs(60)).await;

    let gated = GatedEngine::on_shared(store.clone(), EngineConfig::default());
    pass(&clock, Duration::from_secs(6)).await;
    let result = settle(&*store, kept, Outcome::Success { output: None }).await;
    assert_eq!(result, CommitResult::Done);
    assert_eq!(gated.statuses(id).await, [AttemptStatus::Success]);
    gated.stop().await;
}

#[tokio::test]
async fn a_late_result_is_refused_counted_and_announced() {
    let (mut gated, clock) = GatedEngine::on_manual_clock();
    let id = gated.start(Wait.job().retry(Preset::Once)).await;
    lose_lease(&*gated.store, &clock).await;
    gated.open_gate(1);
    let is_fence_lost = |notice: &steadfast_engine::Notice| notice.event == JobEvent::FenceLost;
    notice(&mut gated.notices, is_fence_lost).await;
    assert_eq!(gated.engine.fences_lost(), 1);
    assert_eq!(gated.statuses(id).await, [AttemptStatus::Lost]);
    gated.stop().await;
}

/// Ends with its lease, and has nothing to report then.
struct EndsWithLease;

#[async_trait::async_trait]
impl Handler for EndsWithLease {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        assert_eq!(attempt.stopped().await, StopReason::LeaseLost);
        Outcome::Lost
    }
}

#[tokio::test]
async fn an_attempt_that_ends_with_its_lease_is_no_longer_renewed() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let builder = Engine::builder(store.clone());
    let builder = builder.raw_handler(Wait::KIND, Arc::new(EndsWithLease));
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    let request = Wait.job().lease(Duration::from_secs(1)).retry(Preset::Once);
    let id: JobId = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    assert_eq!(engine.in_flight(), 1);
    lose_lease(&*store, &clock).await;
    // Later, so that the two ends of the attempt have different times.
    clock.advance(Duration::from_secs(1));
    let leaves = async {
        while engine.in_flight() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(DEADLINE, leaves).await;
    assert!(waited.is_ok(), "the attempt is still renewed");
    assert_eq!(statuses(&*store, id).await, [AttemptStatus::Lost]);
    engine.stop().await;
}

/// The first attempt runs until it should stop, and says why; the others succeed.
struct FirstWaits(tokio::sync::mpsc::UnboundedSender<StopReason>);

#[async_trait::async_trait]
impl Handler for FirstWaits {
    async fn handle(&self, attempt: AttemptContext) -> Outcome {
        if attempt.job().progress.attempt == 1 {
            self.0.send(attempt.stopped().await).unwrap();
            return Outcome::Lost;
        }
        Outcome::Success { output: None }
    }
}

#[tokio::test]
async fn an_attempt_that_lost_its_job_to_its_own_node_learns_of_it() {
    let clock = ManualClock::default();
    let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let (sender, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    let builder = Engine::builder(store.clone());
    let builder = builder.raw_handler(Wait::KIND, Arc::new(FirstWaits(sender)));
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    // So long a lease that its renewal tells nothing during the test.
    let lease = Duration::from_secs(59);
    let request = Wait.job().lease(lease).retry(quick());
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    lose_lease(&*store, &clock).await;
    clock.advance(Duration::from_secs(1));
    engine.client().run_now(id).await.unwrap();
    let told = tokio::time::timeout(DEADLINE, reasons.recv()).await;
    assert_eq!(
        told.expect("the attempt goes on"),
        Some(StopReason::LeaseLost)
    );
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_on_another_node_reaches_a_running_attempt_within_a_second_or_so() {
    let store = Arc::new(MemoryStore::default());
    let (sender, mut reasons) = tokio::sync::mpsc::unbounded_channel();
    let builder = Engine::builder(store.clone());
    let builder = builder.raw_handler(Wait::KIND, Arc::new(FirstWaits(sender)));
    let engine = builder.start().unwrap();
    let mut notices = engine.subscribe();
    let request = Wait.job().lease(Duration::from_secs(600));
    let id = engine.client().enqueue(request).await.unwrap();
    starts(&mut notices, id).await;
    let cancelled = tokio::time::Instant::now();
    // A client of another node: it knows nothing of the attempts that run on this one.
    Client::new(store).cancel(id).await.unwrap();
    assert_eq!(reasons.recv().await, Some(StopReason::Cancelled));
    let heard_after = cancelled.elapsed();
    assert!(heard_after <= Duration::from_secs(2), "{heard_after:?}");
    engine.stop_now().await;
}

/// The machine slept, or its clock was set: every lease looks expired, and none is.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_loses_nothing_that_runs() {
    let (mut gated, clock) = GatedEngine::on_manual_clock();
    let id = gated
        .start(Wait.job().lease(Duration::from_secs(600)))
        .await;
    clock.advance(Duration::from_secs(3_600));
    // sleep: by the paused timer, until the sweeper has been round a few times
    tokio::time::sleep(Duration::from_secs(120)).await;
    gated.open_gate(1);
    gated.succeeds(id).await;
    assert_eq!(gated.statuses(id).await, [AttemptStatus::Success]);
    gated.stop().await;
}

#[tokio::test]
async fn a_sweeper_that_is_wrong_about_a_lease_does_not_stop_its_renewal() {
    let store = FlakyStore::default();
    let config = EngineConfig::default().with_sweep_every(Duration::from_millis(10));
    let mut gated = GatedEngine::on(store.clone(), config);
    let id = gated.start(Wait.job().lease(Duration::from_secs(1))).await;
    store.call_running_expired();
    let renewals = store.renewals(4);
    tokio::time::timeout(DEADLINE, renewals).await.unwrap();
    gated.open_gate(1);
    gated.succeeds(id).await;
    assert_eq!(gated.statuses(id).await, [AttemptStatus::Success]);
    gated.stop().await;
}
