//! A store that goes away, cannot write an outcome, or loses an answer.

use std::time::Duration;

use steadfast_core::{AttemptStatus, CommitResult, JobState, Kind, Outcome, Preset, WorkerName};
use steadfast_engine::{Engine, EngineConfig, JobEvent, JobKind as _, RoleStatus};
use steadfast_store::{BaseStore as _, ClaimRequest, ManualClock};
use tokio::sync::Semaphore;

use crate::{
    common::{
        Calls, Flaky, GatedEngine, Wait, claim, ends, fails, flaky, pass, quick, settle, statuses,
    },
    flaky_store::{FlakyLayer, FlakyStore},
};

#[tokio::test]
async fn a_store_that_goes_away_loses_nothing_and_is_not_hammered() {
    let store = FlakyStore::default();
    let mut gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let id = gated.start(Wait).await;

    store.set_away(true);
    gated.open_gate(Semaphore::MAX_PERMITS);
    let refused_commits = || {
        let refused = store.refused();
        refused.iter().filter(|verb| **verb == "commit").count()
    };
    while refused_commits() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(gated.client.enqueue(Wait).await.is_err());
    let refused = store.refused().len();
    assert!(refused < 50, "{refused} calls while the store was away");
    store.set_away(false);

    gated.succeeds(id).await;
    let next = gated.client.enqueue(Wait).await.unwrap();
    gated.succeeds(next).await;
    gated.stop().await;
}

/// Of two jobs whose leases ran out while the store was away, the holder of one comes back.
#[tokio::test(start_paused = true)]
async fn an_outcome_that_was_kept_while_the_store_was_away_for_long_counts() {
    let clock = ManualClock::default();
    let store = FlakyLayer::on_clock(&clock);
    let gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let [kept, lost] = [(); 2].map(|()| fails(0).job().retry(Preset::Once));
    let kept = gated.client.enqueue(kept).await.unwrap();
    let lost = gated.client.enqueue(lost).await.unwrap();
    let mut claims = claim(&store, vec![Kind::new(Flaky::KIND).unwrap()]).await;
    claims.retain(|claim| claim.job().id == kept);

    store.set_away(true);
    pass(&clock, Duration::from_secs(60)).await;
    store.set_away(false);
    pass(&clock, Duration::from_secs(6)).await;
    let success = Outcome::Success { output: None };
    let result = settle(&store, claims.remove(0), success).await;
    assert_eq!(result, CommitResult::Done);

    pass(&clock, Duration::from_secs(15)).await;
    assert_eq!(gated.statuses(kept).await, [AttemptStatus::Success]);
    assert_eq!(gated.statuses(lost).await, [AttemptStatus::Lost]);
    gated.stop().await;
}

#[tokio::test]
async fn an_outcome_that_cannot_be_stored_does_not_hold_up_the_others() {
    let store = FlakyStore::default();
    let mut gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let bad = gated.start(Wait).await;
    let good = gated.start(Wait).await;
    store.cannot_store(bad);
    // Nor does a passing error give the others up, though they are committed one by one by then.
    store.lose_commit_answers(1);
    gated.open_gate(2);
    gated.succeeds(good).await;
    let client = gated.client.clone();
    gated.stop().await;
    // No node holds it now: its lease runs out, and then another may try.
    let job = client.job(bad).await.unwrap().unwrap();
    assert_eq!(job.progress.state, JobState::Running);
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_counts_once() {
    let store = FlakyStore::default();
    let builder = Engine::builder(store.clone()).state(Calls::default());
    let engine = builder.handler(flaky).start().unwrap();
    let mut notices = engine.subscribe();
    store.lose_commit_answers(2);
    let request = fails(1).job().retry(quick());
    let id = engine.client().enqueue(request).await.unwrap();
    assert_eq!(ends(&mut notices, id).await, JobEvent::Succeeded);
    use AttemptStatus::{Failed, Success};
    assert_eq!(statuses(&store, id).await, [Failed, Success]);
    let stats = engine.client().stats(store.now()).await.unwrap();
    assert_eq!(stats.total.attempts, 2);
    engine.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_due_job_that_cannot_be_claimed_is_looked_at_less_and_less_often() {
    let store = FlakyStore::default();
    store.lock_due_jobs();
    let gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let request = ClaimRequest::new(WorkerName::new("w").unwrap(), 1);
    let poll = gated.engine.node();
    let poll = tokio::spawn(async move { poll.claim(request, Duration::from_secs(10)).await });
    assert!(poll.await.unwrap().unwrap().is_empty());
    let looks = store.calls("claim");
    assert!(
        looks < 50,
        "{looks} looks of a fetcher and a worker in ten seconds"
    );
    gated.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_role_whose_rounds_fail_is_reported_until_one_succeeds() {
    let store = FlakyStore::default();
    let gated = GatedEngine::on(store.clone(), EngineConfig::default());
    let node = gated.engine.node();
    let failing = || {
        let roles = node.roles().into_iter();
        let failing = roles.filter(|role| role.status == RoleStatus::Failing);
        failing.map(|role| role.name).collect::<Vec<_>>()
    };
    // sleep: by the paused timer, for some rounds of every role
    let rounds = || tokio::time::sleep(Duration::from_secs(30));
    rounds().await;
    assert_eq!(failing(), [""; 0]);
    store.set_away(true);
    rounds().await;
    let reported = failing();
    for role in ["fetcher", "sweeper", "schedule runner", "heartbeat"] {
        assert!(reported.contains(&role), "{role} is not among {reported:?}");
    }
    store.set_away(false);
    rounds().await;
    assert_eq!(failing(), [""; 0]);
    gated.stop().await;
}
