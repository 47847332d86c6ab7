//! Pages over a store with many jobs, and how long they take over millions:
//! `STEADFAST_LARGE_JOBS=5000000 cargo test --release -p steadfast-server --all-features --test dashboard large -- --nocapture`.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use steadfast_core::{Failure, FailureClass, LogLines, Outcome, Payload, Preset, WorkerName};
use steadfast_engine::{JobRequest, Settlement};
use steadfast_store::{ClaimRequest, JobFilter, JobPageRequest, SqliteOptions, SqliteStore};
use tokio::time::Instant;

use crate::{
    node::{ShiftedClock, TestNode},
    pages::PAGES,
};

/// How often a page is asked for again when its time is measured.
const ROUNDS: u32 = 3;

/// No page shows anything that is older.
const CACHES_AGE_MAX: Duration = Duration::from_secs(16);

/// How many jobs to measure with; `None` in an ordinary run, which measures nothing.
fn measured_jobs() -> Option<usize> {
    let number = std::env::var("STEADFAST_LARGE_JOBS").ok()?;
    Some(number.parse().unwrap())
}

/// A third of the jobs have ended, one in a hundred of those as a dead letter.
async fn fill(node: &TestNode, jobs: usize) {
    for batch in 0..jobs / 1_000 {
        let requests = (0..1_000).map(|number| {
            let payload = json!({"batch": batch, "number": number, "text": "x".repeat(150)});
            let payload = Payload::encode(&payload).unwrap();
            let tenant = format!("tenant-{}", number % 5);
            let queue = format!("queue-{}", number % 4);
            let kind = ["http", "mail.send", "invoice.render"][number % 3];
            let request = JobRequest::new(kind, payload).tenant(tenant).queue(queue);
            request.retry(Preset::Once)
        });
        node.client.enqueue_all(requests).await.unwrap();
        if batch % 3 == 0 {
            settle(node, batch).await;
        }
    }
}

async fn settle(node: &TestNode, batch: usize) {
    let request = ClaimRequest::new(WorkerName::new("filler").unwrap(), 1_000);
    let claims = node.node.claim(request, Duration::ZERO).await;
    let claims = claims.unwrap().take();
    let settlements = claims.iter().enumerate().map(|(index, claim)| {
        let message = format!("row {batch} of {index} is broken");
        let outcome = match index % 100 {
            0 => Outcome::Failure {
                failure: Failure::new(FailureClass::ERROR, message),
                output: None,
            },
            _ => Outcome::Success { output: None },
        };
        Settlement {
            on_success: Vec::new(),
            job: claim.job().id,
            fence: claim.fence(),
            log: LogLines::default(),
            outcome,
        }
    });
    node.node.settle(settlements.collect(), None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_answers_over_a_large_store() {
    let dir = tempfile::tempdir().unwrap();
    let clock = ShiftedClock::default();
    let store = SqliteStore::open(dir.path().join("large.db"), SqliteOptions::default()).unwrap();
    let node = TestNode::on(Arc::new(store), clock).await;
    let measured = measured_jobs();
    fill(&node, measured.unwrap_or(3_000)).await;
    let dead = node
        .client
        .jobs(JobFilter::dead_letters(), JobPageRequest::first(1))
        .await
        .unwrap();
    let dead = dead.items[0].id;
    let mut pages: Vec<String> = PAGES.map(str::to_owned).into();
    pages.extend([
        "/jobs?queue=queue-1&tenant=tenant-1&label=succeeded".to_owned(),
        "/jobs?label=retrying".to_owned(),
        "/jobs?text=no+such+words".to_owned(),
        "/jobs?label=retrying".to_owned(),
        format!("/jobs/{dead}"),
    ]);
    for page in &pages {
        if measured.is_some() {
            tokio::time::sleep(CACHES_AGE_MAX).await; // sleep: so that nothing comes from a cache
        }
        let first = time_of(&node, page).await;
        if measured.is_some() {
            let mut again = Duration::MAX;
            for _ in 0..ROUNDS {
                again = again.min(time_of(&node, page).await);
            }
            println!("{first:>12.1?} first, {again:>12.1?} again  {page}");
        }
    }
    let letters = node.get("/dead-letters").await;
    assert!(letters.body.contains("is broken"), "{}", letters.body);
    node.stop().await;
}

async fn time_of(node: &TestNode, page: &str) -> Duration {
    let began = Instant::now();
    let found = node.get(page).await;
    assert_eq!(found.status, 200, "{page}");
    began.elapsed()
}
