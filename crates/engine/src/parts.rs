//! What the roles share, and how each of them is started.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use steadfast_core::{AlertSettings, EndedAttempt};
use steadfast_store::{ClaimRequest, Store};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Client, EngineConfig, NodeHandle, cache::Cache, cron::Cron, endpoints::Endpoints,
    executor::Executor, fetcher::Fetcher, inflight::Inflight, keeper::Keeper, limits,
    node_heartbeat::NodeHeartbeat, notice::Announcer, pruner::Pruner, random::Random,
    settle::Settler, sweeper::Sweeper, watcher::Watcher,
};

pub struct Parts {
    pub store: Arc<dyn Store>,
    pub client: Client,
    pub executor: Arc<Executor>,
    pub settler: Arc<Settler>,
    pub inflight: Arc<Inflight>,
    pub announcer: Arc<Announcer>,
    pub random: Arc<Random>,
    pub endpoints: Arc<Cache<Endpoints>>,
    pub alerts: AlertSettings,
    pub request: ClaimRequest,
}

impl Parts {
    pub fn fetch(
        &self,
        config: &EngineConfig,
        ended: mpsc::Sender<EndedAttempt>,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let fetcher = Fetcher {
            store: self.store.clone(),
            executor: self.executor.clone(),
            slots: Arc::new(Semaphore::new(config.concurrency)),
            ended,
            request: self.request.clone(),
            random: self.random.clone(),
        };
        async move {
            // An empty list of kinds would mean any kind.
            if !fetcher.request.kinds.is_empty() {
                supervise("fetcher", || fetcher.run(&stop)).await;
            }
        }
    }

    pub fn start_background(
        &self,
        config: &EngineConfig,
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
        let (endpoints, stopped) = (self.endpoints.clone(), stop.clone());
        background.spawn(async move { supervise("endpoints", || endpoints.run(&stopped)).await });
        let pruner = Pruner {
            store: self.store.clone(),
            random: self.random.clone(),
            retention: config.retention,
            every: config.prune_every,
        };
        let stopped = stop.clone();
        background.spawn(async move { supervise("pruner", || pruner.run(&stopped)).await });
        let (watcher, stopped) = (self.watcher(config.watch_every), stop.clone());
        background.spawn(async move { supervise("watcher", || watcher.run(&stopped)).await });
        let (presence, stopped) = (self.presence(config.concurrency), stop.clone());
        background.spawn(async move { supervise("presence", || presence.run(&stopped)).await });
    }

    pub fn node(&self, stop: CancellationToken) -> NodeHandle {
        NodeHandle {
            name: self.request.worker.clone(),
            store: self.store.clone(),
            settler: self.settler.clone(),
            announcer: self.announcer.clone(),
            inflight: self.inflight.clone(),
            stop,
        }
    }

    pub fn keeper(&self) -> Keeper {
        Keeper {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            random: self.random.clone(),
        }
    }

    pub fn presence(&self, concurrency: usize) -> NodeHeartbeat {
        NodeHeartbeat {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            name: self.request.worker.clone(),
            queues: self.request.queues.clone(),
            concurrency,
        }
    }

    pub fn sweeper(&self, every: Duration) -> Sweeper {
        Sweeper {
            store: self.store.clone(),
            settler: self.settler.clone(),
            random: self.random.clone(),
            every,
        }
    }

    pub fn watcher(&self, every: Duration) -> Watcher {
        Watcher {
            store: self.store.clone(),
            random: self.random.clone(),
            endpoints: self.endpoints.clone(),
            settings: self.alerts.clone(),
            every,
        }
    }

    pub fn cron(&self) -> Cron {
        Cron {
            store: self.store.clone(),
            random: self.random.clone(),
            endpoints: self.endpoints.clone(),
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
