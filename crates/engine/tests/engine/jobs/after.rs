//! Jobs that run after others.

use std::sync::Arc;

use steadfast_core::{JobState, OnFailure};
use steadfast_engine::{Client, EngineConfig, JobEvent, JobKind as _};
use steadfast_store::{MemoryStore, SqliteOptions, SqliteStore, Store};

use crate::common::{GatedEngine, Wait, notice};

/// That the end of the one wakes the node is tested with each store.
async fn runs_in_order(store: Arc<dyn Store>) {
    let mut gated = GatedEngine::on_shared(store, EngineConfig::default());
    let client = &gated.client;
    let first = client.enqueue(Wait.job()).await.unwrap();
    let request = Wait.job().after([first]).on_failure(OnFailure::Fail);
    let second = client.enqueue(request).await.unwrap();
    let third = client.enqueue(Wait.job().after([second])).await.unwrap();
    let blocked = client.job(third).await.unwrap().unwrap();
    assert!(blocked.is_blocked());
    gated.gate.add_permits(100);
    let mut ended = Vec::new();
    for _ in 0..3 {
        let is_success = |notice: &steadfast_engine::Notice| notice.event == JobEvent::Succeeded;
        ended.push(notice(&mut gated.notices, is_success).await.job);
    }
    assert_eq!(ended, [first, second, third]);
    gated.engine.stop().await;
}

#[tokio::test]
async fn jobs_run_after_each_other_as_soon_as_they_may() {
    runs_in_order(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn jobs_of_a_file_run_after_each_other_as_soon_as_they_may() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jobs.db");
    let store = SqliteStore::open(path, SqliteOptions::default()).unwrap();
    runs_in_order(Arc::new(store)).await;
}

/// What a node that died has left behind is found by another.
#[tokio::test]
async fn another_node_releases_what_a_dead_one_has_left() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    // No node runs when the first job ends.
    let client = Client::new(store.clone());
    let first = client.enqueue(Wait.job()).await.unwrap();
    let request = Wait.job().after([first]).on_failure(OnFailure::Run);
    let second = client.enqueue(request).await.unwrap();
    client.cancel(first).await.unwrap();
    let blocked = client.job(second).await.unwrap().unwrap();
    assert!(blocked.is_blocked());
    let other = GatedEngine::on_shared(store, EngineConfig::default());
    other.gate.add_permits(100);
    let mut notices = other.notices;
    let is_success = |notice: &steadfast_engine::Notice| notice.event == JobEvent::Succeeded;
    notice(&mut notices, is_success).await;
    other.engine.stop().await;
    let states = other.client.job_states(vec![second]).await.unwrap();
    assert_eq!(states, [Some(JobState::Succeeded)]);
}
