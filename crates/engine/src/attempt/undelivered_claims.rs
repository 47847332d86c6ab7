//! Claims on their way to a worker.
//!
//! A claim is durable before its worker knows of it. A worker whose connection breaks meanwhile
//! would leave its jobs running for no worker until their leases run out, and a job that starts at
//! most once would end with an unknown outcome without ever having run. So claims are held here
//! until they are really handed over, and are given back uncounted if they never are.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_util::future::BoxFuture;
use steadfast_core::{Claim, ConfirmAnswer, Failure, FailureClass, Job, Outcome, Timestamp};
use steadfast_store::{ClaimRequest, ClaimResult, Store, StoreError};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    attempt::{executor::started_notice, settle::Settler},
    role::{backoff::StoreBackoff, health::RoleHealth},
};

/// Claims that are given back, uncounted, unless they are taken. Take them when their worker has
/// them, or is sure to get them.
#[must_use = "claims that are not taken are given back"]
pub struct UndeliveredClaims {
    claims: Vec<Claim>,
    returner: Arc<UndeliveredReturner>,
}

impl UndeliveredClaims {
    /// The claims, which are still held.
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// The same without the questions that their worker cannot answer: it would repeat the work. Each
    /// is answered for it with `unknown`.
    pub async fn without_questions(
        mut self,
        can_answer: impl Fn(&Job) -> bool + Send,
    ) -> Result<Self, StoreError> {
        let is_open = |claim: &Claim| claim.job().is_question() && !can_answer(claim.job());
        if !self.claims.iter().any(is_open) {
            return Ok(self);
        }
        let claims = std::mem::take(&mut self.claims);
        let (open, kept) = claims.into_iter().partition(is_open);
        self.claims = kept;
        let open: Vec<Claim> = open;
        let settler = &self.returner.settler;
        let now = settler.store.now();
        let unanswered = open.into_iter().map(|claim| {
            let kind = &claim.job().kind;
            let message = format!("the worker has no confirm function for kind {kind}");
            let outcome = Outcome::Answered {
                answer: ConfirmAnswer::Unknown,
                output: None,
                failure: Some(Failure::new(FailureClass::ERROR, message)),
            };
            settler.reported(claim.end(outcome, now))
        });
        let mut unanswered: Vec<_> = unanswered.collect();
        settler.settle(&mut unanswered).await?;
        Ok(self)
    }

    /// Hands the claims over: their attempts begin.
    pub fn take(mut self) -> Vec<Claim> {
        let claims = std::mem::take(&mut self.claims);
        for claim in &claims {
            let announcer = &self.returner.settler.announcer;
            announcer.announce(|| started_notice(claim));
        }
        claims
    }
}

impl Drop for UndeliveredClaims {
    fn drop(&mut self) {
        if !self.claims.is_empty() {
            self.returner.give_back(std::mem::take(&mut self.claims));
        }
    }
}

/// Gives claims back for callers that have left.
pub struct UndeliveredReturner {
    settler: Arc<Settler>,
    /// Where the work goes on. Without one, as in a simulation that drops a node's futures to
    /// crash it, what is dropped is lost.
    runtime: Option<Handle>,
    /// The tasks that the stop of the engine waits for.
    pub tasks: TaskTracker,
    abandon: CancellationToken,
}

impl UndeliveredReturner {
    pub fn new(
        settler: Arc<Settler>,
        runtime: Option<Handle>,
        abandon: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            settler,
            runtime,
            tasks: TaskTracker::new(),
            abandon,
        })
    }

    /// Claims once. Dropping the call does not lose what it claims.
    pub fn claim(self: &Arc<Self>, store: Arc<dyn Store>, request: ClaimRequest) -> ClaimCall {
        ClaimCall {
            call: Some(Box::pin(async move { store.claim(request).await })),
            returner: self.clone(),
        }
    }

    /// No claims.
    pub fn nothing(self: &Arc<Self>) -> UndeliveredClaims {
        self.hold(Vec::new())
    }

    fn hold(self: &Arc<Self>, claims: Vec<Claim>) -> UndeliveredClaims {
        UndeliveredClaims {
            claims,
            returner: self.clone(),
        }
    }

    fn give_back(self: &Arc<Self>, claims: Vec<Claim>) {
        let returner = self.clone();
        self.spawn(async move {
            let now = returner.settler.store.now();
            let outcome = Outcome::Released { started: false };
            let claims = claims.into_iter();
            let mut batch: Vec<_> = claims
                .map(|claim| claim.end(outcome.clone(), now))
                .map(|ended| returner.settler.pending(ended))
                .collect();
            let health = RoleHealth::new("claims given back");
            let mut backoff = StoreBackoff::new(Arc::new(health));
            let settler = &returner.settler;
            let _abandoned = settler
                .settle_until_stored(&mut batch, &mut backoff, &returner.abandon)
                .await;
        });
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            self.tasks.spawn_on(work, runtime);
        }
    }
}

/// A claim that is under way. If its caller leaves, it is carried to its end, and what it claims
/// is given back: it may be written already.
pub struct ClaimCall {
    call: Option<BoxFuture<'static, Result<ClaimResult, StoreError>>>,
    returner: Arc<UndeliveredReturner>,
}

impl Future for ClaimCall {
    /// The claims, and when to look again.
    type Output = Result<(UndeliveredClaims, Option<Timestamp>), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(call) = &mut self.call else {
            return Poll::Pending;
        };
        let claimed = ready!(call.as_mut().poll(context));
        self.call = None;
        let returner = &self.returner;
        Poll::Ready(claimed.map(|claimed| (returner.hold(claimed.claims), claimed.next_due)))
    }
}

impl Drop for ClaimCall {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            let returner = self.returner.clone();
            self.returner.spawn(async move {
                if let Ok(claimed) = call.await {
                    drop(returner.hold(claimed.claims));
                }
            });
        }
    }
}
