//! Fires schedules. Needs no leader: a schedule's step is written under its revision and each
//! tick is unique, so any number of nodes fire it once.

use std::{sync::Arc, time::Duration};

use steadfast_store::{DueSchedule, FireRequest, FireResult, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::{
    cache::Cache, endpoints::Endpoints, fetcher::wait_for_work, limits, random::Random,
    store_backoff::StoreBackoff,
};
use steadfast_core::Subscriptions;

pub struct Cron {
    pub store: Arc<dyn Store>,
    pub random: Arc<Random>,
    pub endpoints: Arc<Cache<Endpoints>>,
}

impl Cron {
    pub async fn run(&self, stop: &CancellationToken) {
        let mut wakeups = self.store.wakeups();
        let mut backoff = StoreBackoff::default();
        while !stop.is_cancelled() {
            match self.tick().await {
                Ok(wait) => {
                    backoff.restore("cron");
                    let pause = wait.min(limits::CRON_PAUSE);
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                    wait_for_work(wait - pause, &mut wakeups, stop).await;
                }
                Err(error) => backoff.wait("cron", &error, &self.random, stop).await,
            }
        }
    }

    /// Fires what is due; says how long nothing will be.
    pub async fn tick(&self) -> Result<Duration, StoreError> {
        let found = self.store.due_schedules(limits::CRON_BATCH_MAX).await?;
        if !found.due.is_empty() {
            let subscriptions = self.endpoints.get().await?.subscriptions();
            let due = found.due.into_iter();
            let firings = due
                .map(|due| self.firing(due, subscriptions.clone()))
                .collect();
            let fired = self.store.fire_schedules(firings).await?;
            let outdated = fired
                .iter()
                .filter(|fired| **fired == FireResult::Outdated)
                .count();
            tracing::debug!(
                fired = fired.len() - outdated,
                outdated,
                "schedules stepped"
            );
            return Ok(Duration::ZERO);
        }
        Ok(found.next_due.map_or(limits::POLL, |due| {
            due.since(self.store.now()).min(limits::POLL)
        }))
    }

    fn firing(&self, due: DueSchedule, subscriptions: Arc<Subscriptions>) -> FireRequest {
        let DueSchedule {
            schedule,
            unfinished,
        } = due;
        let now = self.store.now();
        let step = schedule
            .timetable
            .step(&schedule.progress, unfinished.is_some(), now);
        FireRequest {
            schedule: schedule.id,
            revision: schedule.revision,
            runs: step
                .fire
                .iter()
                .map(|tick| schedule.run(*tick, self.random.job_id(now)))
                .collect(),
            skipped: step.skipped,
            cancel: unfinished.filter(|_| step.cancel_unfinished),
            subscriptions,
            progress: step.progress,
        }
    }
}
