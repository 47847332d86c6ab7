//! A store whose commits take long: creates are refused, and what was accepted goes on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{AlertRule, AlertStatus, Preset};
use steadfast_engine::{Client, ClientError, Engine, EngineConfig, JobKind as _, NodeState};
use steadfast_store::{LayeredStore, MemoryStore, Store, StoreError, StoreLayer};
use tokio::time::{Instant, sleep};

use super::alerts::only;
use crate::common::{Calls, fails, flaky};

/// Answers to what is written come late.
#[derive(Clone, Default)]
struct SlowLayer {
    memory: Arc<MemoryStore>,
    delay_ms: Arc<AtomicU64>,
}

#[async_trait]
impl StoreLayer for SlowLayer {
    fn inner(&self) -> &dyn Store {
        &*self.memory
    }

    async fn around<T: Send, E: From<StoreError> + Send>(
        &self,
        verb: &'static str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let answer = call.await;
        if ["enqueue", "create_batch", "commit", "save_document"].contains(&verb) {
            // sleep: the time of the test is paused
            sleep(Duration::from_millis(self.delay_ms.load(Ordering::SeqCst))).await;
        }
        answer
    }
}

const STEP: Duration = Duration::from_millis(500);
/// More than a slow store is given for one tenant.
const CALLERS: usize = 6;

/// Creates jobs until one is refused, or none is; returns how many were created and how long it took.
async fn create_until(client: &Client, is_refused: bool) -> (u64, Duration) {
    let (began, mut count) = (Instant::now(), 0);
    loop {
        let creates =
            [(); CALLERS].map(|()| client.enqueue(fails(1).job().retry(Preset::Aggressive)));
        let created = futures_util::future::join_all(creates).await;
        let mut refused = 0;
        for result in created {
            match result {
                Ok(_) => count += 1,
                Err(ClientError::StoreSlow(slow)) => {
                    assert_eq!(slow.limit, Duration::from_secs(2));
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        if (refused > 0) == is_refused {
            return (count, began.elapsed());
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        // sleep: the time of the test is paused
        sleep(STEP).await;
    }
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(
            began.elapsed() < Duration::from_secs(120),
            "waited for {what}"
        );
        // sleep: the time of the test is paused
        sleep(STEP).await;
    }
}

#[tokio::test(start_paused = true)]
async fn creates_are_refused_while_commits_are_slow_and_accepted_jobs_go_on() {
    let slow = SlowLayer::default();
    let config = EngineConfig::default().with_alerts(only(AlertRule::StoreSlow));
    let engine = Engine::builder(LayeredStore(slow.clone()))
        .state(Calls::default())
        .handler(flaky)
        .config(config)
        .start()
        .unwrap();
    let client = engine.client();
    let (mut created, _) = create_until(&client, false).await;
    assert_eq!(client.store_slow(), None);

    slow.delay_ms.store(3_000, Ordering::SeqCst);
    let (more, after) = create_until(&client, true).await;
    created += more;
    assert!(after >= Duration::from_secs(8), "{after:?}");
    assert!(client.refused_creates().store_slow > 0);
    let status_is = async |status: AlertStatus| {
        let alerts = client.alerts(None).await.unwrap();
        let found = alerts.iter().find(|it| it.rule == AlertRule::StoreSlow);
        found.is_some_and(|alert| alert.status == status)
    };
    until("the alert to fire", || status_is(AlertStatus::Firing)).await;
    let nodes = client.nodes().await.unwrap();
    let problems: Vec<&str> = nodes.iter().flat_map(NodeState::problems).collect();
    assert!(
        problems[0].starts_with("the store is slow: for "),
        "{problems:?}"
    );
    // Their settlements and retries are not refused.
    until("the accepted jobs to succeed", async || {
        client.stats(client.now()).await.unwrap().succeeded == created
    })
    .await;
    assert!(client.store_slow().is_some());

    slow.delay_ms.store(0, Ordering::SeqCst);
    create_until(&client, false).await;
    assert!(client.store_slow().unwrap().recovering_for.is_some());
    until("the alert to end", || status_is(AlertStatus::Ok)).await;
    assert_eq!(client.store_slow(), None);
    engine.stop().await;
}
