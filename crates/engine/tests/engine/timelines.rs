//! What handlers and retries do, on a clock that the test moves.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    AttemptStatus, EndReason, JobId, JobState, Payload, PolicyPatch, Preset, Timestamp,
};
use steadfast_engine::{
    BatchRequest, Client, Context, JobError, JobKind, JobRequest, testing::TestEngine,
};
use steadfast_store::{JobFilter, JobPageRequest};

use crate::common::{Flaky, fails, steady, test_engine};

/// Seconds since the engine's first moment, and how each attempt ended.
async fn history(
    engine: &TestEngine,
    start: Timestamp,
    client: &Client,
    job: JobRequest,
) -> Vec<String> {
    let id = client.enqueue(job).await.unwrap();
    engine.run_to_end().await.unwrap();
    let attempts = engine.attempts(id).await.unwrap();
    let lines = attempts.iter().map(|attempt| {
        format!(
            "T+{} {} retryCount {}",
            attempt.started_at.since(start).as_secs(),
            attempt.status,
            attempt.retry_count()
        )
    });
    lines.collect()
}

#[tokio::test]
async fn a_job_that_always_fails_is_tried_at_0_1_3_7_and_becomes_a_dead_letter() {
    let engine = test_engine();
    let job = fails(99).job().retry(steady(3));
    let lines = history(&engine, engine.now(), &engine.client(), job).await;
    assert_eq!(
        lines,
        [
            "T+0 FAILED retryCount 0",
            "T+1 FAILED retryCount 1",
            "T+3 FAILED retryCount 2",
            "T+7 FAILED retryCount 3"
        ]
    );
    let dead = engine
        .client()
        .dead_letters(JobPageRequest::first(9))
        .await
        .unwrap();
    assert_eq!(dead.items[0].progress.reason, Some(EndReason::Exhausted));
}

#[tokio::test]
async fn a_job_that_fails_twice_succeeds_on_its_third_attempt() {
    let engine = test_engine();
    let job = fails(2).job().retry(steady(2));
    let lines = history(&engine, engine.now(), &engine.client(), job).await;
    assert_eq!(
        lines,
        [
            "T+0 FAILED retryCount 0",
            "T+1 FAILED retryCount 1",
            "T+3 SUCCESS retryCount 2"
        ]
    );
    let stats = engine.client().stats(engine.now()).await.unwrap();
    assert_eq!(stats.total_retries(), 2);
    assert_eq!(stats.successful_retries(), 1);
    assert_eq!(stats.retry_success_rate(), Some(0.5));
}

#[tokio::test]
async fn at_most_once_is_tried_once_and_never_again() {
    let engine = test_engine();
    let job = fails(99).job().retry(steady(5)).at_most_once();
    let lines = history(&engine, engine.now(), &engine.client(), job).await;
    assert_eq!(lines, ["T+0 FAILED retryCount 0"]);
}

/// Fails always, and says each time whether that was the last attempt.
async fn report_last(_: Flaky, ctx: Context) -> Result<(), JobError> {
    let is_last = ctx.is_last_attempt();
    let message = format!("retry {}, last: {is_last}", ctx.retry_count());
    Err(JobError::failure("error", message))
}

#[tokio::test]
async fn a_handler_knows_its_last_attempt_by_budget_and_guarantee() {
    let engine = TestEngine::new(|builder| builder.handler(report_last)).unwrap();
    let client = engine.client();
    let messages = async |id| {
        engine.run_to_end().await.unwrap();
        let attempts = engine.attempts(id).await.unwrap().into_iter();
        let messages = attempts.map(|attempt| attempt.failure.unwrap().message);
        messages.collect::<Vec<_>>()
    };
    let twice = fails(0).job().retry(steady(1));
    let id = client.enqueue(twice).await.unwrap();
    let budget = ["retry 0, last: false", "retry 1, last: true"];
    assert_eq!(messages(id).await, budget);
    // A requeued job has a fresh budget.
    client.retry(id).await.unwrap();
    assert_eq!(messages(id).await[2..], budget);
    // The guarantee overrules the policy.
    let once = fails(0).job().retry(steady(5)).at_most_once();
    let id = client.enqueue(once).await.unwrap();
    assert_eq!(messages(id).await, ["retry 0, last: true"]);
}

#[tokio::test]
async fn a_payload_that_does_not_decode_fails_for_good_with_class_payload() {
    let engine = test_engine();
    let payload = Payload::from_json(r#"{"failures":"many"}"#).unwrap();
    let job = JobRequest::new(Flaky::KIND, payload).retry(steady(3));
    let id = engine.client().enqueue(job).await.unwrap();
    engine.run_to_end().await.unwrap();
    let job = engine.job(id).await.unwrap();
    assert_eq!(job.progress.state, JobState::Failed);
    assert_eq!(job.progress.reason, Some(EndReason::NonRetryable));
    assert_eq!(job.progress.failure.unwrap().class.as_str(), "payload");
}

#[derive(Serialize, Deserialize)]
struct Panics;

impl JobKind for Panics {
    const KIND: &'static str = "panics";

    fn retry() -> PolicyPatch {
        steady(1)
    }
}

async fn panics(_: Panics, _: Context) -> Result<(), JobError> {
    panic!("the roof is on fire");
}

#[tokio::test]
async fn a_panic_is_a_failure_with_its_message_and_is_retried() {
    let engine = TestEngine::new(|builder| builder.handler(panics)).unwrap();
    let id = engine.client().enqueue(Panics).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 2);
    let job = engine.job(id).await.unwrap();
    let failure = job.progress.failure.unwrap();
    assert_eq!(failure.class.as_str(), "panic");
    assert_eq!(failure.message, "the roof is on fire");
}

#[derive(Serialize, Deserialize)]
struct Pay;

impl JobKind for Pay {
    const KIND: &'static str = "pay";
}

#[tokio::test]
async fn a_step_that_succeeded_once_is_not_run_again_by_a_later_attempt() {
    async fn pay(_: Pay, ctx: Context<Arc<AtomicU32>>) -> Result<(), JobError> {
        let charged = ctx.state().clone();
        let receipt: String = ctx
            .once("charge", async move {
                charged.fetch_add(1, Ordering::SeqCst);
                Ok::<_, JobError>("receipt 17".to_owned())
            })
            .await?;
        assert_eq!(receipt, "receipt 17");
        match ctx.attempt() {
            1 => Err(JobError::failure("error", "crashed after charging")),
            _ => Ok(()),
        }
    }
    let charges = Arc::new(AtomicU32::new(0));
    let state = charges.clone();
    let engine = TestEngine::new(|builder| builder.state(state).handler(pay)).unwrap();
    engine.client().enqueue(Pay).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 2);
    assert_eq!(charges.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_handler_can_snooze_cancel_and_create_other_jobs() {
    #[derive(Serialize, Deserialize)]
    struct Step(u32);
    impl JobKind for Step {
        const KIND: &'static str = "step";
    }
    async fn step(job: Step, ctx: Context) -> Result<(), JobError> {
        match job.0 {
            0 if ctx.job().progress.snoozes == 0 => Err(JobError::Snooze(Duration::from_secs(60))),
            0 => {
                ctx.client().enqueue(Step(1)).await?;
                Ok(())
            }
            _ => Err(JobError::Cancel("pointless".to_owned())),
        }
    }
    let engine = TestEngine::new(|builder| builder.handler(step)).unwrap();
    let start = engine.now();
    let id = engine.client().enqueue(Step(0)).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 3);
    assert_eq!(engine.now().since(start), Duration::from_secs(60));
    let statuses: Vec<AttemptStatus> = engine
        .attempts(id)
        .await
        .unwrap()
        .iter()
        .map(|a| a.status)
        .collect();
    assert_eq!(statuses, [AttemptStatus::Snoozed, AttemptStatus::Success]);
    assert_eq!(engine.client().stats(start).await.unwrap().cancelled, 1);
}

#[tokio::test]
async fn higher_priority_goes_first_and_a_retry_keeps_it() {
    let engine = test_engine();
    let client = engine.client();
    let low = client.enqueue(fails(0).job().priority(1)).await.unwrap();
    let high = client
        .enqueue(fails(1).job().priority(9).retry(steady(3)))
        .await
        .unwrap();
    let mut notices = engine.subscribe();
    engine.run_to_end().await.unwrap();
    let mut order = Vec::new();
    while order.len() < 3 {
        let notice = notices.next().await.unwrap();
        if matches!(notice.event, steadfast_engine::JobEvent::Started { .. }) {
            order.push(notice.job);
        }
    }
    assert_eq!(order, [high, low, high]);
}

#[tokio::test]
async fn dead_letters_can_be_requeued_all_at_once_and_edited() {
    let engine = test_engine();
    let client = engine.client();
    for _ in 0..3 {
        client
            .enqueue(fails(1).job().retry(Preset::Once))
            .await
            .unwrap();
    }
    engine.run_to_end().await.unwrap();
    assert_eq!(
        client
            .count(JobFilter::dead_letters(), 99)
            .await
            .unwrap()
            .count,
        3
    );
    let retry = steadfast_core::JobCommand::Retry { payload: None };
    let requeued = client
        .command_all(JobFilter::dead_letters(), retry)
        .await
        .unwrap();
    assert_eq!(requeued, 3);
    engine.run_to_end().await.unwrap();
    assert_eq!(
        client
            .count(JobFilter::dead_letters(), 99)
            .await
            .unwrap()
            .count,
        0
    );
}

#[tokio::test]
async fn a_request_that_breaks_a_limit_is_refused_by_name_and_nothing_is_stored() {
    let client = test_engine().client();
    for (request, field) in [
        (fails(0).job().queue("two words"), "queue"),
        (fails(0).job().priority(10), "priority"),
        (
            fails(0)
                .job()
                .retry(PolicyPatch::default().max_retries(101)),
            "retry.maxRetries",
        ),
        (fails(0).job().lease(Duration::ZERO), "lease"),
        (fails(0).job().idempotency_key(""), "idempotencyKey"),
    ] {
        let error = client.enqueue(request).await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
    let error = client.enqueue_all(vec![fails(0); 1_001]).await.unwrap_err();
    assert!(error.to_string().contains("at most 1000 jobs"), "{error}");
    assert_eq!(
        client.count(JobFilter::default(), 99).await.unwrap().count,
        0
    );
}

#[derive(Serialize, Deserialize)]
struct Chain {
    left: u32,
    fail_first: bool,
}

impl JobKind for Chain {
    const KIND: &'static str = "chain";
}

#[tokio::test]
async fn a_job_created_on_success_exists_if_and_only_if_the_attempt_succeeded() {
    async fn link(job: Chain, ctx: Context) -> Result<(), JobError> {
        if job.left > 0 {
            ctx.enqueue_on_success(Chain {
                left: job.left - 1,
                fail_first: false,
            })?;
        }
        if job.fail_first && ctx.attempt() == 1 {
            return Err(JobError::failure("error", "after creating the next one"));
        }
        Ok(())
    }
    let engine = TestEngine::new(|builder| builder.handler(link)).unwrap();
    let first = Chain {
        left: 2,
        fail_first: true,
    };
    engine.client().enqueue(first).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 4);
    let stats = engine.client().stats(engine.now()).await.unwrap();
    assert_eq!(stats.succeeded, 3);
}

#[derive(Serialize, Deserialize)]
struct Split {
    after: Option<JobId>,
    pages: u32,
}

impl JobKind for Split {
    const KIND: &'static str = "split";
}

#[tokio::test]
async fn a_job_created_on_success_keeps_its_batch_and_what_it_runs_after() {
    async fn split(job: Split, ctx: Context) -> Result<(), JobError> {
        if let Some(after) = job.after {
            ctx.enqueue_on_success(Pay.job().after([after]))?;
        }
        let mut last = None;
        for _ in 0..job.pages {
            let mut page = Pay.job();
            page = match ctx.job().batch() {
                Some(batch) => page.batch(batch),
                None => page,
            };
            // One after the other.
            page = match last {
                Some(last) => page.after([last]),
                None => page,
            };
            last = Some(ctx.enqueue_on_success(page)?);
        }
        Ok(())
    }
    async fn pay(_: Pay, _: Context) -> Result<(), JobError> {
        Ok(())
    }
    let engine = TestEngine::new(|builder| builder.handler(split).handler(pay)).unwrap();
    let client = engine.client();
    let first = Split {
        after: None,
        pages: 3,
    };
    let request = BatchRequest::new().jobs([first.job()]).on_end(Pay.job());
    let batch = client.create_batch(request).await.unwrap().batch.id;
    assert_eq!(engine.run_to_end().await.unwrap(), 5);
    let counts = client.batch(batch).await.unwrap().unwrap().counts;
    assert_eq!((counts.total, counts.succeeded), (4, 4));

    // Only the record of the job can say that it names an unknown job.
    let unknown = JobId::new(engine.now(), 7);
    let bad = Split {
        after: Some(unknown),
        pages: 1,
    };
    let id = client.enqueue(bad).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 1);
    let job = client.job(id).await.unwrap().unwrap();
    assert_eq!(job.progress.state, JobState::Failed);
    let failure = job.progress.failure.unwrap();
    assert!(failure.message.contains(&unknown.to_string()), "{failure}");
    assert_eq!(
        client.count(JobFilter::default(), 99).await.unwrap().count,
        6
    );
}

#[tokio::test]
async fn a_job_that_is_given_back_unasked_waits_like_a_snoozed_one() {
    async fn give_back(_: Pay, ctx: Context) -> Result<(), JobError> {
        match ctx.job().progress.snoozes {
            0 => Err(JobError::Release),
            _ => Ok(()),
        }
    }
    let engine = TestEngine::new(|builder| builder.handler(give_back)).unwrap();
    let start = engine.now();
    engine.client().enqueue(Pay).await.unwrap();
    assert_eq!(engine.run_to_end().await.unwrap(), 2);
    assert_eq!(engine.now().since(start), Duration::from_secs(1));
}

#[tokio::test]
async fn policies_are_laid_job_over_kind_over_queue_over_tenant_over_engine() {
    let engine = TestEngine::new(|builder| {
        builder
            .retry(PolicyPatch::default().max_retries(1))
            .tenant_retry("acme", PolicyPatch::default().max_retries(2))
            .queue_retry("bulk", PolicyPatch::default().max_retries(3))
            .handler(panics)
    })
    .unwrap();
    let client = engine.client();
    let retries = |request: JobRequest| client.prepare(request).unwrap().policy.max_retries();
    assert_eq!(retries(Pay.job()), 1);
    assert_eq!(retries(Pay.job().tenant("acme")), 2);
    assert_eq!(retries(Pay.job().tenant("acme").queue("bulk")), 3);
    assert_eq!(retries(Panics.job().queue("bulk")), 1);
    let own = PolicyPatch::default().max_retries(5);
    assert_eq!(retries(Panics.job().queue("bulk").retry(own)), 5);
}
