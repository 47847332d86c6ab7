//! Fires schedules. Needs no leader: a schedule's step is written under its revision and each
//! tick is unique, so any number of nodes fire it once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use steadfast_core::{JobId, OverlapPolicy, ScheduleId, Subscriptions, Timestamp};
use steadfast_store::{DueSchedule, FireRequest, FireResult, Store, StoreError, Wakeups};

use crate::{
    documents::{cache::DocumentCache, endpoints::Endpoints},
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
    pub wakeups: tokio::sync::Mutex<Wakeups>,
    /// When schedules last failed to be written. They are the longest due, and would stand before
    /// all others for ever.
    pub failed_at: Mutex<HashMap<ScheduleId, Timestamp>>,
}

#[async_trait]
impl Role for ScheduleRunner {
    fn name(&self) -> &'static str {
        "schedule runner"
    }

    /// Fires one batch of due schedules; [`Next::AtOnce`] if there were any.
    async fn tick(&self) -> Result<Next, StoreError> {
        let postponed = self.postponed();
        let limit = limits::SCHEDULE_BATCH_MAX + postponed.len();
        let mut found = self.store.due_schedules(limit).await?;
        let is_postponed = |due: &DueSchedule| postponed.contains_key(&due.schedule.id);
        found.due.retain(|due| !is_postponed(due));
        found.due.truncate(limits::SCHEDULE_BATCH_MAX);
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
        let ids: Vec<ScheduleId> = requests.iter().map(|it| it.schedule).collect();
        let results = self.store.fire_schedules(requests).await?;
        let failures = ids.iter().zip(&results);
        self.note_failures(failures.filter(|(_, result)| **result == FireResult::Failed));
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
    /// The schedules that have failed lately, and are passed over.
    fn postponed(&self) -> HashMap<ScheduleId, Timestamp> {
        let now = self.store.now();
        let mut failed_at = self
            .failed_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back must not put them off.
        failed_at.retain(|_, at| *at <= now && now.since(*at) < limits::SCHEDULE_SET_ASIDE);
        failed_at.clone()
    }

    fn note_failures<'a>(&self, failures: impl Iterator<Item = (&'a ScheduleId, &'a FireResult)>) {
        let now = self.store.now();
        let mut failed_at = self
            .failed_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let room = limits::SCHEDULES_SET_ASIDE_MAX.saturating_sub(failed_at.len());
        failed_at.extend(failures.take(room).map(|(id, _)| (*id, now)));
    }

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
            audit: None,
            progress: step.progress,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_store::{
        BaseStore as _, JobFilter, LayeredStore, ManualClock, MemoryStore, QueryStore as _,
        ScheduleStore as _, StoreLayer, WakeInterest,
    };

    use super::*;
    use crate::{Client, JobRequest, ScheduleRequest};

    /// No schedule of tenant `bad` can be written.
    struct BadTenant {
        memory: MemoryStore,
        bad: Mutex<Vec<ScheduleId>>,
    }

    #[async_trait]
    impl StoreLayer for BadTenant {
        fn inner(&self) -> &dyn Store {
            &self.memory
        }

        async fn fire_schedules(
            &self,
            firings: Vec<FireRequest>,
        ) -> Result<Vec<FireResult>, StoreError> {
            let mut results = Vec::new();
            for firing in firings {
                let is_bad = self.bad.lock().unwrap().contains(&firing.schedule);
                results.extend(if is_bad {
                    vec![FireResult::Failed]
                } else {
                    self.memory.fire_schedules(vec![firing]).await?
                });
            }
            Ok(results)
        }
    }

    #[tokio::test]
    async fn schedules_that_cannot_be_written_do_not_hold_up_those_behind_them() {
        let clock = ManualClock::default();
        let store = Arc::new(LayeredStore(BadTenant {
            memory: MemoryStore::new(Arc::new(clock.clone())),
            bad: Mutex::default(),
        }));
        let client = Client::new(store.clone());
        let schedule = async |name: &str| {
            let job = JobRequest::new("mail", Default::default());
            let every = Duration::from_secs(60);
            let request = ScheduleRequest::every(name, every, job);
            client.schedule(request).await.unwrap().id
        };
        for number in 0..limits::SCHEDULE_BATCH_MAX + 1 {
            let id = schedule(&format!("bad-{number}")).await;
            store.bad.lock().unwrap().push(id);
        }
        clock.advance(Duration::from_secs(1));
        schedule("good").await;
        clock.advance(Duration::from_secs(60));

        let runner = ScheduleRunner {
            store: store.clone(),
            random: Arc::new(Random::seeded(1)),
            inflight: Arc::default(),
            endpoints: Arc::new(Endpoints::cache(store.clone(), &Arc::default())),
            wakeups: tokio::sync::Mutex::new(store.wakeups_for(WakeInterest::Schedules)),
            failed_at: Mutex::default(),
        };
        let runs = async || {
            let count = store.count_jobs(JobFilter::default(), 10).await.unwrap();
            count.count
        };
        runner.tick().await.unwrap();
        assert_eq!(runs().await, 0, "the longest due go first");
        runner.tick().await.unwrap();
        assert_eq!(runs().await, 1);
        // Nothing is left to do until they are tried again, and then they can be written.
        assert!(!matches!(runner.tick().await.unwrap(), Next::AtOnce));
        store.bad.lock().unwrap().clear();
        clock.advance(limits::SCHEDULE_SET_ASIDE);
        runner.tick().await.unwrap();
        runner.tick().await.unwrap();
        assert_eq!(runs().await, 10, "and more");
    }
}
