//! Tests of handlers without waiting: an engine in memory, on a clock that you move.
//!
//! Jobs run one after the other in the order in which they are due, with the same executor,
//! the same decisions and the same store verbs as in production. Only what a handler itself
//! waits for takes real time, its timeout included; by the test's clock it takes none.

mod roles;

#[doc(hidden)]
pub use crate::settle::PendingSettlement;
#[doc(hidden)]
pub use roles::Roles;

use std::{sync::Arc, time::Duration};

use steadfast_core::{Attempt, Invalid, Job, JobId, Timestamp};
use steadfast_store::{
    AttemptOwner, ClaimRequest, Clock as _, ManualClock, MemoryStore, PageRequest, Store,
    StoreError,
};

use crate::{Client, EngineBuilder, Notices, parts::Parts};

/// An engine that only moves when it is told to.
pub struct TestEngine {
    parts: Parts,
    clock: ManualClock,
}

/// More rounds than any test needs: a job that makes itself due again for ever is a mistake.
const ROUNDS_MAX: usize = 100_000;

impl TestEngine {
    /// An engine in memory whose clock starts at 2026-01-01T00:00:00Z and whose jitter is
    /// the same in every run. What sets up the real engine sets up this one.
    ///
    /// ```
    /// use steadfast_engine::{EngineBuilder, testing::TestEngine};
    ///
    /// fn set_up(builder: EngineBuilder) -> EngineBuilder<String> {
    ///     builder.state("shared".to_owned())
    /// }
    ///
    /// let engine = TestEngine::new(set_up).unwrap();
    /// assert_eq!(engine.now().to_string(), "2026-01-01T00:00:00Z");
    /// ```
    pub fn new<S: Send + Sync + 'static>(
        set_up: impl FnOnce(EngineBuilder) -> EngineBuilder<S>,
    ) -> Result<Self, Invalid> {
        let clock = ManualClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        Self::on(store, clock, set_up)
    }

    /// The same on a store of your own that uses `clock`.
    pub fn on<S: Send + Sync + 'static>(
        store: Arc<dyn Store>,
        clock: ManualClock,
        set_up: impl FnOnce(EngineBuilder) -> EngineBuilder<S>,
    ) -> Result<Self, Invalid> {
        let parts = set_up(EngineBuilder::new(store).seed(1)).parts()?;
        Ok(Self { parts, clock })
    }

    pub fn client(&self) -> Client {
        self.parts.client.clone()
    }

    pub fn subscribe(&self) -> Notices {
        self.parts.announcer.subscribe()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Runs everything that is due, and whatever becomes due by that, without moving the
    /// clock. Says how many attempts that were.
    pub async fn run_due(&self) -> Result<usize, StoreError> {
        for attempts in 0..ROUNDS_MAX {
            self.fire_schedules().await?;
            self.parts.sweeper(Duration::ZERO).tick().await?;
            let claimed = self.parts.store.claim(self.request(1)).await?;
            let Some(claim) = claimed.claims.into_iter().next() else {
                return Ok(attempts);
            };
            let ended = self.parts.executor.attempt(claim).await;
            let settler = &self.parts.settler;
            settler.settle(&mut [settler.undecided(ended)]).await?;
        }
        let why = format!("still not done after {ROUNDS_MAX} attempts: does a job enqueue itself?");
        Err(StoreError::broken("claim", why))
    }

    /// Moves the clock by `time`, stopping at every moment at which something becomes due.
    pub async fn advance(&self, time: Duration) -> Result<usize, StoreError> {
        let end = self.now().plus(time);
        let mut attempts = self.run_due().await?;
        while let Some(due) = self.next_due().await?.filter(|due| *due <= end) {
            self.clock.set(due.max(self.now()));
            attempts += self.run_due().await?;
        }
        self.clock.set(end.max(self.now()));
        Ok(attempts)
    }

    /// Runs until no job waits, moving the clock from one due time to the next. Schedules do
    /// not keep it going.
    pub async fn run_to_end(&self) -> Result<usize, StoreError> {
        let mut attempts = self.run_due().await?;
        while let Some(due) = self.parts.store.claim(self.request(0)).await?.next_due {
            self.clock.set(due.max(self.now()));
            attempts += self.run_due().await?;
        }
        Ok(attempts)
    }

    /// Looks once for what is wrong, and says how many alerts changed by that.
    pub async fn watch(&self) -> Result<usize, StoreError> {
        self.parts.watcher(Duration::ZERO).tick().await
    }

    /// The job, which must exist.
    pub async fn job(&self, id: JobId) -> Result<Job, StoreError> {
        let found = self.parts.store.get_jobs(vec![id]).await?;
        let job = found.into_iter().next().flatten();
        job.ok_or_else(|| StoreError::broken("get_jobs", format!("there is no {id}")))
    }

    /// A job's attempts, oldest first.
    pub async fn attempts(&self, id: JobId) -> Result<Vec<Attempt>, StoreError> {
        let page = PageRequest::first(usize::MAX);
        let mut listed = self
            .parts
            .store
            .list_attempts(AttemptOwner::Job(id), page)
            .await?;
        listed.items.reverse();
        Ok(listed.items)
    }

    async fn fire_schedules(&self) -> Result<(), StoreError> {
        while self.parts.cron().tick().await?.is_zero() {}
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let jobs = self.parts.store.claim(self.request(0)).await?.next_due;
        let schedules = self.parts.store.due_schedules(1).await?.next_due;
        Ok(jobs.into_iter().chain(schedules).min())
    }

    fn request(&self, max: usize) -> ClaimRequest {
        ClaimRequest {
            max,
            ..self.parts.request.clone()
        }
    }
}
