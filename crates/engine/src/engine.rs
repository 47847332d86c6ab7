//! A running engine: what a program asks of it, and how it stops.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use steadfast_core::{Job, JobId};
use steadfast_store::{CommandError, Store};
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    Client, ClientError, EngineBuilder, NodeHandle, Notices, StopReason, limits, parts::Parts,
    signals::Signals,
};

/// A running engine. Nothing in it is global: two of them in one process start and stop apart.
///
/// Dropping it stops it at once, as a crash would; [`Engine::stop`] stops it in order.
pub struct Engine {
    pub(crate) parts: Parts,
    /// No more claims.
    pub(crate) stop: CancellationToken,
    /// The roles that must go on until every outcome is committed.
    pub(crate) stop_keeping: CancellationToken,
    pub(crate) fetching: JoinHandle<()>,
    pub(crate) committing: JoinHandle<()>,
    /// Keeper, sweeper, cron, pruner and watcher.
    pub(crate) background: TaskTracker,
    pub(crate) grace: Duration,
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

    /// This engine, seen from outside.
    pub fn node(&self) -> NodeHandle {
        self.parts.node(self.stop.clone())
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

    /// How many results of this engine came too late and were refused.
    pub fn fences_lost(&self) -> u64 {
        self.parts.settler.fences_lost.load(Ordering::Relaxed)
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

    async fn stop_after(mut self, grace_ended: impl Future<Output = ()>) {
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
            () = grace_ended => {
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
