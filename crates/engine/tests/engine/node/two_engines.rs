//! Two engines on one store.

use std::sync::{Arc, atomic::Ordering};

use steadfast_engine::{Context, Engine, JobError, JobEvent, JobKind as _, JobRequest, Notice};
use steadfast_store::{MemoryStore, SqliteOptions, SqliteStore, Store};

use crate::common::{Calls, Flaky, fails, notice, quick};

#[tokio::test]
async fn two_engines_on_one_store_never_run_an_attempt_twice() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    run_on([store.clone(), store]).await;
}

#[tokio::test]
async fn two_engines_on_one_sqlite_file_never_run_an_attempt_twice() {
    let dir = tempfile::tempdir().unwrap();
    // Opened twice, as two processes would.
    let open = || -> Arc<dyn Store> {
        let path = dir.path().join("jobs.db");
        Arc::new(SqliteStore::open(path, SqliteOptions::default()).unwrap())
    };
    run_on([open(), open()]).await;
}

async fn count_call(job: Flaky, ctx: Context<Arc<Calls>>) -> Result<(), JobError> {
    ctx.state().0.fetch_add(1, Ordering::SeqCst);
    if ctx.attempt() <= job.failures {
        return Err(JobError::failure("error", "once"));
    }
    Ok(())
}

/// 2,000 jobs, a fifth failing once, on two engines: every attempt has one record.
async fn run_on([store, other]: [Arc<dyn Store>; 2]) {
    let calls = Arc::new(Calls::default());
    let start = |store: &Arc<dyn Store>| {
        let builder = Engine::builder(store.clone()).state(calls.clone());
        builder.handler(count_call).start().unwrap()
    };
    let (one, two) = (start(&store), start(&other));
    let mut notices = [one.subscribe(), two.subscribe()];
    let requests = (0..2_000).map(|n| fails(u32::from(n % 5 == 0)).job().retry(quick()));
    let requests: Vec<JobRequest> = requests.collect();
    for chunk in requests.chunks(1_000) {
        one.client().enqueue_all(chunk.to_vec()).await.unwrap();
    }
    let mut succeeded = 0;
    while succeeded < 2_000 {
        let [a, b] = &mut notices;
        let is_success = |notice: &Notice| notice.event == JobEvent::Succeeded;
        tokio::select! {
            _ = notice(a, is_success) => succeeded += 1,
            _ = notice(b, is_success) => succeeded += 1,
        }
    }
    one.stop().await;
    two.stop().await;
    assert_eq!(calls.count(), 2_400);
    let stats = store.lane_stats(None, store.now()).await.unwrap();
    assert_eq!(stats[0].total.attempts, 2_400);
    assert_eq!(stats[0].succeeded, 2_000);
}
