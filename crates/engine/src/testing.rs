//! Tests of handlers without waiting: an engine in memory, on a clock that you move.
//!
//! Jobs run one after the other in the order in which they are due, with the same executor,
//! the same decisions and the same store verbs as in production. Only what a handler itself
//! waits for takes real time, its timeout included; by the test's clock it takes none.

/// For this project's own simulation, and for no other program.
#[cfg(feature = "_testing")]
mod roles;

#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use crate::attempt::settle::PendingSettlement;
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use roles::{ClaimedCalls, Roles, RunningCall};

use std::{sync::Arc, time::Duration};

use steadfast_core::{Attempt, Invalid, Job, JobId, Timestamp, blocked_run_at};
use steadfast_store::{
    AttemptOwner, ClaimRequest, ClaimResult, Clock as _, JobDetail, ManualClock, MemoryStore,
    PageRequest, Store, StoreError,
};

use crate::{
    builder::EngineBuilder,
    client::Client,
    limits::{self, TEST_ATTEMPTS_MAX},
    notice::Notices,
    parts::Parts,
    role::{Next, Role as _},
};

/// An engine that does nothing but what the test calls for.
pub struct TestEngine {
    parts: Parts,
    clock: ManualClock,
}

/// Why a [`TestEngine`] could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no job of this id.
    #[error("there is no {0}")]
    JobNotFound(JobId),
    /// There is always another attempt due.
    #[error("jobs remain after {TEST_ATTEMPTS_MAX} attempts: does a job enqueue itself?")]
    Endless,
}

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

    /// A client of this engine.
    pub fn client(&self) -> Client {
        self.parts.client.clone()
    }

    /// Notices of what happens to jobs from now on.
    pub fn subscribe(&self) -> Notices {
        self.parts.announcer.subscribe()
    }

    /// The time on the test's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The test's clock.
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// Runs everything that is due, and everything that becomes due by that, without moving the
    /// clock. Returns how many attempts that were.
    pub async fn run_due(&self) -> Result<usize, TestError> {
        for attempts in 0..TEST_ATTEMPTS_MAX {
            self.fire_schedules().await?;
            self.release_dependants().await?;
            self.parts.sweeper(Duration::ZERO).sweep().await?;
            self.parts.gates.refresh_all().await?;
            self.parts.health_keeper.keep().await?;
            let claimed = self.claim(1).await?;
            let Some(claim) = claimed.claims.into_iter().next() else {
                return Ok(attempts);
            };
            let ended = self.parts.executor.attempt(claim).await;
            let settler = &self.parts.settler;
            settler.settle(&mut [settler.pending(ended)]).await?;
        }
        Err(TestError::Endless)
    }

    /// Releases jobs that ran after others, and counts batches.
    async fn release_dependants(&self) -> Result<(), TestError> {
        let subscriptions = self.parts.settler.endpoints.get().await?.subscriptions();
        let follow = || {
            let store = &self.parts.store;
            store.release_dependants(limits::LINK_BATCH_MAX, subscriptions.clone())
        };
        while follow().await?.has_more {}
        Ok(())
    }

    /// Moves the clock by `time`, stopping at every moment at which something becomes due.
    /// Returns how many attempts were run.
    pub async fn advance(&self, time: Duration) -> Result<usize, TestError> {
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
    /// not keep it going. Returns how many attempts were run.
    pub async fn run_to_end(&self) -> Result<usize, TestError> {
        let mut attempts = self.run_due().await?;
        // A job that runs after others which never succeed waits for ever.
        let is_blocked = |due: &Timestamp| *due >= blocked_run_at(Timestamp::EPOCH);
        while let Some(due) = self.claim(0).await?.next_due {
            if is_blocked(&due) {
                break;
            }
            self.clock.set(due.max(self.now()));
            attempts += self.run_due().await?;
        }
        Ok(attempts)
    }

    /// Checks the alert rules once and returns how many alerts changed.
    pub async fn watch(&self) -> Result<usize, TestError> {
        Ok(self.parts.watcher(Duration::ZERO).watch().await?)
    }

    /// Computes the kept certificates that are due.
    pub async fn compute_certificates(&self) -> Result<(), TestError> {
        let certifier = self.parts.certifier();
        while certifier.compute_next().await? {}
        Ok(())
    }

    /// The job, which must exist.
    pub async fn job(&self, id: JobId) -> Result<Job, TestError> {
        let found = self.parts.store.get_jobs(vec![id], JobDetail::Full).await?;
        let job = found.into_iter().next().flatten();
        job.ok_or(TestError::JobNotFound(id))
    }

    /// A job's attempts, oldest first.
    pub async fn attempts(&self, id: JobId) -> Result<Vec<Attempt>, TestError> {
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
        let runner = self.parts.schedule_runner();
        while runner.tick().await? == Next::AtOnce {}
        Ok(())
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let jobs = self.claim(0).await?.next_due;
        let schedules = self.parts.store.due_schedules(1).await?.next_due;
        Ok(jobs.into_iter().chain(schedules).min())
    }

    /// Claims under the gates that are set.
    async fn claim(&self, max: usize) -> Result<ClaimResult, StoreError> {
        let request = ClaimRequest {
            max,
            ..self.parts.request.clone()
        };
        self.parts.store.claim(request).await
    }
}
