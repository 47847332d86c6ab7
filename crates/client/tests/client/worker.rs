//! Typed handlers in a worker of its own. What happens when the server or the way to it fails is
//! proved by `sdk/conformance`, with the example `conformance_adapter`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use steadfast_client::{
    Client, Context, JobError, JobKind, StopReason, WorkerError,
    api::{CreateJobRequest, JobBody, WaitQuery},
};
use steadfast_core::{Jitter, JobLabel, LogLevel, Payload, PolicyPatch};
use tokio::sync::Notify;

use crate::server::Server;

#[derive(Serialize, Deserialize)]
struct Order {
    number: u32,
}

impl JobKind for Order {
    const KIND: &'static str = "order";

    fn options() -> CreateJobRequest {
        let at_once = PolicyPatch::fixed(Duration::ZERO).jitter(Jitter::None);
        CreateJobRequest {
            retry: Some(at_once.max_retries(1)),
            traceparent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned()),
            ..CreateJobRequest::default()
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Receipt {
    order: u32,
}

impl JobKind for Receipt {
    const KIND: &'static str = "receipt";
}

async fn end_of(client: &Client, id: impl std::fmt::Display) -> JobBody {
    let query = WaitQuery {
        wait: Some(Duration::from_secs(20).into()),
    };
    client.wait_for_job(id, &query).await.unwrap()
}

#[tokio::test]
async fn a_job_is_retried_keeps_its_step_and_makes_another_when_it_succeeds() {
    async fn fulfil(order: Order, ctx: Context<&'static str>) -> Result<String, JobError> {
        let attempt = ctx.attempt();
        let paid_in = ctx
            .once("pay", async { Ok::<_, JobError>(attempt) })
            .await?;
        if attempt == 1 {
            "no number".parse::<u32>()?;
        }
        ctx.progress(50);
        ctx.note("half");
        ctx.enqueue_on_success(
            Receipt {
                order: order.number,
            }
            .job()?,
        )?;
        Ok(format!("{}, paid in attempt {paid_in}", ctx.state()))
    }
    async fn receipt(receipt: Receipt, _: Context<&'static str>) -> Result<u32, JobError> {
        Ok(receipt.order)
    }
    let server = Server::start().await;
    let client = server.client();
    let builder = client.worker().state("thank you").concurrency(2);
    let worker = builder.handler(fulfil).handler(receipt).start().unwrap();

    let made = client.enqueue(&Order { number: 7 }).await.unwrap();
    let order = end_of(&client, made.id).await;
    assert_eq!(order.label, JobLabel::Succeeded);
    assert_eq!(
        (order.progress, order.note.as_deref()),
        (Some(50), Some("half"))
    );
    let attempts = client.list_attempts(made.id, &Default::default());
    let attempts = attempts.await.unwrap().attempts;
    let result = attempts[0].result.as_ref().map(Payload::as_str);
    assert_eq!(result, Some("\"thank you, paid in attempt 1\""));
    let failure = attempts[1].failure.as_ref().unwrap();
    assert_eq!(failure.class.as_str(), "error");
    assert!(failure.trace.as_ref().unwrap().contains("worker.rs:"));

    let query = serde_json::from_str(r#"{"kind": "receipt"}"#).unwrap();
    let receipts = client.list_jobs(&query).await.unwrap().jobs;
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0].traceparent, order.traceparent);
    let receipt = end_of(&client, receipts[0].id).await;
    assert_eq!(receipt.label, JobLabel::Succeeded);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn the_lines_of_a_handler_are_stored_with_its_attempt() {
    async fn log(_: Receipt, ctx: Context) -> Result<(), JobError> {
        ctx.log(LogLevel::Info, "begins");
        ctx.log(LogLevel::Warn, "ends");
        Ok(())
    }
    let server = Server::start().await;
    let client = server.client();
    let worker = client.worker().handler(log).start().unwrap();
    let made = client.enqueue(&Receipt { order: 1 }).await.unwrap();
    let job = end_of(&client, made.id).await;
    assert_eq!(job.label, JobLabel::Succeeded);
    let log = client.get_attempt_log(made.id, 1, &Default::default());
    let log = log.await.unwrap();
    let lines: Vec<_> = log.lines.iter().map(|it| (it.number, &*it.text)).collect();
    assert_eq!(lines, [(0, "begins"), (1, "ends")]);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_panic_a_payload_that_does_not_fit_and_a_result_without_json_have_their_class() {
    async fn panic(order: Order, _: Context) -> Result<(), JobError> {
        panic!("order {} is cursed", order.number);
    }
    async fn pair(_: Receipt, _: Context) -> Result<BTreeMap<(u8, u8), u8>, JobError> {
        Ok(BTreeMap::from([((1, 2), 3)]))
    }
    let server = Server::start().await;
    let client = server.client();
    let builder = client.worker().handler(panic).handler(pair);
    let worker = builder.start().unwrap();
    let odd = client.enqueue(&Receipt { order: 1 }).await.unwrap();
    let odd = end_of(&client, odd.id).await;
    assert_eq!(odd.attempt, 1, "it is not retried");
    assert_eq!(odd.failure.unwrap().class.as_str(), "result");
    let cursed = client.enqueue(&Order { number: 13 }).await.unwrap();
    let cursed = end_of(&client, cursed.id).await.failure.unwrap();
    assert_eq!(cursed.class.as_str(), "panic");
    assert_eq!(cursed.message, "order 13 is cursed");
    let misfit = CreateJobRequest {
        payload: Some(Payload::from_json(r#"{"number": "many"}"#).unwrap()),
        ..Order { number: 1 }.job().unwrap()
    };
    let misfit = client.create_job(&misfit).await.unwrap();
    let misfit = end_of(&client, misfit.id).await;
    assert_eq!(misfit.attempt, 1, "it is not retried");
    assert_eq!(misfit.failure.unwrap().class.as_str(), "payload");
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_stop_lets_work_end_within_the_grace_and_gives_back_the_rest_uncounted() {
    async fn work(order: Order, ctx: Context<Arc<Notify>>) -> Result<(), JobError> {
        ctx.state().notify_one();
        if order.number == 1 {
            // Hears of the stop, and ends.
            assert_eq!(ctx.stopped().await, StopReason::Stopping);
            return Ok(());
        }
        std::future::pending().await
    }
    let server = Server::start().await;
    let client = server.client();
    let started = Arc::new(Notify::new());
    let builder = client.worker().state(started.clone()).handler(work);
    let worker = builder.grace(Duration::from_millis(100)).start().unwrap();
    let mut ids = Vec::new();
    for number in [1, 2] {
        ids.push(client.enqueue(&Order { number }).await.unwrap().id);
        started.notified().await;
    }
    worker.stop().await.unwrap();
    let ended = client.get_job(ids[0]).await.unwrap();
    assert_eq!(ended.label, JobLabel::Succeeded);
    let given_back = client.get_job(ids[1]).await.unwrap();
    assert_eq!((given_back.label, given_back.attempt), (JobLabel::Ready, 0));
}

#[tokio::test]
async fn a_worker_that_cannot_run_says_why() {
    async fn nothing(_: Order, _: Context) -> Result<(), JobError> {
        Ok(())
    }
    let server = Server::start().await;
    let client = server.client();
    let said = |started: Result<_, WorkerError>| started.err().unwrap().to_string();
    let none = client.worker();
    assert!(said(none.start()).contains("no handlers"));
    let twice = client.worker().handler(nothing).handler(nothing);
    assert!(said(twice.start()).contains("two handlers for order"));
    let idle = client.worker().handler(nothing).concurrency(0);
    assert!(said(idle.start()).contains("concurrency: must be at least 1"));

    let refused = client
        .worker()
        .handler(nothing)
        .name("a name / with a slash");
    let mut refused = refused.start().unwrap();
    let Err(WorkerError::Refused(error)) = refused.ended().await else {
        panic!("the server takes any name");
    };
    assert_eq!(error.field(), Some("worker"));
}

#[cfg(feature = "log-layer")]
#[tokio::test]
async fn events_of_a_handler_and_its_own_lines_are_in_the_log_of_its_attempt() {
    use steadfast_client::{AttemptLogLayer, LogLevel};
    use tracing::Instrument as _;
    use tracing_subscriber::prelude::*;

    async fn fulfil(order: Order, ctx: Context) -> Result<(), JobError> {
        ctx.log(LogLevel::Warn, "by hand");
        tracing::info!(number = order.number, "fulfilling");
        let work = async { tracing::error!("in a task") };
        tokio::spawn(work.instrument(tracing::Span::current())).await?;
        Ok(())
    }
    // As programs do: for the whole process, so that no other thread decides whether events are seen.
    let subscriber = tracing_subscriber::registry().with(AttemptLogLayer::default());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let server = Server::start().await;
    let client = server.client();
    let worker = client.worker().handler(fulfil).start().unwrap();
    let made = client.enqueue(&Order { number: 7 }).await.unwrap();
    assert_eq!(end_of(&client, made.id).await.label, JobLabel::Succeeded);
    let log = client.get_attempt_log(made.id, 1, &Default::default());
    let lines = log.await.unwrap().lines;
    let lines: Vec<_> = lines
        .iter()
        .map(|it| (it.level, it.text.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (LogLevel::Warn, "by hand"),
            (LogLevel::Info, "fulfilling number=7"),
            (LogLevel::Error, "in a task"),
        ]
    );
    worker.stop().await.unwrap();
}
