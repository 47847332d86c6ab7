//! How the rounds of the roles go, for people and for load balancers: a node whose sweeper fails
//! round after round answers requests and still does not do its work.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    flow::{admission::Admission, store_meter::StoreSlow},
    limits::{CORRECTION_SHOWN, ROLE_FAILING_MAX, ROLE_ROUND_MAX},
};

/// A background part of a node, as its health is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoleState {
    /// Its name, as in the log.
    pub name: &'static str,
    /// How it is doing.
    pub status: RoleStatus,
    /// How long ago its last good round was; the start of the node counts as one.
    pub last_good: Duration,
}

/// How a background part of a node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoleStatus {
    /// Its rounds succeed, or it has nothing to do.
    Ok,
    /// Its rounds have failed for a while.
    Failing,
    /// Its round does not end.
    Stuck,
    /// It is gone, though the node runs.
    Ended,
}

impl RoleStatus {
    /// As in the answers of the server.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failing => "failing",
            Self::Stuck => "stuck",
            Self::Ended => "ended",
        }
    }
}

/// The health of a node.
#[derive(Default)]
pub struct NodeHealth {
    roles: Mutex<Vec<Arc<RoleHealth>>>,
    certificate_problem: Mutex<Option<String>>,
    correction: Mutex<Option<(Instant, String)>>,
    /// Measures how fast the store is.
    pub admission: Arc<Admission>,
}

impl NodeHealth {
    pub fn new(admission: Arc<Admission>) -> Self {
        Self {
            admission,
            ..Self::default()
        }
    }

    /// How slow the store is, if this node refuses creates for it.
    pub fn store_problem(&self) -> Option<StoreSlow> {
        self.admission.meter.problem()
    }

    /// Why the node cannot use the TLS certificate in its files, if it cannot.
    pub fn certificate_problem(&self) -> Option<String> {
        self.lock_problem().clone()
    }

    pub fn set_certificate_problem(&self, problem: Option<String>) {
        *self.lock_problem() = problem;
    }

    /// What the node corrected in the store lately, if it had to.
    pub fn correction(&self) -> Option<String> {
        let correction = self.lock_correction();
        let recent = correction.as_ref();
        let recent = recent.filter(|(at, _)| at.elapsed() < CORRECTION_SHOWN);
        recent.map(|(_, correction)| correction.clone())
    }

    pub fn set_correction(&self, correction: String) {
        *self.lock_correction() = Some((Instant::now(), correction));
    }

    fn lock_correction(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        let correction = self.correction.lock();
        correction.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_problem(&self) -> MutexGuard<'_, Option<String>> {
        let problem = self.certificate_problem.lock();
        problem.unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to watch a role.
    pub fn watch(&self, health: RoleHealth) -> Arc<RoleHealth> {
        let health = Arc::new(health);
        let mut roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        roles.push(health.clone());
        health
    }

    pub fn states(&self) -> Vec<RoleState> {
        let roles = self.roles.lock().unwrap_or_else(PoisonError::into_inner);
        roles.iter().map(|role| role.state()).collect()
    }
}

/// The health of one role.
pub struct RoleHealth {
    name: &'static str,
    rounds: Mutex<Rounds>,
}

struct Rounds {
    last_good: Instant,
    failing_since: Option<Instant>,
    /// When the current round began, if a round has a limit.
    began: Option<Instant>,
    has_ended: bool,
}

impl RoleHealth {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            rounds: Mutex::new(Rounds {
                last_good: Instant::now(),
                failing_since: None,
                began: None,
                has_ended: false,
            }),
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A round begins that should end soon.
    pub fn begin(&self) {
        self.lock().began = Some(Instant::now());
    }

    pub fn succeeded(&self) {
        let mut rounds = self.lock();
        rounds.last_good = Instant::now();
        rounds.failing_since = None;
        rounds.began = None;
    }

    pub fn failed(&self) {
        let mut rounds = self.lock();
        rounds.failing_since.get_or_insert_with(Instant::now);
        rounds.began = None;
    }

    pub fn ended(&self) {
        self.lock().has_ended = true;
    }

    fn state(&self) -> RoleState {
        let rounds = self.lock();
        let is_long = |since: Option<Instant>, most| since.is_some_and(|it| it.elapsed() >= most);
        RoleState {
            name: self.name,
            status: match () {
                () if rounds.has_ended => RoleStatus::Ended,
                () if is_long(rounds.failing_since, ROLE_FAILING_MAX) => RoleStatus::Failing,
                () if is_long(rounds.began, ROLE_ROUND_MAX) => RoleStatus::Stuck,
                () => RoleStatus::Ok,
            },
            last_good: rounds.last_good.elapsed(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_role_is_well_until_it_fails_or_hangs_for_long() {
        let health = NodeHealth::default();
        let role = health.watch(RoleHealth::new("sweeper"));
        let status = || health.states()[0].status;
        tokio::time::advance(Duration::from_secs(600)).await;
        assert_eq!(status(), RoleStatus::Ok, "it waits");

        role.begin();
        tokio::time::advance(ROLE_ROUND_MAX).await;
        assert_eq!(status(), RoleStatus::Stuck);

        role.failed();
        assert_eq!(status(), RoleStatus::Ok);
        tokio::time::advance(ROLE_FAILING_MAX / 2).await;
        role.begin();
        role.failed();
        tokio::time::advance(ROLE_FAILING_MAX / 2).await;
        assert_eq!(status(), RoleStatus::Failing);

        role.succeeded();
        tokio::time::advance(Duration::from_secs(1)).await;
        let state = &health.states()[0];
        assert_eq!(
            (state.status, state.last_good.as_secs()),
            (RoleStatus::Ok, 1)
        );

        role.ended();
        assert_eq!(status(), RoleStatus::Ended);
    }
}
