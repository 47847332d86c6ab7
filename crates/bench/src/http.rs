//! The server under load: creating jobs over HTTP compared with a server that only echoes, and HTTP jobs
//! against a target that fails some of its requests.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use axum::{Json, Router, http::StatusCode, routing::post};
use steadfast::{
    JobEvent, JobRequest, Payload, PolicyPatch, SqliteOptions, SqliteStore,
    http::HttpRequest,
    job::{JobFilter, Tally},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::{
    Args, BenchServer,
    figure::Report,
    lifecycle,
    meter::{Cost, Meter},
};

const CONNECTIONS: usize = 64; // not a limit: the shape of the measurement
/// Both take turns, so that a machine which is slow for a while is slow for both.
const TURNS: usize = 10; // not a limit: the shape of the measurement

/// Durable creates over HTTP, one job per request, compared with a server that echoes JSON.
pub async fn create(
    args: &Args,
    serve: impl AsyncFn(PathBuf) -> anyhow::Result<BenchServer>,
    dir: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let body = serde_json::to_string(&serde_json::json!({
        "kind": "bench",
        "payload": lifecycle::job(),
    }))?;
    let echo = Router::new().route(
        "/api/v1/jobs",
        post(|Json(body): Json<serde_json::Value>| async { (StatusCode::CREATED, Json(body)) }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let echoing = tokio::spawn(async move { axum::serve(listener, echo).await });

    let server = serve(dir.join("create.db")).await?;
    let each = args.requests.div_ceil(TURNS);
    let (mut beside, mut ours) = (Cost::default(), Cost::default());
    for _ in 0..TURNS {
        beside += load(address, &body, each).await?;
        ours += load(server.address, &body, each).await?;
    }
    echoing.abort();
    let created = each * TURNS;
    let client = server.engine.client();
    let stored = client.count(JobFilter::default(), u64::MAX).await?.count;
    if stored != created as u64 {
        bail!("{stored} jobs are stored, of {created}");
    }
    server.engine.stop_now().await;
    report.compare(
        "create over HTTP, 64 connections",
        (ours.per_second(created), beside.per_second(created)),
        "requests/s",
        "≥ 0.40 of an echo",
    );
    let cpu = ours
        .cpu_micros_each(created)
        .zip(beside.cpu_micros_each(created));
    if let Some(cpu) = cpu {
        report.compare("create over HTTP, CPU", cpu, "µs/request", "");
    }
    Ok(())
}

/// Sends the same request over and over, on many connections at once, from threads that the
/// server has no part in.
async fn load(address: SocketAddr, body: &str, requests: usize) -> anyhow::Result<Cost> {
    let request = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let request: Arc<[u8]> = request.into_bytes().into();
    let left = Arc::new(AtomicUsize::new(requests));
    let threads = std::thread::available_parallelism()?.get().min(CONNECTIONS);
    let meter = Meter::start();
    let threads: Vec<_> = (0..threads)
        .map(|index| {
            let (request, left) = (request.clone(), left.clone());
            let connections = (CONNECTIONS + index) / threads;
            tokio::task::spawn_blocking(move || clients(address, connections, &request, &left))
        })
        .collect();
    for thread in threads {
        thread.await??;
    }
    Ok(meter.stop())
}

/// One thread of clients.
fn clients(
    address: SocketAddr,
    connections: usize,
    request: &Arc<[u8]>,
    left: &Arc<AtomicUsize>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let mut clients = tokio::task::JoinSet::new();
        for _ in 0..connections {
            clients.spawn(client(address, request.clone(), left.clone()));
        }
        while let Some(ended) = clients.join_next().await {
            ended??;
        }
        Ok(())
    })
}

/// Sends one request after the other, until nothing is left to send.
async fn client(
    address: SocketAddr,
    request: Arc<[u8]>,
    left: Arc<AtomicUsize>,
) -> anyhow::Result<()> {
    let mut connection = TcpStream::connect(address).await?;
    connection.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(4_096);
    let take = |left: usize| left.checked_sub(1);
    while left
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
        .is_ok()
    {
        connection.write_all(&request).await?;
        read_created(&mut connection, &mut buffer).await?;
    }
    Ok(())
}

/// Reads one response, which must be a 201.
async fn read_created(connection: &mut TcpStream, buffer: &mut Vec<u8>) -> anyhow::Result<()> {
    buffer.clear();
    loop {
        if connection.read_buf(buffer).await? == 0 {
            bail!("the server closed the connection");
        }
        let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = std::str::from_utf8(&buffer[..end])?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        let length = length.context("a response without a length")?;
        if buffer.len() >= end + 4 + length {
            if !head.starts_with("HTTP/1.1 201") {
                bail!("{}", String::from_utf8_lossy(buffer));
            }
            return Ok(());
        }
    }
}

/// Every third request or so fails; each job must end as its policy says.
pub async fn calls(
    args: &Args,
    serve: impl AsyncFn(PathBuf) -> anyhow::Result<BenchServer>,
    dir: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let received = Arc::new(AtomicUsize::new(0));
    let counter = received.clone();
    let target = Router::new().route(
        "/",
        post(move || {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            std::future::ready(if number % 10 < 3 {
                StatusCode::SERVICE_UNAVAILABLE
            } else {
                StatusCode::OK
            })
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, target).await });

    let BenchServer { engine, .. } = serve(dir.join("calls.db")).await?;
    let client = engine.client();
    let mut notices = engine.subscribe();
    let payload = Payload::encode(&HttpRequest::new(&url)?)?;
    let retry = PolicyPatch::fixed(Duration::from_millis(50));
    let request = JobRequest::new("http", payload).retry(retry.max_retries(3));
    let meter = Meter::start();
    for start in (0..args.calls).step_by(args.batch) {
        let size = args.batch.min(args.calls - start);
        client
            .enqueue_all(std::iter::repeat_n(request.clone(), size))
            .await?;
    }
    let (mut succeeded, mut failed) = (0, 0);
    while succeeded + failed < args.calls {
        match notices.next().await.context("the engine stopped")?.event {
            JobEvent::Succeeded => succeeded += 1,
            JobEvent::Failed { .. } => failed += 1,
            _ => {}
        }
    }
    let cost = meter.stop();
    let stats = client.stats(client.now()).await?;
    let Tally {
        attempts, failures, ..
    } = stats.total;
    let requests = received.load(Ordering::Relaxed) as u64;
    // Each failed attempt was followed by a retry, or was the last of its job.
    let is_right = attempts == requests
        && stats.dead_letters == failed as u64
        && failures == stats.total.retries + failed as u64;
    if !is_right {
        bail!("{requests} requests, but {stats:?}");
    }
    engine.stop_now().await;
    report.alone(
        "HTTP jobs, 30 % of calls failing",
        cost.per_second(args.calls),
        "jobs/s",
        "all end as the policy says",
    );
    Ok(())
}

/// From opening a large file to a server that answers.
pub async fn restart(
    args: &Args,
    serve: impl AsyncFn(PathBuf) -> anyhow::Result<BenchServer>,
    dir: &Path,
    report: &mut Report,
) -> anyhow::Result<()> {
    let file = dir.join("restart.db");
    let store = SqliteStore::open(&file, SqliteOptions::default())?;
    let client = steadfast::Client::new(Arc::new(store.clone()));
    lifecycle::fill(&client, args.backlog, args.batch).await?;
    store.close();
    drop(client);
    let start = Instant::now();
    let BenchServer { engine, address } = serve(file).await?;
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    let ready = start.elapsed();
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("not ready: {answer}");
    }
    engine.stop_now().await;
    report.alone(
        "restart with the backlog",
        ready.as_secs_f64() * 1e3,
        "ms to ready",
        "< 2,000 ms",
    );
    Ok(())
}
