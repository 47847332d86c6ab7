//! What others ask of a running engine: workers above all, which are processes in any language
//! that claim jobs and say how they went.
//!
//! A worker's attempt is as good as a handler's: the same claims, the same fences, and the
//! same way to an end, through `settle`.

use std::{sync::Arc, time::Duration};

use steadfast_core::{Claim, Fence, Job, JobId, Outcome, StaleFence, Tenant, WorkerName};
use steadfast_store::{
    AttemptOwner, ClaimRequest, PageRequest, RenewResult, Renewal, Store, StoreError,
};
use tokio_util::sync::CancellationToken;

use crate::{
    Notices,
    executor::started,
    fetcher::wait_for_work,
    inflight::Inflight,
    limits,
    notice::Announcer,
    settle::{SettleResult, Settler},
};

/// A running engine, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct NodeHandle {
    pub(crate) name: WorkerName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settler: Arc<Settler>,
    pub(crate) announcer: Arc<Announcer>,
    pub(crate) inflight: Arc<Inflight>,
    /// Nobody needs to wait for jobs any longer.
    pub(crate) stop: CancellationToken,
}

/// How an attempt went, as its holder says.
#[derive(Clone, Debug)]
pub struct Settlement {
    pub job: JobId,
    pub fence: Fence,
    pub outcome: Outcome,
}

/// Why an attempt could not be settled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettleError {
    #[error("there is no {0}")]
    NotFound(JobId),
    #[error(transparent)]
    Stale(#[from] StaleFence),
}

impl NodeHandle {
    /// Who holds the claims of its handlers.
    pub fn name(&self) -> &WorkerName {
        &self.name
    }

    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// News of jobs from now on.
    pub fn subscribe(&self) -> Notices {
        self.announcer.subscribe()
    }

    /// How many attempts of its handlers run or wait for their outcome to be committed.
    pub fn in_flight(&self) -> usize {
        self.inflight.len()
    }

    /// Whether it claims no more.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns when it begins to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Claims due jobs; if there are none, waits for the first for as long as `wait`.
    pub async fn claim(
        &self,
        request: ClaimRequest,
        wait: Duration,
    ) -> Result<Vec<Claim>, StoreError> {
        let mut wakeups = self.store.wakeups();
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            let claimed = self.store.claim(request.clone()).await?;
            let left = deadline.saturating_duration_since(tokio::time::Instant::now());
            let is_over = left.is_zero() || self.stop.is_cancelled();
            if !claimed.claims.is_empty() || is_over {
                for claim in &claimed.claims {
                    self.announcer.announce(|| started(claim));
                }
                return Ok(claimed.claims);
            }
            let due = claimed
                .next_due
                .map_or(limits::POLL, |due| due.since(self.store.now()));
            let nap = due.max(NAP_MIN).min(limits::POLL).min(left);
            wait_for_work(nap, &mut wakeups, &self.stop).await;
        }
    }

    /// Renews leases. A worker learns here that it was asked to cancel.
    pub async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        self.store.renew(renewals).await
    }

    /// Ends attempts whose claims hold. Jobs of other tenants are not there. Saying the same
    /// once more, because an answer was lost, is no mistake.
    pub async fn settle(
        &self,
        settlements: Vec<Settlement>,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<Result<Job, SettleError>>, StoreError> {
        let ids: Vec<JobId> = settlements
            .iter()
            .map(|settlement| settlement.job)
            .collect();
        let jobs = self.store.get_jobs(ids.clone()).await?;
        let mut answers: Vec<Result<(), SettleError>> = Vec::with_capacity(ids.len());
        let mut batch = Vec::new();
        for (settlement, job) in settlements.into_iter().zip(jobs) {
            let theirs = job.filter(|job| tenant.is_none_or(|tenant| job.tenant == *tenant));
            let Some(job) = theirs else {
                answers.push(Err(SettleError::NotFound(settlement.job)));
                continue;
            };
            match Claim::resume(job, settlement.fence) {
                Ok(claim) => {
                    let ended = claim.ended(settlement.outcome, self.store.now());
                    batch.push((answers.len(), self.settler.undecided(ended)));
                    answers.push(Ok(()));
                }
                Err(_) if self.was_settled(&settlement).await? => answers.push(Ok(())),
                Err(stale) => answers.push(Err(stale.into())),
            }
        }
        let (places, mut undecided): (Vec<usize>, Vec<_>) = batch.into_iter().unzip();
        let settled = self.settler.settle(&mut undecided).await?;
        let jobs = self.store.get_jobs(ids.clone()).await?;
        for (place, settled) in places.into_iter().zip(settled) {
            if let (SettleResult::Stale { fence }, Some(job)) = (settled, &jobs[place]) {
                answers[place] = Err(SettleError::Stale(StaleFence {
                    job: job.id,
                    requested: fence,
                    current: job.progress.fence,
                    state: job.progress.state,
                }));
            }
        }
        let answered = answers.into_iter().zip(jobs).zip(ids);
        Ok(answered
            .map(|((answer, job), id)| answer.and_then(|()| job.ok_or(SettleError::NotFound(id))))
            .collect())
    }

    /// Whether an attempt has ended in the way that is told now.
    async fn was_settled(&self, settlement: &Settlement) -> Result<bool, StoreError> {
        let page = PageRequest::first(limits::SETTLED_LOOK_MAX);
        let of = AttemptOwner::Job(settlement.job);
        let attempts = self.store.list_attempts(of, page).await?.items;
        Ok(attempts.iter().any(|attempt| {
            attempt.fence == settlement.fence && Some(attempt.status) == settlement.outcome.status()
        }))
    }
}

/// A due time that lies in the past is another's to claim; look again, but not at once.
const NAP_MIN: Duration = Duration::from_millis(20);
