//! Leases that expire, and results that come too late.

use std::{sync::Arc, time::Duration};

use steadfast_core::{AttemptStatus, CommitResult, JobId, Outcome, Preset};
use steadfast_engine::{
    AttemptContext, Client, Engine, EngineConfig, Handler, JobEvent, JobKind as _, StopReason,
};
use steadfast_store::{ManualClock, MemoryStore, Store};

use crate::{
    common::{DEADLINE, GatedEngine, Wait, claim, notice, quick, settle, starts, statuses},
    flaky_store::FlakyStore,
};

/// Another node finds the lease of the only running job expired and settles it.
async fn lose_lease(store: &dyn Store, clock: &ManualClock) {
    clock.advance(Duration::from_secs(60));
    let expired = store.expired_leases(9).await.unwrap().remove(0);
    let result = settle(store, expired, Outcome::Lost).await;
    assert_eq!(result, CommitResult::Done);
}

#[tokio::test]
async fn an_expired_lease_is_settled_by_another_engine_and_the_late_result_is_refused() {
    let store = Arc::new(MemoryStore::default());
    // A worker that claims and is never heard of again.
    let request = Wait.job().lease(Duration::from_secs(1)).retry(quick());
    let id = Client::new(store.clone()).enqueue(request).await.unwrap();
    let lost = claim(&*store, Vec::new()).await.remove(0);

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
async fn an_attempt_that_ends_with_its_lease_is_not_renewed_any_more() {
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
