//! How late jobs for a healthy destination start next to hanging destinations.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    http::{StatusCode, Uri},
    routing::post,
};
use steadfast::{
    Engine, EngineConfig, JobRequest, Payload,
    http::{AddressPolicy, HttpRequest, Outbound, OutboundRules},
    store::{Clock as _, SystemClock},
};
use steadfast_core::Timestamp;
use tokio::net::TcpListener;

use super::super::{Args, figure::Report, lifecycle, stores::Stores};

const HANGING: usize = 50; // not a limit: the shape of the measurement
/// Between two jobs for the healthy destination.
const EVERY: Duration = Duration::from_millis(20); // not a limit: the shape of the measurement
/// What is not there by then is lost.
const CALLS_TIMEOUT: Duration = Duration::from_secs(60); // not a limit: the shape of the measurement

type Lateness = Arc<Mutex<Vec<f64>>>;

pub async fn lateness(args: &Args, stores: &Stores<'_>, report: &mut Report) -> anyhow::Result<()> {
    let mut requests = Vec::new();
    for _ in 0..HANGING {
        // It accepts, and never answers.
        let router = Router::new().route("/", post(std::future::pending::<StatusCode>));
        requests.push(target(router).await?);
    }
    let late = Lateness::default();
    let noted = late.clone();
    // The path says when the job was created.
    let healthy = Router::new().fallback(move |uri: Uri| {
        let created = uri.path().trim_start_matches('/').parse().unwrap_or(0);
        let late = SystemClock.now().since(Timestamp::from_micros(created));
        let mut all = noted.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(late.as_secs_f64() * 1e3);
        std::future::ready(StatusCode::OK)
    });
    let healthy = target(healthy).await?;

    let outbound = Outbound::builder(OutboundRules::new(AddressPolicy::Any)).build()?;
    let engine = Engine::builder(stores.open().await?)
        .config(EngineConfig::default())
        .outbound(outbound)
        .start()?;
    let client = engine.client();
    for _ in 0..args.flow.hanging {
        let batch: Result<Vec<JobRequest>, _> = requests.iter().map(|url| call(url)).collect();
        client.enqueue_all(batch?).await?;
    }
    let mut ticks = tokio::time::interval(EVERY);
    for _ in 0..args.starts {
        ticks.tick().await;
        let sent = SystemClock.now().as_micros();
        let request = call(&format!("{healthy}{sent}"))?;
        client.enqueue(request).await?;
    }
    let all = || late.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let arrive = async {
        while all().len() < args.starts {
            ticks.tick().await;
        }
    };
    let arrived = tokio::time::timeout(CALLS_TIMEOUT, arrive).await;
    engine.stop_now().await;
    let late = all();
    anyhow::ensure!(
        arrived.is_ok(),
        "{} of {} calls of a healthy destination came within {CALLS_TIMEOUT:?}",
        late.len(),
        args.starts
    );
    for (name, percent, aim) in [
        ("with 50 hanging, median", 50, ""),
        ("with 50 hanging, p99", 99, "≤ 250 ms from create to call"),
    ] {
        if let Some(late) = lifecycle::at(&late, percent) {
            report.alone(name, late, "ms", aim);
        }
    }
    Ok(())
}

/// A server on a port of its own. Answers with its address.
async fn target(router: Router) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(url)
}

fn call(url: &str) -> anyhow::Result<JobRequest> {
    let payload = Payload::encode(&HttpRequest::new(url)?)?;
    Ok(JobRequest::new("http", payload))
}
