//! Workers that wait for jobs.

use steadfast_core::Payload;
use steadfast_engine::{Engine, JobRequest, NodeHandle};
use steadfast_store::ClaimRequest;
use tokio::task::JoinSet;

use crate::{common::DEADLINE, flaky_store::FlakyStore};

/// Polls of workers on one queue, which all wait.
async fn waiting_polls(node: &NodeHandle, store: &FlakyStore, count: usize) -> JoinSet<usize> {
    let request = ClaimRequest {
        queues: vec!["x".parse().unwrap()],
        ..ClaimRequest::new("w".parse().unwrap(), 1)
    };
    let mut polls = JoinSet::new();
    for _ in 0..count {
        let (node, request) = (node.clone(), request.clone());
        polls.spawn(async move {
            let claims = node.claim(request, DEADLINE).await;
            claims.unwrap().take().len()
        });
    }
    let looks = || store.calls("claim");
    while looks() < u32::try_from(count).unwrap() {
        tokio::task::yield_now().await;
    }
    polls
}

#[tokio::test]
async fn polls_are_woken_by_the_jobs_that_they_wait_for_and_as_many_as_there_are() {
    let store = FlakyStore::default();
    let engine = Engine::builder(store.clone()).start().unwrap();
    let client = engine.client();
    let request = |queue: &str| JobRequest::new("mail", Payload::default()).queue(queue);
    let mut polls = waiting_polls(&engine.node(), &store, 200).await;
    // All of them wait by now, or will before the test goes on.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let before = store.calls("claim");
    for _ in 0..20 {
        client.enqueue(request("y")).await.unwrap();
        tokio::task::yield_now().await;
    }
    let looks = store.calls("claim") - before;
    assert_eq!(looks, 0, "polls looked for jobs of another queue");
    for _ in 0..3 {
        client.enqueue(request("x")).await.unwrap();
        let claimed = polls.join_next().await.unwrap().unwrap();
        assert_eq!(claimed, 1);
    }
    // One poll for each job, and one for each that has left.
    let looks = store.calls("claim") - before;
    assert!(looks <= 6 + 3, "{looks} looks for three jobs");
    engine.stop().await;
    while let Some(claimed) = polls.join_next().await {
        assert_eq!(claimed.unwrap(), 0);
    }
}
