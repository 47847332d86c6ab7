//! The one shape of every background role, and the one loop that runs them.
//!
//! A role does one round of its work in `tick` and says when the next round should be. All the
//! rest is the same for every role and is written here once: the stop, the wait for a store that
//! is away, wake-ups, and the restart after a panic. Tests call `tick` and never the loop.
//!
//! The committer is not a role. A channel feeds it, so it never decides when to run again, and
//! it must outlive the stop until the channel is closed and empty.

pub mod backoff;
pub mod health;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use steadfast_store::StoreError;
use tokio_util::sync::CancellationToken;

use crate::{
    limits,
    role::{backoff::StoreBackoff, health::RoleHealth},
};

#[async_trait]
pub trait Role: Send + Sync {
    /// The name of the role in the log.
    fn name(&self) -> &'static str;

    /// When in the order of a stop this role ends.
    fn stop_phase(&self) -> StopPhase {
        StopPhase::Background
    }

    /// Does one round of work and says when the next one should be.
    async fn tick(&self) -> Result<Next, StoreError>;

    /// Whether a round may take any time because it waits, as a fetcher does for a free slot.
    fn waits_in_its_round(&self) -> bool {
        false
    }

    /// Returns when there may be work earlier than the last tick expected. Only heard by roles
    /// that answer with [`Next::AtWakeup`].
    async fn wakeup(&self) {
        std::future::pending::<()>().await;
    }

    /// Runs once, after the last tick of an orderly stop.
    async fn shut_down(&self) {}
}

/// When a role runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// There is more to do.
    AtOnce,
    /// After this long, wake-up or not.
    After(Duration),
    /// At a wake-up, but not before the one time has passed, and at the latest after the other.
    AtWakeup {
        not_before: Duration,
        at_latest: Duration,
    },
}

impl Next {
    /// At the next wake-up, and after `at_latest` without one.
    pub fn at_wakeup(at_latest: Duration) -> Self {
        Self::AtWakeup {
            not_before: Duration::ZERO,
            at_latest,
        }
    }
}

/// The order of a stop. The committer ends between `Background` and `Leases`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopPhase {
    /// The stop waits for this role before it looks at running attempts: it could start others.
    Claims,
    /// Ends when the stop begins; running attempts do not need it.
    Background,
    /// Goes on until every outcome is committed: running attempts would lose their leases.
    Leases,
}

/// Runs a role until the stop, and starts it again should it ever panic: a node without one of
/// its roles looks alive and is not.
pub async fn supervise(role: &dyn Role, stop: &CancellationToken, health: &Arc<RoleHealth>) {
    while AssertUnwindSafe(run(role, stop, health))
        .catch_unwind()
        .await
        .is_err()
    {
        health.failed();
        // A role that panics while it shuts down has nothing left to do.
        if stop.is_cancelled() {
            return;
        }
        tracing::error!(role = role.name(), "a role panicked; restarting it");
        stop.run_until_cancelled(tokio::time::sleep(limits::RESTART_DELAY))
            .await;
    }
}

/// The loop around the ticks of a role.
pub async fn run(role: &dyn Role, stop: &CancellationToken, health: &Arc<RoleHealth>) {
    let mut backoff = StoreBackoff::new(health.clone());
    while !stop.is_cancelled() {
        if !role.waits_in_its_round() {
            health.begin();
        }
        match role.tick().await {
            Ok(next) => {
                backoff.reset();
                stop.run_until_cancelled(wait(role, next)).await;
            }
            Err(error) => backoff.wait(&error, stop).await,
        }
    }
    role.shut_down().await;
}

async fn wait(role: &dyn Role, next: Next) {
    match next {
        Next::AtOnce => {}
        Next::After(delay) => tokio::time::sleep(delay).await,
        Next::AtWakeup {
            not_before,
            at_latest,
        } => {
            // A timer rounds up to a whole millisecond, which a fetcher must not pay for nothing.
            if !not_before.is_zero() {
                tokio::time::sleep(not_before).await;
            }
            tokio::select! {
                () = role.wakeup() => {}
                () = tokio::time::sleep(at_latest.saturating_sub(not_before)) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::{sync::Notify, time::Instant};

    use super::*;

    /// Answers its ticks in turn, and stops the loop with the last one.
    struct Script {
        answers: Vec<fn() -> Result<Next, StoreError>>,
        ticks: AtomicUsize,
        wakeup: Notify,
        stop: CancellationToken,
        was_shut_down: AtomicUsize,
    }

    impl Script {
        fn new(answers: Vec<fn() -> Result<Next, StoreError>>) -> Arc<Self> {
            Arc::new(Self {
                answers,
                ticks: AtomicUsize::new(0),
                wakeup: Notify::new(),
                stop: CancellationToken::new(),
                was_shut_down: AtomicUsize::new(0),
            })
        }

        async fn play(self: &Arc<Self>) -> Duration {
            let start = Instant::now();
            supervise(&**self, &self.stop, &health()).await;
            assert_eq!(self.ticks.load(Ordering::SeqCst), self.answers.len());
            assert_eq!(self.was_shut_down.load(Ordering::SeqCst), 1);
            start.elapsed()
        }
    }

    #[async_trait]
    impl Role for Script {
        fn name(&self) -> &'static str {
            "script"
        }

        async fn tick(&self) -> Result<Next, StoreError> {
            let tick = self.ticks.fetch_add(1, Ordering::SeqCst);
            if tick + 1 == self.answers.len() {
                self.stop.cancel();
            }
            self.answers[tick]()
        }

        async fn wakeup(&self) {
            self.wakeup.notified().await;
        }

        async fn shut_down(&self) {
            self.was_shut_down.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn health() -> Arc<RoleHealth> {
        Arc::new(RoleHealth::new("script"))
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_role_runs_again_when_it_says_and_ends_with_the_stop() {
        let script = Script::new(vec![
            || Ok(Next::AtOnce),
            || Ok(Next::After(3 * SECOND)),
            || Ok(Next::at_wakeup(4 * SECOND)),
            || Ok(Next::After(Duration::MAX)),
        ]);
        assert_eq!(script.play().await, 7 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wakeup_cuts_the_wait_short_but_not_the_pause_before_it() {
        let script = Script::new(vec![
            || {
                Ok(Next::AtWakeup {
                    not_before: SECOND,
                    at_latest: 9 * SECOND,
                })
            },
            || Ok(Next::AtOnce),
        ]);
        script.wakeup.notify_one();
        let took = script.play().await;
        assert!(took >= SECOND && took < 2 * SECOND, "{took:?}");
    }

    #[tokio::test]
    async fn a_role_that_panics_at_its_end_is_not_started_again() {
        let script = Script::new(vec![|| panic!("a mistake in a role")]);
        supervise(&*script, &script.stop, &health()).await;
        assert_eq!(script.ticks.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_role_outlasts_a_store_that_fails_and_its_own_panics() {
        let script = Script::new(vec![
            || Err(StoreError::unavailable("claim", "away")),
            || panic!("a mistake in a role"),
            || Ok(Next::AtOnce),
        ]);
        let took = script.play().await;
        assert!(took >= limits::RESTART_DELAY, "{took:?}");
    }
}
