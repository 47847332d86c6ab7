//! Jobs for a worker of the test, which fail only when the test says so, and their dead letters.

use steadfast_core::{Failure, Job, LogLines, Outcome, Payload, WorkerName};
use steadfast_engine::{JobRequest, Settlement};
use steadfast_store::{ClaimRequest, JobFilter};

use crate::node::{MARKUP, TestNode};

/// A job for a worker of the test, which fails only when the test says so.
pub fn worker_job(tenant: &str) -> JobRequest {
    let payload = Payload::encode(&serde_json::json!({"html": MARKUP})).unwrap();
    JobRequest::new("worker.kind", payload).tenant(tenant)
}

/// A dead letter of a tenant: a job that was claimed and failed.
pub async fn dead_letter(node: &TestNode, tenant: &str, message: &str) -> Job {
    let request = worker_job(tenant).retry(steadfast_core::Preset::Once);
    let id = node.client.enqueue(request).await.unwrap();
    fail_claimable(node, tenant, message).await;
    node.client.job(id).await.unwrap().unwrap()
}

/// Claims the due worker jobs of a tenant, and fails them.
pub async fn fail_claimable(node: &TestNode, tenant: &str, message: &str) {
    let outcome = Outcome::Failure {
        failure: Failure::new(steadfast_core::FailureClass::ERROR, message),
        output: Payload::encode(&serde_json::json!({"body": MARKUP})).ok(),
    };
    settle_claimable(node, tenant, outcome).await;
}

/// Claims the due worker jobs of a tenant, which succeed.
pub async fn succeed_claimable(node: &TestNode, tenant: &str) {
    settle_claimable(node, tenant, Outcome::Success { output: None }).await;
}

async fn settle_claimable(node: &TestNode, tenant: &str, outcome: Outcome) {
    let claim = ClaimRequest {
        tenant: Some(tenant.parse().unwrap()),
        kinds: vec!["worker.kind".parse().unwrap()],
        ..ClaimRequest::new(WorkerName::new("w").unwrap(), 1_000)
    };
    let claims = node
        .node
        .claim(claim, std::time::Duration::ZERO)
        .await
        .unwrap();
    let claims = claims.take();
    let settlements = claims.iter().map(|claim| Settlement {
        on_success: Vec::new(),
        job: claim.job().id,
        fence: claim.fence(),
        log: LogLines::default(),
        outcome: outcome.clone(),
    });
    node.node.settle(settlements.collect(), None).await.unwrap();
}

/// The number of dead letters, up to 100.
pub async fn count_dead_letters(node: &TestNode) -> u64 {
    node.client
        .count(JobFilter::dead_letters(), 100)
        .await
        .unwrap()
        .count
}
