//! What calls use, as their responses say, through the whole engine.

use std::time::Duration;

use steadfast_core::{BlockerKind, Cost, GateId, GatePatch, GateScope, JobId, JobState, UnitRate};
use steadfast_engine::{ExplainRequest, JobRequest, http::HttpRequest, testing::TestEngine};

use crate::{
    common::any_address,
    target::{Reply, Target, answer, ok},
};

const SECOND: Duration = Duration::from_secs(1);

/// Runs HTTP jobs at a limit of 1,000 tokens a minute.
struct Fixture {
    engine: TestEngine,
    target: Target,
}

impl Fixture {
    async fn new(reply: fn() -> Reply) -> Self {
        let target = Target::start(move |_| reply()).await;
        let engine = TestEngine::new(|builder| builder.outbound(any_address())).unwrap();
        let destination = format!("http://{}", target.address);
        let id = GateId::new(None, GateScope::Destination, &destination).unwrap();
        let rates: Vec<UnitRate> = UnitRate::read_all("1000 tokens/1m").unwrap();
        let rates = rates.into_iter().map(Into::into).collect();
        let limits = GatePatch {
            rates: Some(Some(rates)),
            ..GatePatch::default()
        };
        engine.client().set_gate(id, &limits, None).await.unwrap();
        Self { engine, target }
    }

    async fn enqueue(&self, source: &str, tokens: f64) -> JobId {
        let request = HttpRequest::new(&self.target.url()).unwrap();
        let request = request.with_usage("tokens", source).unwrap();
        let job = JobRequest::of(&request).cost([("tokens", tokens)]);
        self.engine.client().enqueue(job).await.unwrap()
    }

    async fn used(&self, job: JobId) -> Option<Cost> {
        self.engine.attempts(job).await.unwrap()[0].usage.clone()
    }
}

#[tokio::test]
async fn what_a_response_says_was_used_is_charged_in_place_of_the_cost() {
    let reply = || {
        answer(
            "200 OK",
            "x-used: 250.5\r\n",
            r#"{"usage": {"total": 300}}"#,
        )
    };
    let fixture = Fixture::new(reply).await;
    let tokens = |amount| Cost::new([("tokens", amount)]).ok();
    let first = fixture.enqueue("/usage/total", 900.0).await;
    fixture.engine.run_due().await.unwrap();
    assert_eq!(fixture.used(first).await, tokens(300.0));
    let second = fixture.enqueue("X-Used", 700.0).await;
    fixture.engine.run_due().await.unwrap();
    assert_eq!(fixture.used(second).await, tokens(250.5));
    // 449.5 are free.
    let third = fixture.enqueue("/no/such/place", 450.0).await;
    fixture.engine.run_due().await.unwrap();
    let explained = fixture
        .engine
        .client()
        .explain(third, &ExplainRequest::default());
    let explained = explained.await.unwrap().unwrap();
    let blocker = &explained.blockers[0];
    assert_eq!(blocker.kind, BlockerKind::Usage);
    let expected = format!(
        "Destination http://{} waits for 450 tokens; 449.5 of 1,000 tokens per 1m free; enough at \
         2026-01-01T00:01:00Z.",
        fixture.target.address
    );
    assert_eq!(blocker.sentence, expected);
    fixture.engine.advance(60 * SECOND).await.unwrap();
    let job = fixture.engine.job(third).await.unwrap();
    assert_eq!(job.progress.state, JobState::Succeeded);
    assert_eq!(fixture.used(third).await, None, "it is charged its cost");
}

#[tokio::test]
async fn what_is_no_amount_is_no_report() {
    let fixture = Fixture::new(|| ok(r#"{"text": "many", "minus": -5, "list": [1]}"#)).await;
    for source in ["/text", "/minus", "/list", "/nothing", "x-no-header"] {
        let job = fixture.enqueue(source, 1.0).await;
        fixture.engine.run_due().await.unwrap();
        let ended = fixture.engine.job(job).await.unwrap();
        assert_eq!(ended.progress.state, JobState::Succeeded, "{source}");
        assert_eq!(fixture.used(job).await, None, "{source}");
    }
}
