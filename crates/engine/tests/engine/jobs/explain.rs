//! Why jobs have not started.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    BlockerKind, GateId, GatePatch, GateScope, Kind, PausePatch, Payload, Queue, StartExplanation,
    Tenant,
};
use steadfast_engine::{Client, Engine, ExplainRequest, JobKind as _, WorkerPresence};
use steadfast_store::{ClaimRequest, JobStore as _, MemoryStore};

use crate::common::{Calls, Flaky, fails, flaky};

fn queue_gate() -> GateId {
    GateId::new(None, GateScope::Queue, "default").unwrap()
}

fn paused() -> GatePatch {
    GatePatch::default().paused(PausePatch::Pause {
        reason: None,
        until: None,
    })
}

fn kinds(explanation: &StartExplanation) -> Vec<BlockerKind> {
    let blockers = explanation.blockers.iter();
    blockers.map(|blocker| blocker.kind).collect()
}

#[tokio::test]
async fn a_job_without_a_worker_says_who_served_it_last() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let id = client.enqueue(fails(0)).await.unwrap();
    let seen = |kind: &str, is_alive| WorkerPresence {
        name: "w1".parse().unwrap(),
        tenant: Some(Tenant::default()),
        queues: vec![Queue::default()],
        kinds: vec![Kind::new(kind).unwrap()],
        last_seen: client.now().minus(Duration::from_secs(90)),
        is_alive,
    };
    for (workers, blockers) in [
        (vec![], vec![BlockerKind::NoWorker]),
        (vec![seen("other", true)], vec![BlockerKind::NoWorker]),
        (vec![seen(Flaky::KIND, false)], vec![BlockerKind::NoWorker]),
        (vec![seen(Flaky::KIND, true)], vec![]),
    ] {
        let was_seen = workers.iter().any(|it| it.kinds[0].as_str() == Flaky::KIND);
        let request = ExplainRequest::new(workers, false);
        let explanation = client.explain(id, &request).await.unwrap().unwrap();
        assert!(explanation.claimable, "a claim would take it");
        assert_eq!(kinds(&explanation), blockers);
        if let Some(blocker) = explanation.blockers.first() {
            assert_eq!(blocker.sentence.contains("w1"), was_seen);
        }
    }
}

#[tokio::test]
async fn a_node_serves_the_kinds_that_it_has_handlers_for() {
    let engine = Engine::builder(MemoryStore::default())
        .state(Calls::default())
        .handler(flaky)
        .start()
        .unwrap();
    let client = engine.client();
    client
        .set_gate(queue_gate(), &paused(), Some("ann"))
        .await
        .unwrap();
    let served = client.enqueue(fails(0)).await.unwrap();
    let request = steadfast_engine::JobRequest::new("other", Payload::default());
    let other = client.enqueue(request).await.unwrap();
    while client.nodes().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let no_workers = ExplainRequest::default();
    let explanation = client.explain(served, &no_workers).await.unwrap().unwrap();
    assert!(!explanation.claimable);
    assert_eq!(kinds(&explanation), [BlockerKind::Paused]);
    assert_eq!(explanation.blockers[0].by.as_deref(), Some("ann"));
    let explanation = client.explain(other, &no_workers).await.unwrap().unwrap();
    let expected = [
        BlockerKind::Paused,
        BlockerKind::NoWorker,
        BlockerKind::Behind,
    ];
    assert_eq!(kinds(&explanation), expected);
    engine.stop().await;
}

#[tokio::test]
async fn a_job_at_a_gate_waits_for_it_and_lists_know_what_gates_say_by_themselves() {
    let store = Arc::new(MemoryStore::default());
    let client = Client::new(store.clone());
    let at_most_one = GatePatch::default().max_running(1);
    let kind = GateId::new(None, GateScope::Kind, Flaky::KIND).unwrap();
    client.set_gate(kind, &at_most_one, None).await.unwrap();
    client.enqueue(fails(0)).await.unwrap();
    let claim = ClaimRequest::new("w".parse().unwrap(), 1);
    let claims = store.claim(claim).await.unwrap().claims;
    let id = client.enqueue(fails(0)).await.unwrap();
    let job = client.job(id).await.unwrap().unwrap();
    let waits = client.waiting_for(&job, false).await.unwrap();
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0].kind, BlockerKind::MaxRunning);
    assert_eq!(waits[0].holders[0].job, claims[0].job().id);
    let jobs = [job.clone(), claims[0].job().clone()];
    let known = client.known_waits(&jobs, false).await.unwrap();
    assert!(known.iter().all(Vec::is_empty));
    let queue = queue_gate();
    client.set_gate(queue, &paused(), None).await.unwrap();
    assert_eq!(client.waiting_for(&job, false).await.unwrap().len(), 2);
    let known = client.known_waits(&jobs, false).await.unwrap();
    assert_eq!(known[0][0].kind, BlockerKind::Paused);
    assert!(known[1].is_empty(), "what runs does not wait");
}

#[tokio::test]
async fn a_queue_says_what_its_next_job_waits_for() {
    let client = Client::new(Arc::new(MemoryStore::default()));
    let (tenant, queue) = (Tenant::default(), Queue::default());
    let explain = async || {
        let request = ExplainRequest::default();
        client
            .explain_queue(&tenant, &queue, &request)
            .await
            .unwrap()
    };
    assert_eq!(explain().await.sentence, "Queue default has no jobs.");
    let id = client.enqueue(fails(0)).await.unwrap();
    client
        .set_gate(queue_gate(), &paused(), Some("ann"))
        .await
        .unwrap();
    let explanation = explain().await;
    assert_eq!(explanation.ready, 1);
    let next = explanation.next.unwrap();
    assert_eq!(next.job, id);
    assert_eq!(kinds(&next), [BlockerKind::Paused, BlockerKind::NoWorker]);
    assert!(explanation.sentence.contains("paused by ann"));
}
