//! Destinations that hang, beside one that does not.

use steadfast_engine::{Client, Engine, EngineBuilder, JobRequest, http::HttpRequest};
use steadfast_store::{MemoryStore, SqliteOptions, SqliteStore};

use crate::{
    common::{DEADLINE, any_address},
    target::{Reply, Target, ok},
};

const HANGING: usize = 50;
const JOBS_EACH: usize = 40;

fn job(target: &Target) -> JobRequest {
    let request = HttpRequest::new(&target.url()).unwrap();
    JobRequest::of(&request).timeout(10 * DEADLINE)
}

async fn enqueue(client: &Client, target: &Target, count: usize) {
    let jobs = (0..count).map(|_| job(target));
    client.enqueue_all(jobs).await.unwrap();
}

/// No job of a destination that hangs ends, and yet all jobs of the healthy one do, though they were
/// created last and are more than it may have in flight.
async fn check_isolation(builder: EngineBuilder) {
    let mut hanging = Vec::new();
    for _ in 0..HANGING {
        hanging.push(Target::start(|_| Reply::Hang(String::new())).await);
    }
    let healthy = Target::start(|_| ok("done")).await;
    let client = builder.client().unwrap();
    for target in &hanging {
        enqueue(&client, target, JOBS_EACH).await;
    }
    enqueue(&client, &healthy, JOBS_EACH).await;
    let engine = builder.outbound(any_address()).start().unwrap();
    let all_done = async {
        for _ in 0..JOBS_EACH {
            healthy.arrival().await;
        }
        for target in &hanging {
            target.arrival().await;
        }
    };
    tokio::time::timeout(DEADLINE, all_done).await.unwrap();
    let node = engine.node();
    let in_flight = node.calls_in_flight();
    assert!(
        (HANGING..=400).contains(&in_flight),
        "{in_flight} in flight"
    );
    // What comes later is served too.
    enqueue(&client, &healthy, JOBS_EACH).await;
    let later = async {
        for _ in 0..JOBS_EACH {
            healthy.arrival().await;
        }
    };
    tokio::time::timeout(DEADLINE, later).await.unwrap();
    for target in &hanging {
        assert!(
            target.seen().len() < JOBS_EACH,
            "a hanging one took its window and no more"
        );
    }
    engine.stop_now().await;
}

#[tokio::test]
async fn fifty_destinations_that_hang_do_not_hold_up_a_healthy_one() {
    check_isolation(Engine::builder(MemoryStore::default())).await;
}

#[tokio::test]
async fn the_same_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jobs.db");
    let store = SqliteStore::open(file, SqliteOptions::default()).unwrap();
    check_isolation(Engine::builder(store)).await;
}
