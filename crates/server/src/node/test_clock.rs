//! A clock that stops until a test moves it: for tests of workers, which then need not wait
//! for retries.

use std::{sync::Arc, time::Duration};

use steadfast_core::Timestamp;
use steadfast_engine::NodeHandle;
use steadfast_store::{Clock as _, ManualClock, MemoryStore, Store, StoreError, SystemClock};
use tokio::time::Instant;

use crate::limits;

/// The clock of a store in memory, and what moves it.
#[derive(Clone)]
pub struct TestClock {
    clock: ManualClock,
    store: Arc<MemoryStore>,
}

/// The work that is currently due.
pub struct DueWork {
    /// Jobs that run.
    pub running: u64,
    /// Jobs and schedules that are due. Jobs of paused queues are not.
    pub due: u64,
}

impl TestClock {
    /// An empty store whose clock is stopped at the time of this machine.
    pub fn new() -> Self {
        let clock = ManualClock::new(SystemClock.now());
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self { clock, store }
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Whether a store takes its time from this clock. Two clocks that stand still show the same time
    /// only if they are one: each begins with the time at which it was made.
    pub(crate) fn is_of(&self, store: &dyn Store) -> bool {
        store.now() == self.clock.now()
    }

    /// Moves the clock. What has become due is not done yet when this answers, but leases that
    /// have run out are settled.
    pub(crate) async fn advance(
        &self,
        node: &NodeHandle,
        by: Duration,
    ) -> Result<Timestamp, StoreError> {
        let now = self.clock.advance(by);
        node.catch_up().await?;
        self.store.wake_all();
        Ok(now)
    }

    /// Waits until nothing is due and nothing runs, or for this long.
    pub(crate) async fn run_until_idle(
        &self,
        node: &NodeHandle,
        wait: Duration,
    ) -> Result<DueWork, StoreError> {
        let deadline = Instant::now() + wait;
        loop {
            node.catch_up().await?;
            let work = self.due_work().await?;
            let is_idle = work.running + work.due == 0;
            if is_idle || Instant::now() >= deadline || node.is_stopping() {
                return Ok(work);
            }
            tokio::time::sleep(limits::TEST_IDLE_CHECK_EVERY).await;
        }
    }

    async fn due_work(&self) -> Result<DueWork, StoreError> {
        let store = self.store();
        let lanes = store.lane_stats(None, store.now()).await?;
        let schedules = store.due_schedules(limits::TEST_SCHEDULES_COUNTED).await?;
        let ready = lanes.iter().filter(|lane| !lane.paused).map(|it| it.ready);
        Ok(DueWork {
            running: lanes.iter().map(|lane| lane.running).sum(),
            due: ready.sum::<u64>() + schedules.due.len() as u64,
        })
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for TestClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TestClock").field(&self.clock.now()).finish()
    }
}
