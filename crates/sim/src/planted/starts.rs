//! Defects in how jobs come to be claimed.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Claim, Dice, JobCommand, JobId, JobLabel, NewJob, Outcome, ScheduledRun, Subscriptions,
    after_attempt,
};
use steadfast_store::{
    ClaimRequest, ClaimResult, EnqueueError, EnqueueResult, FireRequest, FireResult, JobFilter,
    StoreError, StoreLayer as _,
};

use super::{Bug, BuggyStore};

/// This many jobs are claimed only to be put back.
const PASSED_OVER: usize = 1;

impl BuggyStore {
    pub(super) async fn enqueue_wrongly(
        &self,
        mut jobs: Vec<NewJob>,
    ) -> Result<Vec<EnqueueResult>, EnqueueError> {
        match self.bug {
            Bug::KeyForgotten => {
                for job in &mut jobs {
                    job.idempotency_key = None;
                }
                self.inner.enqueue(jobs, None).await
            }
            Bug::NotStored if self.every(7) => {
                let now = self.inner.now();
                let lost = jobs.pop().map(|job| EnqueueResult::Created(job.id, now));
                let mut answers = self.inner.enqueue(jobs, None).await?;
                answers.extend(lost);
                Ok(answers)
            }
            _ => self.promise_wrongly(jobs).await,
        }
    }

    pub(super) async fn claim_wrongly(
        &self,
        mut request: ClaimRequest,
    ) -> Result<ClaimResult, StoreError> {
        match self.bug {
            Bug::RunAtIgnored => {
                let retrying = self.labelled(JobLabel::Retrying).await?;
                let scheduled = self.labelled(JobLabel::Scheduled).await?;
                let ids = retrying.into_iter().chain(scheduled).collect();
                let now = self
                    .inner
                    .run_command(ids, JobCommand::RunNow, Default::default(), None);
                now.await?;
            }
            Bug::TenantIgnored => request.tenant = None,
            Bug::PriorityIgnored => request.max += PASSED_OVER,
            _ => {}
        }
        if self.bug.is_of_flow() {
            let gates = self.gates().await?;
            let twisted = self.twist_gates(&gates).await?;
            self.inner.distort_gates(Some(Arc::new(twisted)));
        }
        let max = request.max;
        let mut claimed = match self.bug {
            Bug::TenantStarved if request.tenant.is_none() => self.claim_for_first(request).await?,
            _ => self.inner.claim(request).await?,
        };
        if self.bug == Bug::PriorityIgnored && claimed.claims.len() == max {
            let first = claimed.claims.remove(0);
            self.put_back(first).await?;
        }
        if self.bug == Bug::ClaimedTwice && self.every(5) {
            let running = self.running().await?;
            claimed.claims.extend(running.into_iter().next());
        }
        Ok(claimed)
    }

    async fn labelled(&self, label: JobLabel) -> Result<Vec<JobId>, StoreError> {
        let filter = JobFilter {
            label: Some(label),
            ..JobFilter::default()
        };
        let jobs = self.some(filter).await?;
        Ok(jobs.iter().map(|job| job.id).collect())
    }

    /// The claims of everything that runs, as if they were ours.
    pub(super) async fn running(&self) -> Result<Vec<Claim>, StoreError> {
        let filter = JobFilter {
            label: Some(JobLabel::Running),
            ..JobFilter::default()
        };
        let jobs = self.some(filter).await?.into_iter();
        Ok(jobs
            .filter_map(|job| {
                let fence = job.progress.fence;
                Claim::resume(job, fence).ok()
            })
            .collect())
    }

    async fn put_back(&self, claim: Claim) -> Result<(), StoreError> {
        let outcome = Outcome::Released { started: false };
        let ended = claim.end(outcome, self.inner.now());
        let transition = after_attempt(&ended, &Subscriptions::default(), Dice::new(0));
        self.inner.commit(vec![transition]).await?;
        Ok(())
    }

    pub(super) async fn fire_wrongly(
        &self,
        mut firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        let runs = firings.iter().flat_map(|firing| firing.runs.clone());
        let runs: Vec<NewJob> = runs.collect();
        for firing in &mut firings {
            match self.bug {
                Bug::TickForgotten => firing.runs.clear(),
                Bug::SkipForgotten => firing.skipped.clear(),
                _ => {}
            }
        }
        let fired = self.inner.fire_schedules(firings).await?;
        if self.bug == Bug::TickTwice {
            let again = runs.into_iter().filter_map(again).collect();
            // A run of this very tick is refused by any store; one beside it is not.
            if let Err(EnqueueError::Store(error)) = self.inner.enqueue(again, None).await {
                return Err(error);
            }
        }
        Ok(fired)
    }
}

fn again(mut run: NewJob) -> Option<NewJob> {
    let ScheduledRun { schedule, tick } = run.scheduled_run?;
    let tick = tick.plus(Duration::from_micros(1));
    run.id = JobId::from_bits(run.id.bits() ^ 1);
    run.scheduled_run = Some(ScheduledRun { schedule, tick });
    Some(run)
}
