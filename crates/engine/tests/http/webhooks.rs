//! Endpoints as several nodes see them: what one node answers holds on all of them at once.

use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    BodyFormat, Endpoint, EndpointId, EventType, Job, JobState, Kind, PolicyPatch, Tenant,
};
use steadfast_engine::{Context, JobError, JobKind, testing::TestEngine};
use steadfast_store::{JobFilter, JobPageRequest, ManualClock, MemoryStore, Store};

use crate::{
    common::any_address,
    target::{Target, answer, ok},
};

#[derive(Serialize, Deserialize)]
struct Work {}

impl JobKind for Work {
    const KIND: &'static str = "work";
}

async fn work(_: Work, _: Context) -> Result<(), JobError> {
    Ok(())
}

/// Two nodes on one store, which have both settled a job already, so that both have read the
/// endpoints there were.
async fn nodes() -> [TestEngine; 2] {
    let clock = ManualClock::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
    let node = || {
        TestEngine::on(store.clone(), clock.clone(), |builder| {
            builder.handler(work).outbound(any_address())
        })
        .unwrap()
    };
    let nodes = [node(), node()];
    for node in &nodes {
        end_a_job(node).await;
    }
    nodes
}

/// Only jobs of kind `work` are run: a delivery is created by its end, and waits.
async fn end_a_job(node: &TestEngine) {
    node.client().enqueue(Work {}).await.unwrap();
    node.run_due().await.unwrap();
}

fn endpoint(number: u128, target: &Target) -> Endpoint {
    Endpoint {
        id: EndpointId::from_bits(number),
        tenant: Tenant::default(),
        url: target.url(),
        description: String::new(),
        events: EventType::OF_JOBS.to_vec(),
        format: BodyFormat::Standard,
        retry: PolicyPatch::default(),
        secrets: Vec::new(),
        disabled: false,
        created_at: steadfast_core::Timestamp::EPOCH,
    }
}

async fn deliveries(node: &TestEngine) -> Vec<Job> {
    let filter = JobFilter {
        kind: Some(Kind::webhook()),
        ..JobFilter::default()
    };
    let page = JobPageRequest::first(100);
    node.client().jobs(filter, page).await.unwrap().items
}

#[tokio::test]
async fn a_new_endpoint_is_told_of_everything_whichever_node_settles_and_sends() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let client = one.client();
    client.create_endpoint(endpoint(1, &target)).await.unwrap();
    end_a_job(&other).await;
    assert_eq!(target.seen().len(), 1);
    assert_eq!(
        deliveries(&other).await[0].progress.state,
        JobState::Succeeded
    );
}

#[tokio::test]
async fn a_cancel_is_told_to_an_endpoint_that_another_node_created() {
    let target = Target::start(|_| ok("")).await;
    let [one, other] = nodes().await;
    let mut new = endpoint(1, &target);
    new.events = vec![EventType::JobCancelled];
    one.client().create_endpoint(new).await.unwrap();
    let id = other.client().enqueue(Work {}).await.unwrap();
    other.client().cancel(id).await.unwrap();
    assert_eq!(deliveries(&one).await.len(), 1);
}

#[tokio::test]
async fn a_deleted_endpoint_is_sent_nothing_more_by_any_node() {
    let target = Target::start(|_| answer("503 Service Unavailable", "", "")).await;
    let [one, other] = nodes().await;
    let id = EndpointId::from_bits(1);
    one.client()
        .create_endpoint(endpoint(1, &target))
        .await
        .unwrap();
    end_a_job(&other).await;
    assert_eq!(target.seen().len(), 1, "the first attempt fails");
    assert!(one.client().delete_endpoint(id, None).await.unwrap());
    end_a_job(&other).await;
    other.advance(Duration::from_secs(3_600)).await.unwrap();
    assert_eq!(target.seen().len(), 1);
    let deliveries = deliveries(&one).await;
    assert_eq!(deliveries.len(), 1, "none was made after it was deleted");
    assert_eq!(deliveries[0].progress.state, JobState::Cancelled);
    let failure = deliveries[0].progress.failure.clone().unwrap();
    assert_eq!(failure.message, "the endpoint was deleted");
}

#[tokio::test]
async fn deliveries_of_a_disabled_endpoint_wait_until_it_is_enabled() {
    let target = Target::start(|number| match number {
        0 => answer("503 Service Unavailable", "", ""),
        _ => ok(""),
    })
    .await;
    let [one, other] = nodes().await;
    let id = EndpointId::from_bits(1);
    let client = one.client();
    client.create_endpoint(endpoint(1, &target)).await.unwrap();
    end_a_job(&other).await;
    let disable =
        |disabled| client.change_endpoint(id, None, move |endpoint| endpoint.disabled = disabled);
    disable(true).await.unwrap();
    other.advance(Duration::from_secs(7_200)).await.unwrap();
    assert_eq!(target.seen().len(), 1, "nothing is sent meanwhile");
    let waiting = deliveries(&one).await;
    assert_eq!(waiting[0].progress.state, JobState::Waiting);
    assert_eq!(waiting[0].progress.attempt, 1, "waiting is not an attempt");
    assert!(waiting[0].progress.snoozes < 15, "it looks less often");

    disable(false).await.unwrap();
    other.advance(Duration::from_secs(900)).await.unwrap();
    assert_eq!(target.seen().len(), 2);
    assert_eq!(
        deliveries(&one).await[0].progress.state,
        JobState::Succeeded
    );
}
