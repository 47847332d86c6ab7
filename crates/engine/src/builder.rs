//! How an engine is put together.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use opentelemetry::{global::BoxedTracer, trace::Tracer};
use serde::Serialize;
use steadfast_core::{
    Confirmation, Gate, GateId, GateLimits, GatePatch, GateScope, Invalid, Kind, PolicyPatch,
    Queue, Tenant, Timestamp, WorkerName, limits::PAYLOAD_BYTES_MAX,
};
use steadfast_store::{ClaimRequest, GateSettings, Store};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    attempt::{
        context::Context,
        executor::Executor,
        handler::{Handler, Handlers, TypedConfirm, TypedHandler},
        job_error::JobError,
        settle::Settler,
    },
    client::{Client, JobLimits, request::JobKind},
    config::EngineConfig,
    documents::{endpoints::Endpoints, policy_levels::PolicyLevels},
    engine::Engine,
    flow::{call_slots::CallSlots, gates::GateCache, health_tallies::HealthTallies},
    inflight::Inflight,
    limits::HTTP_CONCURRENCY_MAX,
    notice::{Announcer, Observer},
    parts::Parts,
    random::Random,
    role::health::NodeHealth,
    roles::health_keeper::HealthKeeper,
    traces::Traces,
};

impl Engine {
    /// An engine on a store; `SqliteStore::open` or `MemoryStore::default` make one.
    pub fn builder(store: impl Store) -> EngineBuilder {
        EngineBuilder::new(Arc::new(store))
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
    kind_retry: Vec<(String, PolicyPatch)>,
    max_retries: u32,
    gates: Vec<(Option<String>, GateScope, String, GatePatch)>,
    observer: Option<Arc<dyn Observer>>,
    traces: Traces,
    random: Random,
    config: EngineConfig,
}

impl EngineBuilder {
    /// As [`Engine::builder`], without another `Arc` around the store.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            state: Arc::new(()),
            handlers: Ok(Handlers::default()),
            retry: PolicyPatch::default(),
            tenant_retry: Vec::new(),
            queue_retry: Vec::new(),
            kind_retry: Vec::new(),
            max_retries: steadfast_core::limits::MAX_RETRIES,
            gates: Vec::new(),
            observer: None,
            traces: Traces::default(),
            random: Random::from_entropy(),
            config: EngineConfig::default(),
        }
    }

    /// The state that all handlers share, as [`Context::state`]. Call it before adding handlers.
    pub fn state<S: Send + Sync + 'static>(self, state: S) -> EngineBuilder<S> {
        EngineBuilder {
            store: self.store,
            state: Arc::new(state),
            handlers: self.handlers,
            retry: self.retry,
            tenant_retry: self.tenant_retry,
            queue_retry: self.queue_retry,
            kind_retry: self.kind_retry,
            max_retries: self.max_retries,
            gates: self.gates,
            observer: self.observer,
            traces: self.traces,
            random: self.random,
            config: self.config,
        }
    }
}

impl<S: Send + Sync + 'static> EngineBuilder<S> {
    /// An `async fn(J, Context<S>) -> Result<T, JobError>`, for jobs of `J`'s kind. Jobs of
    /// kinds without a handler are left alone: they wait for a node that has one.
    #[must_use]
    pub fn handler<J, T, F, Fut>(self, function: F) -> Self
    where
        J: JobKind,
        T: Serialize + Send,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, JobError>> + Send + 'static,
    {
        let handler = TypedHandler::new(function, self.state.clone());
        self.raw_handler(J::KIND, Arc::new(handler))
    }

    /// Any other handler, for jobs of this kind.
    #[must_use]
    pub fn raw_handler(mut self, kind: &str, handler: Arc<dyn Handler>) -> Self {
        self.handlers = self.handlers.and_then(|mut handlers| {
            handlers.add(kind, handler)?;
            Ok(handlers)
        });
        self
    }

    /// An `async fn(J, Context<S>) -> Result<Confirmation, JobError>`, which says whether the last
    /// attempt of a job of `J`'s kind took effect. Jobs with
    /// [`confirm`](crate::JobRequest::confirm) ask it after an end that leaves that open, before
    /// anything is repeated. An error is an unknown answer.
    #[must_use]
    pub fn confirm<J, F, Fut>(self, function: F) -> Self
    where
        J: JobKind,
        F: Fn(J, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Confirmation, JobError>> + Send + 'static,
    {
        let confirm = TypedHandler::new(function, self.state.clone());
        self.raw_confirm(J::KIND, Arc::new(TypedConfirm(confirm)))
    }

    /// Anything else that answers for a handler of this kind, with
    /// [`Outcome::Answered`](steadfast_core::Outcome::Answered).
    #[must_use]
    pub fn raw_confirm(mut self, kind: &str, confirm: Arc<dyn Handler>) -> Self {
        self.handlers = self.handlers.and_then(|mut handlers| {
            handlers.add_confirm(kind, confirm)?;
            Ok(handlers)
        });
        self
    }

    /// Runs HTTP jobs and delivers webhooks, all of them through this [`Outbound`](crate::http::Outbound).
    #[cfg(feature = "http")]
    #[must_use]
    pub fn outbound(self, outbound: crate::http::Outbound) -> Self {
        let webhooks = crate::http::WebhookHandler::new(outbound.clone());
        let confirm = crate::http::HttpConfirm::new(outbound.clone());
        let http = crate::http::HttpHandler::new(outbound);
        self.raw_handler(Kind::http().as_str(), Arc::new(http))
            .raw_confirm(Kind::http().as_str(), Arc::new(confirm))
            .raw_handler(Kind::webhook().as_str(), Arc::new(webhooks))
            .kind_retry(Kind::http().as_str(), steadfast_core::Preset::Http)
            .kind_retry(Kind::webhook().as_str(), steadfast_core::Preset::Webhook)
    }

    /// The default retry policy: of jobs for which neither job, kind, queue nor tenant sets one.
    #[must_use]
    pub fn retry(mut self, retry: impl Into<PolicyPatch>) -> Self {
        self.retry = retry.into();
        self
    }

    /// The retry policy of a tenant; job, kind and queue override it.
    #[must_use]
    pub fn tenant_retry(mut self, tenant: &str, retry: impl Into<PolicyPatch>) -> Self {
        self.tenant_retry.push((tenant.to_owned(), retry.into()));
        self
    }

    /// The retry policy of a queue; job and kind override it.
    #[must_use]
    pub fn queue_retry(mut self, queue: &str, retry: impl Into<PolicyPatch>) -> Self {
        self.queue_retry.push((queue.to_owned(), retry.into()));
        self
    }

    /// The default retry policy of one kind, in the place of [`EngineBuilder::retry`].
    #[must_use]
    pub fn kind_retry(mut self, kind: &str, retry: impl Into<PolicyPatch>) -> Self {
        self.kind_retry.push((kind.to_owned(), retry.into()));
        self
    }

    /// Limits the jobs of a queue, kind, tenant or destination. What people set for it later, over
    /// the API or with [`Client::set_gate`], comes before, limit by limit.
    ///
    /// ```
    /// use steadfast_core::{GatePatch, GateScope};
    /// use steadfast_engine::Engine;
    /// use steadfast_store::MemoryStore;
    ///
    /// let limits = GatePatch::default().rate("10/s".parse().unwrap()).max_running(5);
    /// let builder = Engine::builder(MemoryStore::default())
    ///     .gate(GateScope::Destination, "https://api.example.com", limits);
    /// ```
    #[must_use]
    pub fn gate(mut self, scope: GateScope, key: &str, limits: GatePatch) -> Self {
        self.gates.push((None, scope, key.to_owned(), limits));
        self
    }

    /// The same, for jobs of one tenant only; a concurrency key has one.
    #[must_use]
    pub fn tenant_gate(
        mut self,
        tenant: &str,
        scope: GateScope,
        key: &str,
        limits: GatePatch,
    ) -> Self {
        let tenant = Some(tenant.to_owned());
        self.gates.push((tenant, scope, key.to_owned(), limits));
        self
    }

    /// The most retries that a job may request.
    #[must_use]
    pub fn max_retries(mut self, most: u32) -> Self {
        self.max_retries = most;
        self
    }

    /// Called for everything that happens on this engine, on the spot, so it must be quick.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Where the spans of jobs go: one for each job that is created, for each attempt that runs on this
    /// engine, for each request of it to another system and for each report of a worker. The span of
    /// an attempt is the current one while its handler runs.
    #[must_use]
    pub fn tracer<T>(mut self, tracer: T) -> Self
    where
        T: Tracer + Send + Sync + 'static,
        T::Span: Send + Sync + 'static,
    {
        self.traces = Traces::new(BoxedTracer::new(Box::new(tracer)));
        self
    }

    /// Every setting at once; later calls change single ones.
    #[must_use]
    pub fn config(mut self, config: EngineConfig) -> Self {
        self.config = config;
        self
    }

    /// How many attempts of handlers may run at once.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.config.concurrency = concurrency;
        self
    }

    /// How many HTTP jobs and deliveries of webhooks may be in flight at once.
    #[must_use]
    pub fn http_concurrency(mut self, http_concurrency: usize) -> Self {
        self.config.http_concurrency = http_concurrency;
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
        self.random = Random::seeded(seed);
        self
    }

    /// A client with this engine's policies, without starting anything.
    pub fn client(&self) -> Result<Client, Invalid> {
        let levels = Arc::new(self.levels()?);
        let random = Arc::new(Random::from_entropy());
        let endpoints = Arc::new(Endpoints::cache(self.store.clone(), &levels));
        let gates = Arc::new(self.gate_cache()?);
        let store = self.store.clone();
        Ok(Client::with(
            store,
            levels,
            random,
            Arc::default(),
            endpoints,
            gates,
            self.job_limits()?,
        )
        .traced(self.traces.clone()))
    }

    /// Starts the engine on the current tokio runtime.
    pub fn start(self) -> Result<Engine, Invalid> {
        let config = self.config.clone();
        let most = Semaphore::MAX_PERMITS;
        if config.concurrency == 0 || config.concurrency > most {
            let expected = format!("must be between 1 and {most}");
            return Err(Invalid::new("concurrency", config.concurrency, expected));
        }
        let (calls, most) = (config.http_concurrency, HTTP_CONCURRENCY_MAX);
        if calls == 0 || calls > most {
            let expected = format!("must be between 1 and {most}");
            return Err(Invalid::new("httpConcurrency", calls, expected));
        }
        Ok(Engine::start(self.parts()?, &config))
    }

    fn levels(&self) -> Result<PolicyLevels, Invalid> {
        fn by_name<N: std::hash::Hash + Eq>(
            patches: &[(String, PolicyPatch)],
            parse: fn(&str) -> Result<N, Invalid>,
        ) -> Result<HashMap<N, PolicyPatch>, Invalid> {
            let pairs = patches.iter();
            pairs
                .map(|(name, patch)| Ok((parse(name)?, patch.clone())))
                .collect()
        }
        PolicyLevels::new(
            &self.retry,
            &by_name(&self.kind_retry, Kind::new)?,
            by_name(&self.tenant_retry, Tenant::new)?,
            by_name(&self.queue_retry, Queue::new)?,
            self.max_retries,
        )
    }

    /// Gives the store the gates of this program. An engine without any leaves those that another
    /// engine has given to the same store.
    fn gate_cache(&self) -> Result<GateCache, Invalid> {
        let settings = self.gate_settings()?;
        if settings != GateSettings::default() {
            self.store.set_gate_settings(settings);
        }
        Ok(GateCache::new(&self.store))
    }

    fn gate_settings(&self) -> Result<GateSettings, Invalid> {
        let gates = self.gates.iter().map(|(tenant, scope, key, patch)| {
            let tenant = tenant.as_deref().map(Tenant::new).transpose()?;
            let id = GateId::new(tenant, *scope, key)?;
            let limits = patch.without_pause()?;
            let limits = limits.over(&id, &GateLimits::default(), None, Timestamp::EPOCH)?;
            Ok(Gate { id, limits })
        });
        let gates: Result<_, Invalid> = gates.collect();
        Ok(GateSettings {
            defaults: self.config.gate_defaults.clone(),
            gates: gates.map_err(|error| error.within("gate"))?,
        })
    }

    fn job_limits(&self) -> Result<JobLimits, Invalid> {
        let (bytes, most) = (self.config.payload_bytes_max, PAYLOAD_BYTES_MAX);
        if bytes > most {
            let expected = format!("must be at most {most}");
            return Err(Invalid::new("payloadBytesMax", bytes, expected));
        }
        Ok(JobLimits {
            payload_bytes_max: bytes,
            call_timeout_max: self.config.call_timeout_max,
            commit_time_max: self.config.commit_time_max,
        })
    }

    /// Everything but the running loops, for tests that drive the roles by hand.
    pub(crate) fn parts(self) -> Result<Parts, Invalid> {
        let levels = Arc::new(self.levels()?);
        let job_limits = self.job_limits()?;
        let gates = Arc::new(self.gate_cache()?);
        let alerts = self.config.alerts;
        alerts.check().map_err(|error| error.within("alerts"))?;
        let handlers = Arc::new(self.handlers?);
        let random = Arc::new(self.random);
        let inflight = Arc::new(Inflight::default());
        let endpoints = Arc::new(Endpoints::cache(self.store.clone(), &levels));
        let client = Client::with(
            self.store.clone(),
            levels,
            random.clone(),
            inflight.clone(),
            endpoints.clone(),
            gates.clone(),
            job_limits,
        )
        .traced(self.traces.clone());
        let announcer = Arc::new(Announcer::new(self.observer));
        let worker = match self.config.worker {
            Some(worker) => worker,
            None => WorkerName::new(&format!("{}-{:08x}", std::process::id(), random.suffix()))?,
        };
        let tallies = Arc::new(HealthTallies::default());
        let health_keeper = HealthKeeper::new(
            self.store.clone(),
            gates.clone(),
            tallies.clone(),
            worker.to_string(),
        );
        Ok(Parts {
            health_keeper: Arc::new(health_keeper),
            request: claim_request(worker, self.config.queues, &handlers),
            executor: Arc::new(Executor {
                store: self.store.clone(),
                handlers,
                inflight: inflight.clone(),
                announcer: announcer.clone(),
                client: client.clone(),
                gates: gates.clone(),
                tallies: tallies.clone(),
                abandon: CancellationToken::new(),
                running: TaskTracker::new(),
            }),
            settler: Arc::new(Settler {
                store: self.store.clone(),
                inflight: inflight.clone(),
                announcer: announcer.clone(),
                traces: self.traces,
                random: random.clone(),
                endpoints: endpoints.clone(),
                gates: gates.clone(),
                tallies,
                retry_after_max: self.config.retry_after_max,
                admission: client.admission().clone(),
                fences_lost: AtomicU64::new(0),
            }),
            store: self.store,
            health: Arc::new(NodeHealth::new(client.admission().clone())),
            client,
            inflight,
            announcer,
            random,
            endpoints,
            gates,
            calls: CallSlots::new(self.config.http_concurrency),
            alerts,
        })
    }
}

/// The claim request of the fetchers of an engine; they set the number of jobs.
fn claim_request(worker: WorkerName, queues: Vec<Queue>, handlers: &Handlers) -> ClaimRequest {
    // Without a limit by timeouts: the executor cuts its handlers off by itself.
    ClaimRequest {
        queues,
        kinds: handlers.kinds(),
        ..ClaimRequest::new(worker, 0)
    }
}
