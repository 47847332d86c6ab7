//! Nodes that die by `kill -9` in the middle of their work, again and again.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a node prints what it starts for its parent"
)]

use std::{
    collections::{BTreeMap, HashMap},
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_core::{EndReason, Guarantee, JobId, JobState, PolicyPatch};
use steadfast_engine::{Context, Engine, EngineConfig, JobError, JobKind, JobRequest};
use steadfast_store::{PageRequest, SqliteOptions, SqliteStore};

const FILE: &str = "STEADFAST_KILL_TEST_FILE";
const TEST: &str = "jobs_outlive_their_nodes_and_no_attempt_starts_twice";
const JOBS: u32 = 200;
const KILLS: u32 = 6;
const MAX_RETRIES: u32 = 20;

#[derive(Serialize, Deserialize)]
struct Work {
    number: u32,
}

impl JobKind for Work {
    const KIND: &'static str = "work";

    fn retry() -> PolicyPatch {
        PolicyPatch::fixed(Duration::from_millis(10)).max_retries(MAX_RETRIES)
    }
}

fn request(number: u32) -> JobRequest {
    let request = Work { number }.job().lease(Duration::from_secs(1));
    match number % 2 {
        0 => request,
        _ => request.at_most_once(),
    }
}

/// Prints each start, takes a little while, and fails the first time if its number ends in 4.
async fn work(job: Work, ctx: Context) -> Result<(), JobError> {
    println!("start {} {}", ctx.id(), ctx.attempt());
    std::io::stdout().flush()?;
    // sleep: this is the work that is to be cut off
    tokio::time::sleep(Duration::from_millis(20)).await;
    if job.number % 10 == 4 && ctx.attempt() == 1 {
        return Err(JobError::failure("error", "the first time"));
    }
    Ok(())
}

fn node(file: &Path) -> Engine {
    let store = SqliteStore::open(file, SqliteOptions::default()).unwrap();
    let config = EngineConfig::default()
        .with_concurrency(5)
        .with_sweep_every(Duration::from_millis(50));
    let builder = Engine::builder(store).handler(work).config(config);
    builder.start().unwrap()
}

/// Runs a node, kills it after `starts` starts, and returns what it started.
fn started_until_killed(file: &Path, starts: u32) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([TEST, "--exact", "--nocapture"])
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut started = Vec::new();
    let is_start = |line: &String| line.starts_with("start ");
    while u32::try_from(started.len()).unwrap() < starts {
        started.extend(lines.next().unwrap().ok().filter(is_start));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it printed before it died counts as well.
    started.extend(lines.map_while(Result::ok).filter(is_start));
    started
}

#[tokio::test]
async fn jobs_outlive_their_nodes_and_no_attempt_starts_twice() {
    // Started again by itself, this test is the node that is killed.
    if let Some(file) = std::env::var_os(FILE) {
        let _engine = node(Path::new(&file));
        return std::future::pending().await;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("jobs.db");
    let ids = {
        let store = SqliteStore::open(&file, SqliteOptions::default()).unwrap();
        let client = steadfast_engine::Client::new(std::sync::Arc::new(store));
        let enqueued = client.enqueue_all((0..JOBS).map(request)).await.unwrap();
        enqueued.iter().map(|job| job.id()).collect::<Vec<JobId>>()
    };
    let mut started = Vec::new();
    for kill in 0..KILLS {
        let file = file.clone();
        let node = move || started_until_killed(&file, 10 + kill);
        started.extend(tokio::task::spawn_blocking(node).await.unwrap());
    }
    let mut starts: HashMap<&str, u32> = HashMap::new();
    for start in &started {
        *starts.entry(start).or_default() += 1;
    }
    let twice: Vec<_> = starts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "started twice: {twice:?}");

    let engine = node(&file);
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for id in ids {
        let job = engine.finished(id).await.unwrap();
        let records = engine
            .client()
            .attempts(id, PageRequest::first(99))
            .await
            .unwrap();
        let attempts = u32::try_from(records.items.len()).unwrap();
        assert_eq!(attempts, job.progress.attempt, "one record per attempt");
        match job.guarantee {
            Guarantee::AtLeastOnce => assert_eq!(job.progress.state, JobState::Succeeded),
            Guarantee::AtMostOnce => {
                assert_eq!(attempts, 1, "starts at most once");
                assert!(
                    started
                        .iter()
                        .filter(|line| line.contains(&id.to_string()))
                        .count()
                        <= 1
                );
            }
        }
        let reason = job.progress.reason.map(EndReason::as_str);
        *ends
            .entry(format!("{} {reason:?}", job.progress.state))
            .or_default() += 1;
    }
    engine.stop().await;
    println!("{} starts on killed nodes; ends: {ends:?}", started.len());
    // Each killed node had attempts under way, and of those that start once the outcome is unknown.
    assert!(
        ends.contains_key("failed Some(\"outcome_unknown\")"),
        "{ends:?}"
    );
}
