//! A worker with the kinds that the conformance program in `sdk/conformance` knows. It takes its
//! settings from variables and writes its events to standard output, as `sdk/README.md` says.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use steadfast_client::{
    Client, ClientError, Confirmation, Context, JobError, JobKind, LogLevel, WorkerError,
    api::{
        CreateJobRequest, CreateJobsRequest, DurationText, GateScope, HoldDestinationRequest,
        JobReference, SetGateRequest, TenantQuery,
    },
};

/// The input of each kind, as its handler takes it.
macro_rules! kinds {
    ($($kind:literal: $name:ident($input:ty),)+) => {$(
        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        struct $name($input);

        impl JobKind for $name {
            const KIND: &'static str = $kind;

            fn options() -> CreateJobRequest {
                CreateJobRequest { queue: env::var("QUEUE").ok(), ..CreateJobRequest::default() }
            }
        }
    )+};
}

kinds! {
    "noop": Noop(Value),
    "echo": Echo(Value),
    "sleep": Sleep(Millis),
    "block": Block(Millis),
    "fail": Fail(Fault),
    "snooze": Snooze(Millis),
    "typed": Typed(Named),
    "once": Once(FailFirst),
    "charge": Charge(Answer),
    "progress": Progress(Value),
    "spawn": Spawn(Value),
    "limit": Limit(Target),
    "enqueue": Enqueue(Options),
    "gather": Gather(Value),
    "flow": Flow(Value),
    "log": Log(Lines),
}

#[derive(Serialize, Deserialize)]
struct Millis {
    ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Lines {
    lines: u32,
    ms: u64,
}

#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    count: i64,
}

#[derive(Serialize, Deserialize)]
struct Target {
    key: String,
    origin: String,
}

#[derive(Serialize, Deserialize)]
struct Options {
    options: Value,
}

#[derive(Serialize, Deserialize)]
struct FailFirst {
    fail_first: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fault {
    class: String,
    message: String,
    retry_after_ms: Option<u64>,
    #[serde(default)]
    permanent: bool,
}

fn emit(event: &Value) {
    let mut out = io::stdout().lock();
    // Without a reader there is no one to tell.
    let _ = writeln!(out, "{event}").and_then(|()| out.flush());
}

/// Says when a handler starts and ends; one that is cut off is dropped before its end.
struct Reported {
    job: String,
    has_ended: AtomicBool,
}

impl Reported {
    fn start(ctx: &Context) -> Self {
        let job = ctx.id().to_string();
        let (kind, attempt) = (ctx.job().kind.as_str(), ctx.attempt());
        emit(&json!({"event": "start", "job": job, "kind": kind, "attempt": attempt}));
        Self {
            job,
            has_ended: AtomicBool::new(false),
        }
    }

    fn end(&self, outcome: &str) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            emit(&json!({"event": "end", "job": self.job, "outcome": outcome}));
        }
    }
}

impl Drop for Reported {
    fn drop(&mut self) {
        self.end("aborted");
    }
}

/// Runs a handler between its two events.
async fn report<T>(
    ctx: &Context,
    work: impl Future<Output = Result<T, JobError>>,
) -> Result<T, JobError> {
    let reported = Reported::start(ctx);
    let result = work.await;
    reported.end(if result.is_ok() { "success" } else { "error" });
    result
}

async fn noop(_: Noop, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async { Ok(()) }).await
}

async fn echo(Echo(payload): Echo, ctx: Context) -> Result<Value, JobError> {
    report(&ctx, async { Ok(payload) }).await
}

async fn sleep(Sleep(Millis { ms }): Sleep, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(())
    })
    .await
}

async fn block(Block(Millis { ms }): Block, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        let end = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < end {
            thread::yield_now();
        }
        Ok(())
    })
    .await
}

async fn fail(Fail(fault): Fail, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        if fault.permanent {
            return Err(JobError::permanent_failure(&fault.class, fault.message));
        }
        let error = JobError::failure(&fault.class, fault.message);
        Err(match fault.retry_after_ms {
            Some(ms) => error.with_retry_after(Duration::from_millis(ms)),
            None => error,
        })
    })
    .await
}

async fn snooze(Snooze(Millis { ms }): Snooze, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        Err(JobError::Snooze(Duration::from_millis(ms)))
    })
    .await
}

async fn typed(Typed(named): Typed, ctx: Context) -> Result<Named, JobError> {
    report(&ctx, async { Ok(named) }).await
}

async fn once(Once(FailFirst { fail_first }): Once, ctx: Context) -> Result<u32, JobError> {
    report(&ctx, async {
        let charge = async {
            emit(&json!({"event": "step", "job": ctx.id().to_string()}));
            Ok::<_, JobError>(42)
        };
        let result = ctx.once("charge", charge).await?;
        if fail_first && ctx.attempt() == 1 {
            return Err(JobError::failure("first", "the first attempt fails"));
        }
        Ok(result)
    })
    .await
}

#[derive(Serialize, Deserialize)]
struct Answer {
    answer: String,
}

async fn charge(_: Charge, ctx: Context) -> Result<(), JobError> {
    emit(&json!({"event": "step", "job": ctx.id().to_string()}));
    match ctx.attempt() {
        1 => Err(JobError::failure("timeout", "no answer from the bank")),
        _ => Ok(()),
    }
}

async fn was_charged(job: Charge, _: Context) -> Result<Confirmation, JobError> {
    match job.0.answer.as_str() {
        "done" => Ok(Confirmation::done_with(&json!({"found": true}))?),
        "not_done" => Ok(Confirmation::NotDone),
        "unknown" => Ok(Confirmation::Unknown),
        other => Err(JobError::failure("error", other)),
    }
}

async fn progress(_: Progress, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        ctx.progress(50);
        ctx.note("half");
        Ok(())
    })
    .await
}

async fn spawn(_: Spawn, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        ctx.enqueue_on_success(Noop(Value::Null).job()?)
    })
    .await
}

async fn limit(Limit(Target { key, origin }): Limit, ctx: Context) -> Result<Value, JobError> {
    report(&ctx, async {
        let (client, all) = (ctx.client(), TenantQuery::default());
        let three = SetGateRequest::default().max_running(3);
        client.set_gate(GateScope::Key, &key, &all, &three).await?;
        let hold = HoldDestinationRequest {
            reason: Some("conformance".to_owned()),
            ..HoldDestinationRequest::default()
        };
        client.hold_destination(&origin, &hold).await?;
        let gate = client.get_gate(GateScope::Key, &key, &all).await?.gate;
        let held = client.get_destination(&origin, &all).await?.held_by_hand;
        let reason = held.and_then(|held| held.reason);
        Ok(json!({"maxRunning": gate.limits.max_running, "reason": reason}))
    })
    .await
}

async fn enqueue(Enqueue(Options { options }): Enqueue, ctx: Context) -> Result<Value, JobError> {
    report(&ctx, async {
        let given: CreateJobRequest = serde_json::from_value(options)
            .map_err(|error| JobError::permanent(error.to_string()))?;
        let job = CreateJobRequest {
            kind: Some(Noop::KIND.to_owned()),
            ..given
        };
        let made = ctx.client().enqueue_request(job).await?;
        Ok(json!({"id": made.id}))
    })
    .await
}

async fn gather(_: Gather, ctx: Context) -> Result<Value, JobError> {
    report(&ctx, async {
        let found = ctx.prerequisites().await?;
        let results: Vec<_> = found.into_iter().map(|it| it.result).collect();
        Ok(json!(results))
    })
    .await
}

/// Creates two jobs in one call, of which the second waits for the first.
async fn flow(_: Flow, ctx: Context) -> Result<Value, JobError> {
    report(&ctx, async {
        let first = CreateJobRequest {
            reference: Some("first".to_owned()),
            ..Echo(json!({"n": 1})).job()?
        };
        let last = CreateJobRequest {
            after: Some(vec![JobReference::Name("first".to_owned())]),
            ..Gather(Value::Null).job()?
        };
        let jobs = vec![first, last];
        let made = ctx
            .client()
            .create_jobs(&CreateJobsRequest { jobs })
            .await?;
        Ok(json!({"id": made.jobs[1].id}))
    })
    .await
}

async fn log(Log(Lines { lines, ms }): Log, ctx: Context) -> Result<(), JobError> {
    report(&ctx, async {
        for number in 0..lines {
            ctx.log(LogLevel::Info, format!("line {number}"));
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        ctx.log(LogLevel::Warn, "the last line");
        Ok(())
    })
    .await
}

/// A duration as the conformance program writes it.
fn duration(name: &str) -> Result<Duration, Box<dyn Error>> {
    let text = env::var(name)?;
    let read: DurationText = serde_json::from_value(Value::String(text))?;
    Ok(read.get())
}

/// For measurements: enqueues jobs one by one, some at a time.
async fn enqueue_many(client: Client, count: usize, at_once: usize) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let left = Arc::new(AtomicUsize::new(count));
    let is_left = |left: &AtomicUsize| {
        let next = |left: usize| left.checked_sub(1);
        let order = Ordering::Relaxed;
        left.fetch_update(order, order, next).is_ok()
    };
    let tasks: Vec<_> = (0..at_once)
        .map(|_| {
            let (client, left) = (client.clone(), left.clone());
            tokio::spawn(async move {
                while is_left(&left) {
                    client.enqueue(&Noop(Value::Null)).await?;
                }
                Ok::<_, ClientError>(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    emit(&json!({"event": "enqueued", "seconds": begin.elapsed().as_secs_f64()}));
    Ok(())
}

async fn run() -> Result<(), Box<dyn Error>> {
    if let Ok(count) = env::var("ENQUEUE") {
        let at_once = env::var("CONCURRENCY")?.parse()?;
        return enqueue_many(Client::from_env()?, count.parse()?, at_once).await;
    }
    let worker = Client::from_env()?
        .worker()
        .handler(noop)
        .handler(echo)
        .handler(sleep)
        .handler(block)
        .handler(fail)
        .handler(snooze)
        .handler(typed)
        .handler(once)
        .handler(charge)
        .confirm(was_charged)
        .handler(progress)
        .handler(spawn)
        .handler(limit)
        .handler(enqueue)
        .handler(gather)
        .handler(flow)
        .handler(log)
        .queue(env::var("QUEUE")?)
        .concurrency(env::var("CONCURRENCY")?.parse()?)
        .grace(duration("GRACE")?)
        .lease(duration("LEASE")?);
    emit(&json!({"event": "ready"}));
    worker.run_until_signal().await?;
    emit(&json!({"event": "stopped"}));
    Ok(())
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(run());
    // A handler that blocks must not hold up the end of the process.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<WorkerError>() => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
