//! A running engine: what a program asks of it, and how it stops.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use steadfast_core::{EndedAttempt, Job, JobId};
use steadfast_store::CommandError;
use tokio::{runtime::Handle, sync::mpsc, task::JoinHandle};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    attempt::{committer::Committer, undelivered_claims::UndeliveredReturner},
    client::{Client, ClientError},
    config::EngineConfig,
    inflight::signals::StopReason,
    limits,
    node::NodeHandle,
    notice::Notices,
    parts::Parts,
    process_signals::ProcessSignals,
    role::{StopPhase, health::RoleHealth, supervise},
};

/// A running engine. Nothing in it is global: two of them in one process start and stop apart.
///
/// Dropping it stops it at once, as a crash would; [`Engine::stop`] stops it in order.
pub struct Engine {
    parts: Parts,
    /// No more claims.
    stop: CancellationToken,
    /// Every outcome is committed, so leases no longer need renewal.
    stop_leases: CancellationToken,
    /// The roles of [`StopPhase::Claims`].
    claims: TaskTracker,
    /// All other roles.
    background: TaskTracker,
    committer: JoinHandle<()>,
    returner: Arc<UndeliveredReturner>,
    grace: Duration,
}

impl Engine {
    /// Starts every role on the current tokio runtime.
    pub(crate) fn start(parts: Parts, config: &EngineConfig) -> Self {
        let (sender, ended) = mpsc::channel::<EndedAttempt>(limits::ENDED_MAX);
        let committer = Committer {
            settler: parts.settler.clone(),
            ended,
            health: parts.health.watch(RoleHealth::new("committer")),
        };
        let engine = Self {
            committer: tokio::spawn(committer.run(parts.executor.abandon.clone())),
            returner: parts.claim_returner(Some(Handle::current())),
            parts,
            stop: CancellationToken::new(),
            stop_leases: CancellationToken::new(),
            claims: TaskTracker::new(),
            background: TaskTracker::new(),
            grace: config.grace,
        };
        for role in engine.parts.roles(config, sender, &engine.stop) {
            let (tasks, stop) = match role.stop_phase() {
                StopPhase::Claims => (&engine.claims, &engine.stop),
                StopPhase::Background => (&engine.background, &engine.stop),
                StopPhase::Leases => (&engine.background, &engine.stop_leases),
            };
            let stop = stop.clone();
            let health = engine.parts.health.watch(RoleHealth::new(role.name()));
            tasks.spawn(async move { supervise(&*role, &stop, &health).await });
        }
        engine
    }

    /// A client of this engine, which creates, queries and changes jobs.
    pub fn client(&self) -> Client {
        self.parts.client.clone()
    }

    /// A handle for workers and servers in front of this engine.
    pub fn node(&self) -> NodeHandle {
        self.parts.node(self.stop.clone(), self.returner.clone())
    }

    /// Notices of what this engine does to jobs from now on. [`NodeHandle::subscribe_to_all_nodes`]
    /// has those of other nodes as well.
    pub fn subscribe(&self) -> Notices {
        self.parts.announcer.subscribe()
    }

    /// Waits until a job has ended, on this node or another, and returns it.
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
            // Other nodes send no notices here; a slow poll finds what they have done.
            let _elapsed = tokio::time::timeout(limits::FINISHED_POLL, ended_here).await;
        }
    }

    /// How many attempts run, or wait for their outcome to be committed.
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

    /// Runs until SIGTERM or SIGINT, then stops in order; a second signal stops at once. Signals count
    /// from this call on, also before the future is polled.
    pub fn run_until_signal(self) -> impl Future<Output = std::io::Result<()>> {
        // Opened once, so that no signal falls between two waits.
        let signals = ProcessSignals::open();
        async move {
            let mut signals = signals?;
            signals.next().await;
            tracing::info!(
                running = self.in_flight(),
                "stopping: waiting for running attempts; send the signal again to stop immediately"
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
    }

    async fn stop_after(mut self, grace_ended: impl Future<Output = ()>) {
        self.stop.cancel();
        let Parts {
            executor, inflight, ..
        } = &self.parts;
        inflight.stop_all(StopReason::Stopping);
        let in_order = async {
            // Once the fetcher has ended, nothing new can start.
            self.claims.close();
            self.claims.wait().await;
            inflight.stop_all(StopReason::Stopping);
            executor.running.close();
            executor.running.wait().await;
            // Claims of workers that have left are given back.
            self.returner.tasks.close();
            self.returner.tasks.wait().await;
            // All senders are gone now, so the committer ends when everything is committed.
            let _panicked = (&mut self.committer).await;
        };
        tokio::pin!(in_order);
        tokio::select! {
            biased;
            () = &mut in_order => {}
            () = grace_ended => {
                executor.abandon.cancel();
                // A handler that blocks its thread cannot be stopped; it is left behind.
                let _elapsed = tokio::time::timeout(limits::STOP_NOW_MAX, in_order).await;
            }
        }
        self.stop_leases.cancel();
        self.background.close();
        let _elapsed = tokio::time::timeout(limits::STOP_NOW_MAX, self.background.wait()).await;
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop.cancel();
        self.stop_leases.cancel();
        self.parts.executor.abandon.cancel();
        self.committer.abort();
    }
}
