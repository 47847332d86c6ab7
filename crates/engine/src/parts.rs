//! The shared parts of the roles, and the list of all roles.

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use steadfast_core::{AlertSettings, EndedAttempt, Kind, Timestamp};
use steadfast_store::{ClaimRequest, Store, WakeInterest};
use tokio::{
    runtime::Handle,
    sync::{Mutex, OnceCell, Semaphore, mpsc},
};
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{executor::Executor, settle::Settler, undelivered_claims::UndeliveredReturner},
    client::Client,
    config::EngineConfig,
    documents::{cache::DocumentCache, endpoints::Endpoints},
    flow::{call_slots::CallSlots, claim_pause::ClaimPause, gates::GateCache},
    inflight::Inflight,
    node::NodeHandle,
    notice::Announcer,
    random::Random,
    role::{Role, health::NodeHealth},
    roles::{
        certifier::Certifier, clock_keeper::ClockKeeper,
        dead_letter_retention::DeadLetterRetention, dependency_runner::DependencyRunner,
        event_feed::EventFeed, expirer::Expirer, fetcher::Fetcher, health_keeper::HealthKeeper,
        keeper::Keeper, log_writer::LogWriter, node_heartbeat::NodeHeartbeat,
        operation_runner::OperationRunner, pruner::Pruner, schedule_runner::ScheduleRunner,
        sweeper::Sweeper, watcher::Watcher,
    },
};

pub struct Parts {
    pub store: Arc<dyn Store>,
    pub client: Client,
    pub executor: Arc<Executor>,
    pub settler: Arc<Settler>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub random: Arc<Random>,
    pub endpoints: Arc<DocumentCache<Endpoints>>,
    pub gates: Arc<GateCache>,
    pub calls: Arc<CallSlots>,
    pub health_keeper: Arc<HealthKeeper>,
    pub alerts: AlertSettings,
    pub request: ClaimRequest,
    pub health: Arc<NodeHealth>,
}

impl Parts {
    /// Every role of a running engine. The fetcher sends claims to the executor, the executor
    /// sends ended attempts through `ended` to the committer; the other roles meet only in the
    /// store.
    pub fn roles(
        &self,
        config: &EngineConfig,
        ended: mpsc::Sender<EndedAttempt>,
        stop: &CancellationToken,
    ) -> Vec<Arc<dyn Role>> {
        let mut roles: Vec<Arc<dyn Role>> = Vec::new();
        let kinds = &self.request.kinds;
        let mut slots = config.concurrency;
        if kinds.iter().any(Kind::is_call) {
            slots = match kinds.iter().all(Kind::is_call) {
                true => config.http_concurrency,
                false => slots + config.http_concurrency,
            };
            let calls = self.call_fetcher(config.http_concurrency, ended.clone(), stop);
            roles.push(Arc::new(calls));
        }
        roles.push(Arc::new(self.fetcher(config.concurrency, ended, stop)));
        let others: [Arc<dyn Role>; 16] = [
            Arc::new(self.keeper()),
            Arc::new(self.log_writer()),
            Arc::new(self.sweeper(config.sweep_every)),
            Arc::new(self.expirer(config.sweep_every)),
            Arc::new(self.clock_keeper()),
            Arc::new(self.dependency_runner()),
            Arc::new(self.schedule_runner()),
            Arc::new(self.watcher(config.watch_every)),
            Arc::new(self.certifier()),
            Arc::new(self.operation_runner()),
            Arc::new(self.pruner(config)),
            Arc::new(self.node_heartbeat(slots)),
            Arc::new(self.event_feed()),
            self.endpoints.clone(),
            self.gates.clone(),
            self.health_keeper.clone(),
        ];
        roles.extend(others);
        if let Some(retention) = config.dead_letter_retention {
            let every = config.prune_every;
            let role = DeadLetterRetention::new(&self.client, retention, every);
            roles.push(Arc::new(role));
        }
        roles
    }

    /// Fills the slots of handlers.
    fn fetcher(
        &self,
        slots: usize,
        ended: mpsc::Sender<EndedAttempt>,
        stop: &CancellationToken,
    ) -> Fetcher {
        let mut request = self.request.clone();
        request.kinds.retain(|kind| !kind.is_call());
        Fetcher {
            store: self.store.clone(),
            executor: self.executor.clone(),
            name: "fetcher",
            slots: Arc::new(Semaphore::new(slots)),
            calls: None,
            ended,
            gate_changes: Mutex::new(self.gates.changes()),
            wakeups: Mutex::new(self.store.wakeups_for(WakeInterest::of(&request))),
            request,
            next_poll_at: Mutex::new(Timestamp::MAX),
            pause: ClaimPause::default(),
            stop: stop.clone(),
        }
    }

    /// Fills the slots of HTTP jobs and webhooks.
    fn call_fetcher(
        &self,
        slots: usize,
        ended: mpsc::Sender<EndedAttempt>,
        stop: &CancellationToken,
    ) -> Fetcher {
        let mut request = self.request.clone();
        request.kinds.retain(Kind::is_call);
        Fetcher {
            name: "call fetcher",
            calls: Some(self.calls.clone()),
            wakeups: Mutex::new(self.store.wakeups_for(WakeInterest::of(&request))),
            request,
            ..self.fetcher(slots, ended, stop)
        }
    }

    pub fn keeper(&self) -> Keeper {
        Keeper {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            worker: self.request.worker.clone(),
        }
    }

    pub fn log_writer(&self) -> LogWriter {
        LogWriter {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            announcer: self.announcer.clone(),
        }
    }

    pub fn sweeper(&self, every: Duration) -> Sweeper {
        Sweeper::new(self.store.clone(), self.settler.clone(), every)
    }

    pub fn schedule_runner(&self) -> ScheduleRunner {
        ScheduleRunner {
            store: self.store.clone(),
            random: self.random.clone(),
            inflight: self.inflight.clone(),
            endpoints: self.endpoints.clone(),
            wakeups: Mutex::new(self.store.wakeups_for(WakeInterest::Schedules)),
            failed_at: Default::default(),
        }
    }

    pub fn watcher(&self, every: Duration) -> Watcher {
        Watcher::new(
            self.store.clone(),
            self.endpoints.clone(),
            self.gates.clone(),
            self.client.shared_levels(),
            self.alerts.clone(),
            self.health.clone(),
            every,
        )
    }

    pub fn certifier(&self) -> Certifier {
        Certifier::new(self.store.clone(), self.client.clone())
    }

    pub fn expirer(&self, every: Duration) -> Expirer {
        Expirer {
            store: self.store.clone(),
            client: self.client.clone(),
            every,
        }
    }

    pub fn clock_keeper(&self) -> ClockKeeper {
        ClockKeeper {
            store: self.store.clone(),
            health: self.health.clone(),
            seen: Default::default(),
        }
    }

    pub fn dependency_runner(&self) -> DependencyRunner {
        DependencyRunner {
            store: self.store.clone(),
            endpoints: self.endpoints.clone(),
            wakeups: Mutex::new(self.store.wakeups_for(WakeInterest::Links)),
        }
    }

    pub fn operation_runner(&self) -> OperationRunner {
        OperationRunner {
            store: self.store.clone(),
            endpoints: self.endpoints.clone(),
            created: self.client.operation_created().clone(),
            memory: Default::default(),
        }
    }

    pub fn pruner(&self, config: &EngineConfig) -> Pruner {
        Pruner {
            store: self.store.clone(),
            retention: config.retention,
            operation_retention: config.operation_retention,
            audit_retention: config.audit_retention,
            every: config.prune_every,
            names_pruned: std::sync::Mutex::default(),
        }
    }

    fn event_feed(&self) -> EventFeed {
        let (store, announcer) = (self.store.clone(), self.announcer.clone());
        let name = self.request.worker.to_string();
        EventFeed::new(store, announcer, name)
    }

    pub fn node_heartbeat(&self, concurrency: usize) -> NodeHeartbeat {
        NodeHeartbeat {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            calls: self.calls.clone(),
            health: self.health.clone(),
            name: self.request.worker.clone(),
            queues: self.request.queues.clone(),
            kinds: self.request.kinds.clone(),
            concurrency,
            started_at: self.store.now(),
            written: AtomicU64::new(0),
            heartbeats: AtomicU64::new(0),
            encryption_key: OnceCell::new(),
        }
    }

    /// What gives claims back whose worker has left. Without a runtime they are lost, as in a
    /// crash.
    pub fn claim_returner(&self, runtime: Option<Handle>) -> Arc<UndeliveredReturner> {
        let abandon = self.executor.abandon.clone();
        UndeliveredReturner::new(self.settler.clone(), runtime, abandon)
    }

    /// The engine as workers and the server see it.
    pub fn node(&self, stop: CancellationToken, returner: Arc<UndeliveredReturner>) -> NodeHandle {
        NodeHandle {
            name: self.request.worker.clone(),
            store: self.store.clone(),
            settler: self.settler.clone(),
            announcer: self.announcer.clone(),
            inflight: self.inflight.clone(),
            gates: self.gates.clone(),
            calls: self.calls.clone(),
            returner,
            health_keeper: self.health_keeper.clone(),
            health: self.health.clone(),
            client: self.client.clone(),
            stop,
        }
    }
}
