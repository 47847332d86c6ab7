//! What destinations say of their own limits, through the whole engine.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use steadfast_core::{
    BlockerKind, Destination, GateId, GatePatch, GateScope, Jitter, JobId, JobState, PolicyPatch,
    SharedQuota, Tenant,
};
use steadfast_engine::{ExplainRequest, JobRequest, http::HttpRequest, testing::TestEngine};
use steadfast_store::{ManualClock, MemoryStore};

use crate::{
    common::any_address,
    target::{Target, answer, ok},
};

const SECOND: Duration = Duration::from_secs(1);

struct Fixture {
    store: Arc<MemoryStore>,
    clock: ManualClock,
    target: Target,
}

impl Fixture {
    /// The first answer has these headers, the others none.
    async fn new(status: &'static str, headers: &'static str) -> Self {
        let target = Target::start(move |number| match number {
            0 => answer(status, headers, ""),
            _ => ok(""),
        });
        let clock = ManualClock::default();
        Self {
            store: Arc::new(MemoryStore::new(Arc::new(clock.clone()))),
            clock,
            target: target.await,
        }
    }

    fn node(&self) -> TestEngine {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        TestEngine::on(store, clock, |builder| builder.outbound(any_address())).unwrap()
    }

    fn destination(&self) -> Destination {
        Destination::new(&format!("http://{}", self.target.address)).unwrap()
    }

    async fn enqueue(&self, node: &TestEngine, tenant: &str, count: usize) -> Vec<JobId> {
        let request = HttpRequest::new(&self.target.url()).unwrap();
        let steady = PolicyPatch::fixed(SECOND)
            .jitter(Jitter::None)
            .max_retries(1);
        let jobs = (0..count).map(|_| {
            let job = JobRequest::of(&request).tenant(tenant);
            job.retry(steady.clone())
        });
        let stored = node.client().enqueue_all(jobs).await.unwrap();
        stored.into_iter().map(|stored| stored.id()).collect()
    }

    /// What a node knows of the quota of a tenant, or of all.
    async fn quota(&self, node: &TestEngine, tenant: Option<&str>) -> Option<SharedQuota> {
        let tenant = tenant.map(|tenant| Tenant::new(tenant).unwrap());
        let destination = self.destination();
        let client = node.client();
        let state = client.destination(&destination, tenant.as_ref()).await;
        state.unwrap().health.quota(node.now()).copied()
    }

    fn calls(&self) -> usize {
        self.target.seen().len()
    }
}

#[tokio::test]
async fn nothing_starts_on_any_node_until_the_reset_if_nothing_remains() {
    let headers = "x-ratelimit-limit: 60\r\nx-ratelimit-remaining: 0\r\nx-ratelimit-reset: 30\r\n";
    let fixture = Fixture::new("200 OK", headers).await;
    let (node, other) = (fixture.node(), fixture.node());
    let first = fixture.enqueue(&node, "acme", 1).await;
    assert_eq!(node.run_due().await.unwrap(), 1);
    let later = fixture.enqueue(&node, "acme", 2).await;
    for each in [&node, &other] {
        assert_eq!(each.run_due().await.unwrap(), 0, "the others may start");
        let quota = fixture.quota(each, Some("acme")).await.unwrap();
        assert_eq!((quota.remaining, quota.job), (0, first[0]));
        assert_eq!(quota.until, each.now().plus(30 * SECOND));
    }
    let (client, request) = (node.client(), ExplainRequest::default());
    let explained = client.explain(later[0], &request).await;
    let explained = explained.unwrap().unwrap();
    let blocker = &explained.blockers[0];
    assert_eq!(blocker.kind, BlockerKind::Quota);
    let expected = format!(
        "Destination {} of tenant acme says that no requests remain until 2026-01-01T00:00:30Z \
         (x-ratelimit-remaining), received by {}; 30s remaining.",
        fixture.destination(),
        first[0]
    );
    assert_eq!(blocker.sentence, expected);
    assert!(!explained.claimable);
    let output = node.attempts(first[0]).await.unwrap()[0].output.clone();
    let output: Value = output.unwrap().decode().unwrap();
    let expected = json!({
        "header": "x-ratelimit-remaining", "remaining": 0, "resetsAt": "2026-01-01T00:00:30Z",
    });
    assert_eq!(output["quota"], expected);

    other.advance(29 * SECOND).await.unwrap();
    assert_eq!(fixture.calls(), 1);
    other.advance(SECOND).await.unwrap();
    assert_eq!(fixture.calls(), 3);
    assert_eq!(fixture.quota(&node, Some("acme")).await, None);
}

#[tokio::test]
async fn what_remains_is_spread_over_the_time_until_the_reset() {
    let headers = "RateLimit-Policy: \"default\";q=10;w=60\r\nRateLimit: \"default\";r=3;t=60\r\n";
    let fixture = Fixture::new("200 OK", headers).await;
    let node = fixture.node();
    fixture.enqueue(&node, "acme", 1).await;
    node.run_due().await.unwrap();
    fixture.enqueue(&node, "acme", 9).await;
    assert_eq!(node.run_due().await.unwrap(), 1);
    let mut calls = Vec::new();
    for _ in 0..6 {
        node.advance(10 * SECOND).await.unwrap();
        calls.push(fixture.calls());
    }
    assert_eq!(calls, [2, 3, 3, 4, 4, 10]);
}

#[tokio::test]
async fn the_answers_to_one_tenant_slow_down_only_that_tenant_unless_limits_are_shared() {
    let headers = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 60\r\n";
    for (shares, started) in [(None, 1), (Some(true), 0), (Some(false), 2)] {
        let fixture = Fixture::new("200 OK", headers).await;
        let node = fixture.node();
        if let Some(shares) = shares {
            let id = GateId::new(None, GateScope::Destination, fixture.destination().as_str());
            let patch = GatePatch::default().share_retry_after(shares);
            let client = node.client();
            let changed = client.change_gate(id.unwrap(), &patch, None).await;
            changed.unwrap();
        }
        fixture.enqueue(&node, "one", 1).await;
        assert_eq!(node.run_due().await.unwrap(), 1);
        for tenant in ["one", "two"] {
            fixture.enqueue(&node, tenant, 1).await;
        }
        assert_eq!(node.run_due().await.unwrap(), started, "{shares:?}");
    }
}

#[tokio::test]
async fn a_reset_in_a_year_holds_jobs_up_for_an_hour() {
    let headers = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 31536000\r\n";
    let fixture = Fixture::new("200 OK", headers).await;
    let node = fixture.node();
    fixture.enqueue(&node, "acme", 1).await;
    node.run_due().await.unwrap();
    fixture.enqueue(&node, "acme", 1).await;
    node.advance(3_599 * SECOND).await.unwrap();
    assert_eq!(fixture.calls(), 1);
    node.advance(SECOND).await.unwrap();
    assert_eq!(fixture.calls(), 2);
}

#[tokio::test]
async fn a_refused_request_waits_for_the_reset_and_its_history_names_the_header() {
    for (headers, header, secs) in [
        (
            "anthropic-ratelimit-requests-remaining: 0\r\n\
             anthropic-ratelimit-requests-reset: 2026-01-01T00:01:30Z\r\n",
            "anthropic-ratelimit-requests-remaining",
            90,
        ),
        (
            "retry-after-ms: 7000\r\nx-ratelimit-remaining-requests: 0\r\n\
             x-ratelimit-reset-requests: 1m30s\r\n",
            "retry-after-ms",
            7,
        ),
    ] {
        let fixture = Fixture::new("429 Too Many Requests", headers).await;
        let node = fixture.node();
        let ids = fixture.enqueue(&node, "acme", 1).await;
        node.run_due().await.unwrap();
        let attempt = node.attempts(ids[0]).await.unwrap().remove(0);
        let delay = attempt.decision.unwrap().delay.unwrap();
        assert_eq!(delay.retry_after_header.as_str(), header);
        assert_eq!(delay.retry_after, Some(secs * SECOND));
        let quota = fixture.quota(&node, Some("acme")).await;
        assert_eq!(quota.is_some(), header != "retry-after-ms", "{quota:?}");
        node.advance(secs * SECOND).await.unwrap();
        let job = node.job(ids[0]).await.unwrap();
        assert_eq!(job.progress.state, JobState::Succeeded);
    }
}

#[tokio::test]
async fn a_person_who_releases_the_destination_forgets_what_it_said() {
    let headers = "x-ratelimit-remaining: 0\r\nx-ratelimit-reset: 60\r\n";
    let fixture = Fixture::new("200 OK", headers).await;
    let node = fixture.node();
    fixture.enqueue(&node, "acme", 1).await;
    node.run_due().await.unwrap();
    fixture.enqueue(&node, "acme", 1).await;
    assert_eq!(node.run_due().await.unwrap(), 0);
    let destination = fixture.destination();
    let client = node.client();
    let released = client.release_destination(&destination, Some("ann"));
    released.await.unwrap();
    assert_eq!(node.run_due().await.unwrap(), 1);
}
