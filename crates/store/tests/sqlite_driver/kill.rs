//! What was acknowledged survives a process that is killed.
//!
//! The test starts itself again as a child that only writes; the child says what was
//! acknowledged, and dies at some moment in the middle of its work.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use steadfast_core::JobId;
use steadfast_store::{
    JobDetail, JobFilter, JobStore as _, QueryStore as _, SqliteOptions, SqliteStore,
};

use crate::common::{TestDatabase, jobs, request, success};

const FILE: &str = "STEADFAST_TEST_KILL_FILE";
const BATCHES_ACKNOWLEDGED: usize = 40;

#[tokio::test]
async fn every_acknowledged_job_survives_a_kill() {
    if let Some(file) = std::env::var_os(FILE) {
        return write_until_killed(Path::new(&file)).await;
    }
    let database = TestDatabase::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::every_acknowledged_job_survives_a_kill",
            "--nocapture",
        ])
        .env(FILE, &database.file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let acknowledged: Vec<JobId> = lines
        .map_while(Result::ok)
        .filter_map(|line| line.trim().parse().ok())
        .take(BATCHES_ACKNOWLEDGED * 10)
        .collect();
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(acknowledged.len(), BATCHES_ACKNOWLEDGED * 10);
    let store = database.open();
    let found = store.get_jobs(acknowledged, JobDetail::Full).await.unwrap();
    assert!(
        found.iter().all(Option::is_some),
        "an acknowledged job is lost"
    );
    let counted = store
        .count_jobs(JobFilter::default(), u64::MAX)
        .await
        .unwrap()
        .count;
    let one_by_one = JobFilter {
        created_from: Some(steadfast_core::Timestamp::EPOCH),
        ..JobFilter::default()
    };
    let walked = store.count_jobs(one_by_one, u64::MAX).await.unwrap().count;
    assert_eq!(
        counted, walked,
        "counters and rows belong to the same commits"
    );
}

async fn write_until_killed(file: &Path) {
    let store = SqliteStore::open(file, SqliteOptions::default()).unwrap();
    loop {
        let batch = jobs(&store, 10);
        let answers = store.enqueue(batch, None).await.unwrap();
        let mut out = std::io::stdout().lock();
        for answer in answers {
            writeln!(out, "{}", answer.id()).unwrap();
        }
        out.flush().unwrap();
        drop(out);
        let claims = store.claim(request(5)).await.unwrap().claims;
        let ended = claims
            .into_iter()
            .map(|claim| success(&store, claim))
            .collect();
        store.commit(ended).await.unwrap();
    }
}
