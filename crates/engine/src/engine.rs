//! The engine: its roles, how they are started, and how they stop.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde::Serialize;
use steadfast_core::{Ended, Invalid, Job, JobId, PolicyPatch, Queue, Tenant, WorkerName};
use steadfast_store::{ClaimRequest, CommandError, Store};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Client, ClientError, Config, Context, JobError, JobKind, Notices, StopReason,
    committer::Committer,
    cron::Cron,
    executor::Executor,
    fetcher::Fetcher,
    handler::{Handlers, TypedHandler},
    inflight::Inflight,
    keeper::Keeper,
    limits,
    notice::Announcer,
    pruner::Pruner,
    request::PolicyLevels,
    rolls::Rolls,
    settle::Settler,
    sweeper::Sweeper,
};

/// A running engine. Nothing in it is global: two of them in one process start and stop apart.
///
/// Dropping it stops it at once, as a crash would; [`Engine::stop`] stops it in order.
pub struct Engine {
    parts: Parts,
    /// No more claims.
    stop: CancellationToken,
    /// The roles that must go on until every outcome is committed.
    stop_keeping: CancellationToken,
    fetching: JoinHandle<()>,
    committing: JoinHandle<()>,
    /// Keeper, sweeper, cron and pruner.
    background: TaskTracker,
    grace: Duration,
}

/// What the roles share.
pub(crate) struct Parts {
    pub store: Arc<dyn Store>,
    pub client: Client,
    pub executor: Arc<Executor>,
    pub settler: Arc<Settler>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub rolls: Arc<Rolls>,
    pub request: ClaimRequest,
}

impl Engine {
    /// An engine on a store; `SqliteStore::open` or `MemoryStore::default` make one.
    pub fn builder(store: impl Store) -> EngineBuilder {
        EngineBuilder::new(Arc::new(store))
    }

    /// Makes, queries and changes jobs.
    pub fn client(&self) -> Client {
        self.parts.client.clone()
    }

    /// News of jobs from now on.
    pub fn subscribe(&self) -> Notices {
        self.parts.announcer.subscribe()
    }

    /// Waits until a job has ended, on this node or another, and answers with it.
    pub async fn finished(&self, id: JobId) -> Result<Job, ClientError> {
        let mut notices = self.subscribe();
        loop {
            let job = self.parts.client.job(id).await?;
            let job = job.ok_or(CommandError::NotFound(id))?;
            if job.progress.state.is_final() {
                return Ok(job);
            }
            let ended_here = async {
                while let Some(notice) = notices.next().await {
                    if notice.job == id && notice.event.is_final() {
                        return;
                    }
                }
            };
            // Other nodes do not tell us; a slow look finds what they have done.
            let _elapsed = tokio::time::timeout(limits::POLL / 5, ended_here).await;
        }
    }

    /// How many attempts run or wait for their outcome to be committed.
    pub fn in_flight(&self) -> usize {
        self.parts.inflight.len()
    }

    /// Stops in order: claims nothing more, lets running attempts end within the grace period,
    /// then gives the rest back without counting them.
    pub async fn stop(self) {
        let grace = self.grace;
        self.stop_after(tokio::time::sleep(grace)).await;
    }

    /// Stops at once: running attempts are given back.
    pub async fn stop_now(self) {
        self.stop_after(std::future::ready(())).await;
    }

    /// Runs until SIGTERM or SIGINT, then stops in order; a second signal stops at once.
    pub async fn run_until_signal(self) -> std::io::Result<()> {
        // Opened once, so that no signal falls between two waits.
        let mut signals = Signals::open()?;
        signals.next().await;
        tracing::info!(
            running = self.in_flight(),
            "stopping: running attempts may end; send the signal again to stop at once"
        );
        let grace = self.grace;
        self.stop_after(async {
            tokio::select! {
                () = tokio::time::sleep(grace) => {}
                () = signals.next() => {}
            }
        })
        .await;
        Ok(())
    }

    async fn stop_after(mut self, patience_ends: impl Future<Output = ()>) {
        self.stop.cancel();
        let Parts {
            executor, inflight, ..
        } = &self.parts;
        inflight.stop_all(StopReason::Stopping);
        let in_order = async {
            // Once the fetcher has ended, nothing new can start.
            let _panicked = (&mut self.fetching).await;
            inflight.stop_all(StopReason::Stopping);
            executor.running.close();
            executor.running.wait().await;
            // All senders are gone now, so the committer ends when everything is committed.
            let _panicked = (&mut self.committing).await;
        };
        tokio::pin!(in_order);
        tokio::select! {
            biased;
            () = &mut in_order => {}
            () = patience_ends => {
                executor.abandon.cancel();
                // A handler that blocks its thread cannot be stopped; it is left behind.
                let _elapsed = tokio::time::timeout(limits::HURRY, in_order).await;
            }
        }
        self.stop_keeping.cancel();
        self.background.close();
        let _elapsed = tokio::time::timeout(limits::HURRY, self.background.wait()).await;
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.cancel();
        self.stop_keeping.cancel();
        self.parts.executor.abandon.cancel();
        self.fetching.abort();
        self.committing.abort();
    }
}

/// The signals that ask a process to stop.
#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn open() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn open() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // Without a handler for it, Ctrl-C ends the process by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Builds an [`Engine`]. Mistakes are reported when it starts.
pub struct EngineBuilder<S = ()> {
    store: Arc<dyn Store>,
    state: Arc<S>,
    handlers: Result<Handlers, Invalid>,
    retry: PolicyPatch,
    tenant_retry: Vec<(String, PolicyPatch)>,
    queue_retry: Vec<(String, PolicyPatch)>,
    rolls: Rolls,
    config: Config,
}

impl EngineBuilder {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            state: Arc::new(()),
            handlers: Ok(Handlers::default()),
            retry: PolicyPatch::default(),
            tenant_retry: Vec::new(),
            queue_retry: Vec::new(),
            rolls: Rolls::from_entropy(),
            config: Config::default(),
        }
    }

    /// What all handlers share, as `Context::state`. Comes before the handlers.
    pub fn state<S: Send + Sync + 'static>(self, state: S) -> EngineBuilder<S> {
        EngineBuilder {
            store: self.store,
            state: Arc::new(state),
            handlers: self.handlers,
            retry: self.retry,
            tenant_retry: self.tenant_retry,
            queue_retry: self.queue_retry,
            rolls: self.rolls,
            config: self.config,
        }
    }
}

impl<S: Send + Sync + 'static> EngineBuilder<S> {
    /// An `async fn(J, Context<S>) -> Result<T, JobError>`, for jobs of `J`'s kind. Jobs of
    /// kinds without a handler are left alone: they wait for a node that has one.
    #[must_use]
    pub fn handler<J, T, F, Fut>(mut self, function: F) -> Self
    where
        J: JobKind,
        T: Serialize + Send,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
    {
        let handler = TypedHandler::new(function, self.state.clone());
        self.handlers = self.handlers.and_then(|mut handlers| {
            handlers.add(J::KIND, Arc::new(handler))?;
            Ok(handlers)
        });
        self
    }

    /// The retry policy where neither job, kind, queue nor tenant says otherwise.
    #[must_use]
    pub fn retry(mut self, retry: impl Into<PolicyPatch>) -> Self {
        self.retry = retry.into();
        self
    }

    /// The retry policy of a tenant, where neither job, kind nor queue says otherwise.
    #[must_use]
    pub fn tenant_retry(mut self, tenant: &str, retry: impl Into<PolicyPatch>) -> Self {
        self.tenant_retry.push((tenant.to_owned(), retry.into()));
        self
    }

    /// The retry policy of a queue, where neither job nor kind says otherwise.
    #[must_use]
    pub fn queue_retry(mut self, queue: &str, retry: impl Into<PolicyPatch>) -> Self {
        self.queue_retry.push((queue.to_owned(), retry.into()));
        self
    }

    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How many attempts may run at once.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.config.concurrency = concurrency;
        self
    }

    /// How long running attempts may go on after a stop.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.config.grace = grace;
        self
    }

    #[must_use]
    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.rolls = Rolls::seeded(seed);
        self
    }

    /// A client with this engine's policies, without starting anything.
    pub fn client(&self) -> Result<Client, Invalid> {
        let levels = self.levels()?;
        let rolls = Arc::new(Rolls::from_entropy());
        Ok(Client::with(self.store.clone(), levels, rolls))
    }

    /// Starts every role on the current tokio runtime.
    pub fn start(self) -> Result<Engine, Invalid> {
        let config = self.config.clone();
        if config.concurrency == 0 || config.concurrency > Semaphore::MAX_PERMITS {
            let expected = "must be at least 1";
            return Err(Invalid::new("concurrency", config.concurrency, expected));
        }
        let parts = self.parts()?;
        let stop = CancellationToken::new();
        let stop_keeping = CancellationToken::new();
        let (ended, endings) = mpsc::channel(limits::ENDED_MAX);
        let background = TaskTracker::new();
        parts.start_background(&config, &background, &stop, &stop_keeping);
        let committer = Committer {
            settler: parts.settler.clone(),
            rolls: parts.rolls.clone(),
            ended: endings,
        };
        Ok(Engine {
            fetching: tokio::spawn(parts.fetch(&config, ended, stop.clone())),
            committing: tokio::spawn(committer.run(parts.executor.abandon.clone())),
            parts,
            stop,
            stop_keeping,
            background,
            grace: config.grace,
        })
    }

    fn levels(&self) -> Result<PolicyLevels, Invalid> {
        let by_tenant = self
            .tenant_retry
            .iter()
            .map(|(tenant, patch)| Ok((Tenant::new(tenant)?, patch.clone())))
            .collect::<Result<_, Invalid>>()?;
        let by_queue = self
            .queue_retry
            .iter()
            .map(|(queue, patch)| Ok((Queue::new(queue)?, patch.clone())))
            .collect::<Result<_, Invalid>>()?;
        PolicyLevels::new(&self.retry, by_tenant, by_queue)
    }

    /// Everything but the running: what tests drive by hand.
    pub(crate) fn parts(self) -> Result<Parts, Invalid> {
        let levels = self.levels()?;
        let handlers = Arc::new(self.handlers?);
        let rolls = Arc::new(self.rolls);
        let client = Client::with(self.store.clone(), levels, rolls.clone());
        let inflight = Arc::new(Inflight::default());
        let announcer = Arc::new(Announcer::default());
        let worker = match self.config.worker {
            Some(worker) => worker,
            None => WorkerName::new(&format!("{}-{:08x}", std::process::id(), rolls.suffix()))?,
        };
        Ok(Parts {
            request: ClaimRequest {
                worker,
                tenant: None,
                queues: self.config.queues,
                kinds: handlers.kinds(),
                max: 0,
                lease: None,
            },
            executor: Arc::new(Executor {
                store: self.store.clone(),
                handlers,
                inflight: inflight.clone(),
                announcer: announcer.clone(),
                client: client.clone(),
                abandon: CancellationToken::new(),
                running: TaskTracker::new(),
            }),
            settler: Arc::new(Settler {
                store: self.store.clone(),
                inflight: inflight.clone(),
                announcer: announcer.clone(),
                rolls: rolls.clone(),
            }),
            store: self.store,
            client,
            inflight,
            announcer,
            rolls,
        })
    }
}

impl Parts {
    fn fetch(
        &self,
        config: &Config,
        ended: mpsc::Sender<Ended>,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let fetcher = Fetcher {
            store: self.store.clone(),
            executor: self.executor.clone(),
            slots: Arc::new(Semaphore::new(config.concurrency)),
            ended,
            request: self.request.clone(),
            rolls: self.rolls.clone(),
        };
        async move {
            // An empty list of kinds would mean any kind.
            if !fetcher.request.kinds.is_empty() {
                supervise("fetcher", || fetcher.run(&stop)).await;
            }
        }
    }

    fn start_background(
        &self,
        config: &Config,
        background: &TaskTracker,
        stop: &CancellationToken,
        stop_keeping: &CancellationToken,
    ) {
        let (keeper, stop_keeping) = (self.keeper(), stop_keeping.clone());
        background.spawn(async move { supervise("keeper", || keeper.run(&stop_keeping)).await });
        let (sweeper, stopped) = (self.sweeper(config.sweep_every), stop.clone());
        background.spawn(async move { supervise("sweeper", || sweeper.run(&stopped)).await });
        let (cron, stopped) = (self.cron(), stop.clone());
        background.spawn(async move { supervise("cron", || cron.run(&stopped)).await });
        let pruner = Pruner {
            store: self.store.clone(),
            rolls: self.rolls.clone(),
            retention: config.retention,
            every: config.prune_every,
        };
        let stopped = stop.clone();
        background.spawn(async move { supervise("pruner", || pruner.run(&stopped)).await });
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            rolls: self.rolls.clone(),
        }
    }

    pub(crate) fn sweeper(&self, every: Duration) -> Sweeper {
        Sweeper {
            store: self.store.clone(),
            settler: self.settler.clone(),
            rolls: self.rolls.clone(),
            every,
        }
    }

    pub(crate) fn cron(&self) -> Cron {
        Cron {
            store: self.store.clone(),
            rolls: self.rolls.clone(),
        }
    }
}

/// Runs a role, and starts it again if it should ever panic: a node without one of its roles
/// looks alive and is not.
async fn supervise<Fut: Future<Output = ()>>(role: &'static str, mut run: impl FnMut() -> Fut) {
    while AssertUnwindSafe(run()).catch_unwind().await.is_err() {
        tracing::error!(role, "a role panicked; starting it again");
        tokio::time::sleep(limits::RESTART).await;
    }
}
