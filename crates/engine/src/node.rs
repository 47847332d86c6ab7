//! A running engine as others see it: above all workers, which are processes in any language that
//! claim jobs and report how they ended.
//!
//! A worker's attempt is as good as a handler's: the same claims, the same fences, and the
//! same way to an end, through `settle`.

use std::{sync::Arc, time::Duration};

use futures_util::future::join;
use steadfast_core::{
    AttemptStatus, Claim, Fence, Job, JobId, LogLines, NewJob, OutboxRefusal, Outcome, StaleFence,
    Tenant, WorkerName,
};
use steadfast_store::{
    AttemptOwner, ClaimRequest, JobDetail, NewLogLines, PageRequest, RenewResult, Renewal, Store,
    StoreError, WakeInterest, Wakeups, wait_outside,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    attempt::{
        settle::{PendingSettlement, SettleResult, Settler},
        undelivered_claims::{UndeliveredClaims, UndeliveredReturner},
    },
    client::Client,
    flow::{call_slots::CallSlots, claim_pause::ClaimPause, gates::GateCache},
    inflight::Inflight,
    limits,
    notice::{self, Announcer, Notices},
    role::health::{NodeHealth, RoleState},
    roles::{
        expirer::Expirer,
        health_keeper::{HealthKeeper, IncidentCounts},
        keeper::Keeper,
        sweeper::Sweeper,
    },
};

/// A running engine as servers and workers use it. Cheap to clone.
#[derive(Clone)]
pub struct NodeHandle {
    pub(crate) name: WorkerName,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settler: Arc<Settler>,
    pub(crate) announcer: Arc<Announcer>,
    pub(crate) inflight: Arc<Inflight>,
    pub(crate) gates: Arc<GateCache>,
    pub(crate) calls: Arc<CallSlots>,
    pub(crate) returner: Arc<UndeliveredReturner>,
    pub(crate) health_keeper: Arc<HealthKeeper>,
    pub(crate) health: Arc<NodeHealth>,
    pub(crate) client: Client,
    /// The engine stops: waiting for jobs ends.
    pub(crate) stop: CancellationToken,
}

/// How an attempt ended, as its holder reports it. A caller has to know all of it, so it has no
/// defaults and is not `non_exhaustive`.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// The job of the claim.
    pub job: JobId,
    /// The fence of the claim.
    pub fence: Fence,
    /// The last lines of its log.
    pub log: LogLines,
    /// How the attempt ended.
    pub outcome: Outcome,
    /// Jobs that are created if and only if the attempt succeeds. Their ids are replaced by such
    /// that follow from the attempt.
    pub on_success: Vec<NewJob>,
}

/// Why an attempt could not be settled. Neither reason passes with time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// There is no such job, or it belongs to another tenant.
    #[error("there is no {0}")]
    NotFound(JobId),
    /// The claim has expired.
    #[error(transparent)]
    Stale(#[from] StaleFence),
    /// A job that was to be created with the success cannot be created. Nothing was written, and the
    /// claim holds.
    #[error("{0}")]
    OutboxRefused(OutboxRefusal),
}

/// Why a worker got no claims.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The node stops, and claims nothing more.
    #[error("the node is stopping; use another node")]
    Stopping,
}

/// Attempts that workers report, on their way to the store.
struct ReportedAttempts {
    ids: Vec<JobId>,
    /// One per report.
    results: Vec<Result<(), SettleError>>,
    /// Of each pending settlement: the index of its report, and the status it reports.
    places: Vec<(usize, Option<AttemptStatus>)>,
    pending: Vec<PendingSettlement>,
}

impl NodeHandle {
    /// The holder of the claims of its handlers.
    pub fn name(&self) -> &WorkerName {
        &self.name
    }

    /// The store that it runs on.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// Notices of what this node does to jobs from now on.
    pub fn subscribe(&self) -> Notices {
        self.announcer.subscribe()
    }

    /// Notices of what any node on the same store does to jobs. Those of this node begin now and
    /// come at once; those of others begin and come within about a second, without stack traces. If
    /// there are more than nodes pass on, some are missing, and the log says how many.
    pub fn subscribe_to_all_nodes(&self) -> Notices {
        self.announcer.subscribe_to_all_nodes()
    }

    /// How many attempts of its handlers run or wait for their outcome to be committed.
    pub fn in_flight(&self) -> usize {
        self.inflight.len()
    }

    /// How many of them are HTTP jobs and deliveries of webhooks.
    pub fn calls_in_flight(&self) -> usize {
        self.calls.in_flight()
    }

    /// Incidents of destinations since the node started, if it was the first to detect them.
    pub fn incident_counts(&self) -> IncidentCounts {
        self.health_keeper.incident_counts()
    }

    /// How its background parts are doing.
    pub fn roles(&self) -> Vec<RoleState> {
        self.health.states()
    }

    /// Reports why this node cannot use the TLS certificate in its files, or that it can. It is
    /// stored with the next heartbeat, and an alert on every node.
    pub fn report_certificate(&self, problem: Option<String>) {
        self.health.set_certificate_problem(problem);
    }

    /// Whether it claims no more.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns when it begins to stop.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Claims due jobs; if there are none, waits for the first for as long as `wait`. A stop of
    /// the node ends the wait without any, and from then on claims are refused.
    ///
    /// Whenever the caller leaves, jobs that it did not take go back, uncounted.
    pub async fn claim(
        &self,
        request: ClaimRequest,
        wait: Duration,
    ) -> Result<UndeliveredClaims, ClaimError> {
        if self.stop.is_cancelled() {
            return Err(ClaimError::Stopping);
        }
        let request = ClaimRequest {
            is_thorough: wait.is_zero(),
            ..request
        };
        let claimed = self.claim_in_time(request, wait);
        match self.stop.run_until_cancelled(claimed).await {
            Some(claimed) => Ok(claimed?),
            None => Ok(self.returner.nothing()),
        }
    }

    async fn claim_in_time(
        &self,
        request: ClaimRequest,
        wait: Duration,
    ) -> Result<UndeliveredClaims, StoreError> {
        // A caller that does not wait takes part in no wake-ups.
        let interest = (!wait.is_zero()).then(|| WakeInterest::of(&request));
        let mut wakeups = interest.map(|interest| self.store.wakeups_for(interest));
        let deadline = Instant::now() + wait;
        let pause = ClaimPause::default();
        let mut gate_changes = self.gates.changes();
        loop {
            if let Some(wakeups) = &wakeups {
                wakeups.mark_look(self.store.now());
            }
            gate_changes.mark_unchanged();
            let call = self.returner.claim(self.store.clone(), request.clone());
            let (held, next_due) = call.await?;
            let Some(wakeups) = &mut wakeups else {
                return Ok(held);
            };
            if !held.is_empty() || Instant::now() >= deadline {
                return Ok(held);
            }
            let pause = pause.next(0, next_due, self.store.now());
            let waited = async {
                tokio::select! {
                    () = self.wait_for_jobs(wakeups, pause, deadline) => {}
                    _changed = gate_changes.changed() => {}
                }
            };
            wait_outside(waited).await;
        }
    }

    /// Waits for a wake-up or until the pause is over. If no time is known to wait for, it is
    /// enough that one of those who wait for the same looks now and then.
    async fn wait_for_jobs(&self, wakeups: &mut Wakeups, pause: Duration, deadline: Instant) {
        let mut left = pause;
        loop {
            let next_poll_at = self.store.now().plus(left);
            let end = deadline.min(Instant::now() + left);
            let woken = tokio::time::timeout_at(end, wakeups.next_before(next_poll_at)).await;
            if woken.is_ok() || pause < limits::POLL || Instant::now() >= deadline {
                return;
            }
            let now = self.store.now();
            let last_look = wakeups.last_look();
            let unlooked = last_look.map_or(Duration::MAX, |looked| now.since(looked));
            if unlooked >= limits::POLL {
                return;
            }
            left = limits::POLL - unlooked;
        }
    }

    /// Renews the leases of attempts that run here, and settles those whose lease has run out,
    /// and jobs that did not start in time, without waiting for the next round of the roles: after a
    /// clock was moved by hand.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        let keeper = Keeper {
            store: self.store.clone(),
            inflight: self.inflight.clone(),
            worker: self.name.clone(),
        };
        keeper.renew().await?;
        let sweeper = Sweeper::new(self.store.clone(), self.settler.clone(), Duration::ZERO);
        while sweeper.sweep().await? > 0 {}
        let expirer = Expirer {
            store: self.store.clone(),
            client: self.client.clone(),
            every: Duration::ZERO,
        };
        while expirer.expire().await? > 0 {}
        let endpoints = self.client.endpoint_cache().refresh_if_changed().await?;
        let follow = || {
            let subscriptions = endpoints.subscriptions();
            self.store
                .release_dependants(limits::LINK_BATCH_MAX, subscriptions)
        };
        while follow().await?.has_more {}
        Ok(())
    }

    /// Renews leases. The result also says whether the job should be cancelled.
    pub async fn renew(&self, renewals: Vec<Renewal>) -> Result<Vec<RenewResult>, StoreError> {
        self.store.renew(renewals).await
    }

    /// Adds lines to the logs of running attempts, whose claims hold.
    pub async fn append_logs(&self, logs: Vec<(&Job, NewLogLines)>) -> Result<(), StoreError> {
        let (jobs, lines): (Vec<&Job>, Vec<NewLogLines>) = logs.into_iter().unzip();
        if lines.is_empty() {
            return Ok(());
        }
        let held = self.store.append_logs(lines).await?;
        for (job, _) in jobs.into_iter().zip(held).filter(|(_, held)| *held) {
            self.announcer.announce(|| notice::logged(job));
        }
        Ok(())
    }

    /// Ends attempts whose claims hold. Jobs of other tenants are not found. Repeating a
    /// settlement whose answer was lost is no mistake.
    pub async fn settle(
        &self,
        settlements: Vec<Settlement>,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<Result<Job, SettleError>>, StoreError> {
        let is_visible = |job: &Job| tenant.is_none_or(|tenant| job.tenant == *tenant);
        self.settle_as(settlements, is_visible, |_| None).await
    }

    /// The same for jobs that the caller may settle, by workers of whose programs the versions are known:
    /// groups of failures name them. Other jobs are not found.
    pub async fn settle_as(
        &self,
        settlements: Vec<Settlement>,
        may_settle: impl Fn(&Job) -> bool + Send + Sync,
        version: impl Fn(&Job) -> Option<String> + Send + Sync,
    ) -> Result<Vec<Result<Job, SettleError>>, StoreError> {
        let mut reported = self.resume(settlements, may_settle, version).await?;
        let settled = self.settler.settle(&mut reported.pending).await?;
        self.answer(reported, settled).await
    }

    /// Settles attempts as [`settle_as`](Self::settle_as) does, and claims jobs without waiting.
    ///
    /// The store gets both at once, the settlements first, so that one commit can hold them if the store is busy.
    pub async fn settle_and_claim(
        &self,
        settlements: Vec<Settlement>,
        may_settle: impl Fn(&Job) -> bool + Send + Sync,
        version: impl Fn(&Job) -> Option<String> + Send + Sync,
        request: ClaimRequest,
    ) -> Result<(Vec<Result<Job, SettleError>>, UndeliveredClaims), ClaimError> {
        if self.stop.is_cancelled() {
            return Err(ClaimError::Stopping);
        }
        let mut reported = self.resume(settlements, may_settle, version).await?;
        let claim = self.returner.claim(self.store.clone(), request.clone());
        let settle = self.settler.settle(&mut reported.pending);
        let (settled, claimed) = join(settle, claim).await;
        let results = self.answer(reported, settled?).await?;
        let (mut held, _) = claimed?;
        if held.is_empty() {
            // The attempts that have just ended may have kept a gate closed.
            held = self.claim_in_time(request, Duration::ZERO).await?;
        }
        Ok((results, held))
    }

    /// Gives back claims that their worker never got, uncounted. Those that no longer hold are
    /// left alone.
    pub async fn give_back(
        &self,
        worker: &WorkerName,
        claims: Vec<(JobId, Fence)>,
    ) -> Result<(), StoreError> {
        let ids = claims.iter().map(|(job, _)| *job).collect();
        let jobs = self.store.get_jobs(ids, JobDetail::Full).await?;
        let now = self.store.now();
        let is_holder = |job: &Job| job.progress.worker.as_ref() == Some(worker);
        let resumed = claims
            .into_iter()
            .zip(jobs)
            .filter_map(|((_, fence), job)| Claim::resume(job.filter(is_holder)?, fence).ok());
        let mut pending: Vec<PendingSettlement> = resumed
            .map(|claim| claim.end(Outcome::Released { started: false }, now))
            .map(|ended| self.settler.pending(ended))
            .collect();
        self.settler.settle(&mut pending).await?;
        Ok(())
    }

    /// Takes up the claims of reported attempts again.
    async fn resume(
        &self,
        settlements: Vec<Settlement>,
        may_settle: impl Fn(&Job) -> bool + Send + Sync,
        version: impl Fn(&Job) -> Option<String> + Send + Sync,
    ) -> Result<ReportedAttempts, StoreError> {
        let ids: Vec<JobId> = settlements
            .iter()
            .map(|settlement| settlement.job)
            .collect();
        let jobs = self.store.get_jobs(ids.clone(), JobDetail::Full).await?;
        let mut reported = ReportedAttempts {
            results: Vec::with_capacity(ids.len()),
            ids,
            places: Vec::new(),
            pending: Vec::new(),
        };
        for (settlement, job) in settlements.into_iter().zip(jobs) {
            let results = &mut reported.results;
            let Some(job) = job.filter(&may_settle) else {
                results.push(Err(SettleError::NotFound(settlement.job)));
                continue;
            };
            let status = settlement.outcome.status();
            match Claim::resume(job, settlement.fence) {
                Ok(claim) => {
                    // A success belongs to no group.
                    let is_success = matches!(settlement.outcome, Outcome::Success { .. });
                    let failed = Some(claim.job()).filter(|_| !is_success);
                    let version = failed.and_then(&version);
                    let mut ended = claim.end(settlement.outcome, self.store.now());
                    ended.set_worker_version(version);
                    ended.set_log(settlement.log);
                    ended.set_reported_outbox(settlement.on_success);
                    reported.places.push((results.len(), status));
                    reported.pending.push(self.settler.reported(ended));
                    results.push(Ok(()));
                }
                Err(stale) if self.was_settled(&stale, status).await? => results.push(Ok(())),
                Err(stale) => results.push(Err(stale.into())),
            }
        }
        Ok(reported)
    }

    /// The jobs of reported attempts as they now are.
    async fn answer(
        &self,
        reported: ReportedAttempts,
        settled: Vec<SettleResult>,
    ) -> Result<Vec<Result<Job, SettleError>>, StoreError> {
        let ReportedAttempts {
            ids,
            mut results,
            places,
            ..
        } = reported;
        let jobs = self.store.get_jobs(ids.clone(), JobDetail::Full).await?;
        for ((index, status), result) in places.into_iter().zip(settled) {
            match (result, &jobs[index]) {
                (SettleResult::Stale { fence }, Some(job)) => {
                    let stale = StaleFence {
                        job: job.id,
                        requested: fence,
                        current: job.progress.fence,
                        state: job.progress.state,
                    };
                    // The same report may have been under way when this one came.
                    if !self.was_settled(&stale, status).await? {
                        results[index] = Err(SettleError::Stale(stale));
                    }
                }
                (SettleResult::OutboxRefused(refusal), _) => {
                    results[index] = Err(SettleError::OutboxRefused(refusal));
                }
                (SettleResult::Stale { .. } | SettleResult::Done, _) => {}
            }
        }
        let with_jobs = results.into_iter().zip(jobs).zip(ids);
        Ok(with_jobs
            .map(|((result, job), id)| result.and_then(|()| job.ok_or(SettleError::NotFound(id))))
            .collect())
    }

    /// Whether the attempt of an expired claim has ended in the way that is reported now.
    async fn was_settled(
        &self,
        stale: &StaleFence,
        status: Option<AttemptStatus>,
    ) -> Result<bool, StoreError> {
        let page = PageRequest::first(limits::REPEATED_SETTLEMENT_MAX);
        let owner = AttemptOwner::Job(stale.job);
        let attempts = self.store.list_attempts(owner, page).await?.items;
        let is_same = |recorded| match (recorded, status) {
            // Of a question, a success is an answer, and so is a failure.
            (AttemptStatus::Asked, Some(AttemptStatus::Success | AttemptStatus::Failed)) => true,
            (recorded, status) => Some(recorded) == status,
        };
        Ok(attempts
            .iter()
            .any(|attempt| attempt.fence == stale.requested && is_same(attempt.status)))
    }
}
