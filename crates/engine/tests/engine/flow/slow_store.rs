//! A store whose commits take long: nothing more is created, and what runs goes on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use steadfast_core::{AlertRule, AlertStatus};
use steadfast_engine::{Client, ClientError, Engine, EngineConfig};
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

/// How long it takes until a create is refused, or is not; several callers come at once.
async fn until(client: &Client, is_refused: bool) -> Duration {
    let began = Instant::now();
    loop {
        let creates = [(); 3].map(|()| client.enqueue(fails(0)));
        let created = futures_util::future::join_all(creates).await;
        let refused = created.into_iter().filter(|created| match created {
            Err(ClientError::StoreSlow(slow)) => slow.limit == Duration::from_secs(2),
            Err(error) => panic!("{error}"),
            Ok(_) => false,
        });
        if (refused.count() > 0) == is_refused {
            return began.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(60));
        // sleep: the time of the test is paused
        sleep(STEP).await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_created_while_commits_are_slow_and_what_runs_goes_on() {
    let slow = SlowLayer::default();
    let config = EngineConfig::default().with_alerts(only(AlertRule::StoreSlow));
    let engine = Engine::builder(LayeredStore(slow.clone()))
        .state(Calls::default())
        .handler(flaky)
        .config(config)
        .start()
        .unwrap();
    let client = engine.client();
    client.enqueue(fails(0)).await.unwrap();
    assert_eq!(client.store_slow_for(), None);

    slow.delay_ms.store(3_000, Ordering::SeqCst);
    let after = until(client, true).await;
    assert!(after >= Duration::from_secs(8), "{after:?}");
    assert!(client.refused_creates().store_slow > 0);
    let firing = async |status: AlertStatus| {
        loop {
            let alerts = client.alerts(None).await.unwrap();
            let found = alerts.iter().find(|it| it.rule == AlertRule::StoreSlow);
            if found.is_some_and(|alert| alert.status == status) {
                return;
            }
            // sleep: the time of the test is paused
            sleep(STEP).await;
        }
    };
    firing(AlertStatus::Firing).await;
    // What was created before has ended.
    let stats = client.stats(client.now()).await.unwrap();
    assert!(stats.succeeded > 0);

    slow.delay_ms.store(0, Ordering::SeqCst);
    until(client, false).await;
    assert_eq!(client.store_slow_for(), None);
    firing(AlertStatus::Ok).await;
    engine.stop().await;
}
