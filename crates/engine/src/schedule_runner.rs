//! Fires schedules. Needs no leader: a schedule's step is written under its revision and each
//! tick is unique, so any number of nodes fire it once.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{JobId, OverlapPolicy, Subscriptions};
use steadfast_store::{DueSchedule, FireRequest, FireResult, Store, StoreError, Wakeups};
use tokio::sync::Mutex;

use crate::{
    document_cache::DocumentCache,
    endpoints::Endpoints,
    inflight::Inflight,
    limits,
    random::Random,
    role::{Next, Role},
};

pub struct ScheduleRunner {
    pub store: Arc<dyn Store>,
    pub random: Arc<Random>,
    pub inflight: Arc<Inflight>,
    pub endpoints: Arc<DocumentCache<Endpoints>>,
    pub wakeups: Mutex<Wakeups>,
}

#[async_trait]
impl Role for ScheduleRunner {
    fn name(&self) -> &'static str {
        "schedule runner"
    }

    /// Fires one batch of due schedules; [`Next::AtOnce`] if there were any.
    async fn tick(&self) -> Result<Next, StoreError> {
        let found = self.store.due_schedules(limits::SCHEDULE_BATCH_MAX).await?;
        if found.due.is_empty() {
            let wait = found.next_due.map_or(limits::POLL, |due| {
                due.since(self.store.now()).min(limits::POLL)
            });
            return Ok(Next::AtWakeup {
                not_before: limits::SCHEDULE_PAUSE.min(wait),
                at_latest: wait,
            });
        }
        let endpoints = if found.due.iter().any(may_cancel) {
            self.endpoints.refresh_if_changed().await?
        } else {
            self.endpoints.get().await?
        };
        let subscriptions = endpoints.subscriptions();
        let due = found.due.into_iter();
        let requests: Vec<FireRequest> = due
            .map(|due| self.fire_request(due, subscriptions.clone()))
            .collect();
        let replaced: Vec<Option<JobId>> = requests.iter().map(|it| it.cancel).collect();
        let results = self.store.fire_schedules(requests).await?;
        for (replaced, result) in replaced.into_iter().zip(&results) {
            // At once if it runs here; the keepers of other nodes find it in the store.
            if let (Some(job), FireResult::Done) = (replaced, result) {
                self.inflight.cancel(job);
            }
        }
        let count = |wanted| results.iter().filter(|result| **result == wanted).count();
        let (fired, failed) = (count(FireResult::Done), count(FireResult::Failed));
        let outdated = results.len() - fired - failed;
        tracing::debug!(fired, outdated, failed, "schedules stepped");
        Ok(match (fired, failed) {
            // Other nodes are at these, or they cannot be written: they are due still.
            (0, 0) => Next::After(limits::SCHEDULE_PAUSE),
            (0, _) => Next::After(limits::SCHEDULE_RETRY),
            _ => Next::AtOnce,
        })
    }

    async fn wakeup(&self) {
        self.wakeups.lock().await.next().await;
    }
}

/// Whether an unfinished run may be cancelled, which is reported to endpoints.
fn may_cancel(due: &DueSchedule) -> bool {
    due.unfinished.is_some() && due.schedule.timetable.overlap() == OverlapPolicy::Replace
}

impl ScheduleRunner {
    fn fire_request(&self, due: DueSchedule, subscriptions: Arc<Subscriptions>) -> FireRequest {
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
