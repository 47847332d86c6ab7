//! Events of `tracing` in the logs of attempts.

use steadfast_core::LogLevel;
use steadfast_engine::{AttemptLogLayer, Context, Engine, JobError, JobEvent, JobKind};
use steadfast_store::MemoryStore;
use tracing::{Instrument as _, Span, debug, info, info_span, warn};
use tracing_subscriber::{EnvFilter, Layer as _, prelude::*};

use crate::common::{ends, quick};

#[derive(serde::Serialize, serde::Deserialize)]
struct Import;

impl JobKind for Import {
    const KIND: &'static str = "import";
}

async fn import(_: Import, ctx: Context) -> Result<(), JobError> {
    info!(attempt = ctx.attempt(), file = "orders.csv", "importing");
    debug!("left out");
    tokio::task::yield_now().await;
    let span = info_span!("rows");
    tokio::spawn(async { warn!("in a task that carries on a span") }.instrument(span)).await?;
    tokio::spawn(async { warn!("in the span of the attempt") }.instrument(Span::current())).await?;
    tokio::spawn(async { warn!("in a task of its own") }).await?;
    match ctx.attempt() {
        1 => Err(JobError::failure("disk", "full")),
        _ => Ok(()),
    }
}

/// The lines of both attempts of a job whose first attempt fails.
async fn lines() -> [Vec<(LogLevel, String)>; 2] {
    let builder = Engine::builder(MemoryStore::default());
    let engine = builder.handler(import).start().unwrap();
    let mut notices = engine.subscribe();
    info!("of no attempt");
    let request = Import.job().retry(quick());
    let id = engine.client().enqueue(request).await.unwrap();
    assert_eq!(ends(&mut notices, id).await, JobEvent::Succeeded);
    let lines = async |attempt| {
        let logs = engine.client().attempt_logs(id, attempt, 0).await.unwrap();
        let lines = logs[0].log.since(0).lines;
        lines.into_iter().map(|it| (it.level, it.text)).collect()
    };
    let lines = [lines(1).await, lines(2).await];
    engine.stop().await;
    lines
}

fn importing(attempt: u32) -> (LogLevel, String) {
    let text = format!("importing attempt={attempt} file=\"orders.csv\"");
    (LogLevel::Info, text)
}

fn warning(text: &str) -> (LogLevel, String) {
    (LogLevel::Warn, text.to_owned())
}

#[tokio::test]
async fn events_of_a_handler_are_in_the_log_of_its_attempt() {
    let subscriber = tracing_subscriber::registry().with(AttemptLogLayer::default());
    let _guard = tracing::subscriber::set_default(subscriber);
    for (attempt, lines) in (1..).zip(lines().await) {
        let carried = warning("in a task that carries on a span");
        let own = warning("in the span of the attempt");
        assert_eq!(lines, [importing(attempt), carried, own]);
    }
}

#[tokio::test]
async fn a_filter_that_disables_the_span_of_the_attempt_keeps_its_events() {
    let filter = EnvFilter::new(format!("{}=info", env!("CARGO_CRATE_NAME")));
    let layer = AttemptLogLayer::default().with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(layer);
    let _guard = tracing::subscriber::set_default(subscriber);
    for (attempt, lines) in (1..).zip(lines().await) {
        let carried = warning("in a task that carries on a span");
        assert_eq!(lines, [importing(attempt), carried]);
    }
}
