//! Jobs, handlers and set-ups that the tests share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};
use steadfast_core::{
    AttemptStatus, Claim, CommitResult, Dice, FailureClass, Jitter, JobId, Kind, Outcome,
    PolicyPatch, Preset, Subscriptions, WorkerName, after_attempt,
};
use steadfast_engine::{
    Client, Context, Engine, EngineConfig, JobError, JobEvent, JobKind, JobRequest, Notice,
    Notices, testing::TestEngine,
};
use steadfast_store::{AttemptOwner, ClaimRequest, ManualClock, MemoryStore, PageRequest, Store};
use tokio::sync::Semaphore;

/// Longer than anything takes that a test waits for.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Fails the first `failures` times with `class`, then succeeds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flaky {
    pub failures: u32,
    pub class: String,
}

impl JobKind for Flaky {
    const KIND: &'static str = "flaky";
}

pub fn fails(failures: u32) -> Flaky {
    Flaky {
        failures,
        class: FailureClass::ERROR.as_str().to_owned(),
    }
}

pub async fn flaky(job: Flaky, ctx: Context<Calls>) -> Result<String, JobError> {
    ctx.state().0.fetch_add(1, Ordering::SeqCst);
    if ctx.attempt() <= job.failures {
        return Err(JobError::failure(
            &job.class,
            format!("failure {}", ctx.attempt()),
        ));
    }
    Ok("done".to_owned())
}

/// How often handlers were called.
#[derive(Default)]
pub struct Calls(pub AtomicU32);

impl Calls {
    pub fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs until the test opens the gate.
#[derive(Serialize, Deserialize)]
pub struct Wait;

impl JobKind for Wait {
    const KIND: &'static str = "wait";
}

async fn wait(_: Wait, ctx: Context<Arc<Semaphore>>) -> Result<(), JobError> {
    let gate = ctx.state().clone();
    let _permit = gate.acquire().await;
    Ok(())
}

/// An engine whose jobs of kind [`Wait`] run until the test opens the gate.
pub struct GatedEngine {
    pub store: Arc<dyn Store>,
    pub engine: Engine,
    pub client: Client,
    pub notices: Notices,
    pub gate: Arc<Semaphore>,
}

impl GatedEngine {
    pub fn new() -> Self {
        Self::on(MemoryStore::default(), EngineConfig::default())
    }

    /// On a store whose clock only the test moves.
    pub fn on_manual_clock() -> (Self, ManualClock) {
        let clock = ManualClock::default();
        let store = MemoryStore::new(Arc::new(clock.clone()));
        (Self::on(store, EngineConfig::default()), clock)
    }

    pub fn on(store: impl Store, config: EngineConfig) -> Self {
        Self::on_shared(Arc::new(store), config)
    }

    pub fn on_shared(store: Arc<dyn Store>, config: EngineConfig) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let engine = Engine::builder(store.clone())
            .state(gate.clone())
            .handler(wait)
            .config(config)
            .start()
            .unwrap();
        Self {
            store,
            client: engine.client(),
            notices: engine.subscribe(),
            engine,
            gate,
        }
    }

    /// Enqueues a job and waits until its handler runs.
    pub async fn start(&mut self, request: impl Into<JobRequest>) -> JobId {
        let id = self.client.enqueue(request).await.unwrap();
        starts(&mut self.notices, id).await;
        id
    }

    /// Lets this many handlers end.
    pub fn open_gate(&self, handlers: usize) {
        self.gate.add_permits(handlers);
    }

    pub async fn succeeds(&mut self, job: JobId) {
        assert_eq!(ends(&mut self.notices, job).await, JobEvent::Succeeded);
    }

    pub async fn statuses(&self, job: JobId) -> Vec<AttemptStatus> {
        statuses(&*self.store, job).await
    }

    /// Stops the engine in order, with the gate as it is.
    pub async fn stop(self) {
        self.engine.stop().await;
    }
}

/// The preset `http` without jitter: after 1 s, 2 s, 4 s and so on.
pub fn steady(max_retries: u32) -> PolicyPatch {
    PolicyPatch::preset(Preset::Http)
        .jitter(Jitter::None)
        .max_retries(max_retries)
}

/// An engine on a manual clock that runs jobs of kind [`Flaky`].
pub fn test_engine() -> TestEngine {
    TestEngine::new(|builder| builder.state(Calls::default()).handler(flaky)).unwrap()
}

/// Five retries, one millisecond apart.
pub fn quick() -> PolicyPatch {
    PolicyPatch::fixed(Duration::from_millis(1)).max_retries(5)
}

/// Lets time pass on both clocks, for a test that runs on a paused timer.
pub async fn pass(clock: &ManualClock, time: Duration) {
    for _ in 0..time.as_secs() {
        clock.advance(Duration::from_secs(1));
        // sleep: by the paused timer
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// How the attempts of a job ended, oldest first.
pub async fn statuses(store: &dyn Store, job: JobId) -> Vec<AttemptStatus> {
    let owner = AttemptOwner::Job(job);
    let page = PageRequest::first(99);
    let attempts = store.list_attempts(owner, page).await.unwrap().items;
    attempts
        .iter()
        .rev()
        .map(|attempt| attempt.status)
        .collect()
}

/// A claim of another node, on any kind if `kinds` is empty.
pub async fn claim(store: &dyn Store, kinds: Vec<Kind>) -> Vec<Claim> {
    let request = ClaimRequest {
        kinds,
        ..ClaimRequest::new(WorkerName::new("another-node").unwrap(), 99)
    };
    store.claim(request).await.unwrap().claims
}

/// Ends an attempt as another node would.
pub async fn settle(store: &dyn Store, claim: Claim, outcome: Outcome) -> CommitResult {
    let ended = claim.end(outcome, store.now());
    let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
    store.commit(vec![transition]).await.unwrap().remove(0)
}

/// Waits for a notice, and fails the test when it does not come.
pub async fn notice(notices: &mut Notices, is_wanted: impl Fn(&Notice) -> bool) -> Notice {
    let search = async {
        loop {
            let notice = notices.next().await.expect("the engine stopped");
            if is_wanted(&notice) {
                return notice;
            }
        }
    };
    tokio::time::timeout(DEADLINE, search)
        .await
        .expect("the notice did not come in time")
}

pub async fn ends(notices: &mut Notices, job: JobId) -> JobEvent {
    let is_end = |notice: &Notice| notice.job == job && notice.event.is_final();
    notice(notices, is_end).await.event
}

pub async fn starts(notices: &mut Notices, job: JobId) -> Notice {
    notice(notices, |notice| {
        notice.job == job && matches!(notice.event, JobEvent::Started { .. })
    })
    .await
}
