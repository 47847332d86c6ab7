//! Corrects what a clock that was ahead has left behind.
//!
//! Times are kept as they were written. A machine that starts with a wrong clock, and has it set right a
//! moment later, would leave schedules silent, leases held and retries waiting for as long as the clock
//! was ahead. What was written by such a clock shows it: a last tick, a start or an end that lies in the
//! future. It is looked for after the start, and after the clock was seen to go back.
//!
//! The same times lie in the future while the clock is behind, as that of a machine without a battery is
//! until it is set. So nothing is corrected before the clock has kept its time for some minutes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use steadfast_core::{
    Job, JobCommand, JobEdit, JobLabel, Timestamp, limits::CLOCK_STEP_MAX, limits::LEASE_MAX,
};
use steadfast_store::{
    AttemptOwner, FireRequest, FireResult, JobFilter, PageRequest, RenewResult, Renewal,
    ScheduleFilter, Store, StoreError,
};

use tokio::time::Instant;

use crate::{
    limits,
    role::{Next, Role},
};

pub struct ClockKeeper {
    pub store: Arc<dyn Store>,
    pub seen: Mutex<SeenClock>,
}

/// What was seen of the clock.
#[derive(Default)]
pub struct SeenClock {
    /// The latest time before it went back, or the time of the last round.
    last: Option<Timestamp>,
    /// Since when it has been behind that time, by a clock that is never set.
    behind_since: Option<Instant>,
}

/// How much was corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corrections {
    pub schedules: usize,
    pub leases: usize,
    pub retries: usize,
}

#[async_trait]
impl Role for ClockKeeper {
    fn name(&self) -> &'static str {
        "clock keeper"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        let now = self.store.now();
        if self.is_settled_behind(now) {
            self.correct(now).await?;
            *self.seen() = SeenClock {
                last: Some(now),
                behind_since: None,
            };
        }
        Ok(Next::After(limits::POLL))
    }
}

impl ClockKeeper {
    fn seen(&self) -> MutexGuard<'_, SeenClock> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the clock has gone back, or nothing was known of it, and has not been set since for so
    /// long that it is right.
    fn is_settled_behind(&self, now: Timestamp) -> bool {
        let mut seen = self.seen();
        let is_behind = |last: Timestamp| last > now.plus(CLOCK_STEP_MAX);
        if seen.last.is_some_and(|last| !is_behind(last)) {
            *seen = SeenClock {
                last: Some(now),
                behind_since: None,
            };
            return false;
        }
        let since = *seen.behind_since.get_or_insert_with(Instant::now);
        since.elapsed() >= limits::CLOCK_SETTLED
    }

    /// Corrects what lies further ahead than it can.
    pub async fn correct(&self, now: Timestamp) -> Result<Corrections, StoreError> {
        let done = Corrections {
            schedules: self.correct_schedules(now).await?,
            leases: self.correct_jobs(JobLabel::Running, now).await?,
            retries: self.correct_jobs(JobLabel::Retrying, now).await?,
        };
        if done != Corrections::default() {
            tracing::warn!(
                schedules = done.schedules,
                leases = done.leases,
                retries = done.retries,
                "the clock was ahead; what it wrote was corrected to {now}"
            );
        }
        Ok(done)
    }

    async fn correct_schedules(&self, now: Timestamp) -> Result<usize, StoreError> {
        let mut page = PageRequest::first(limits::SCHEDULE_BATCH_MAX);
        let mut count = 0;
        loop {
            let filter = ScheduleFilter::default();
            let listed = self.store.list_schedules(filter, page).await?;
            let ahead = listed.items.iter().filter_map(|schedule| {
                Some(FireRequest {
                    schedule: schedule.id,
                    revision: schedule.revision,
                    runs: Vec::new(),
                    skipped: Vec::new(),
                    cancel: None,
                    subscriptions: Arc::default(),
                    progress: schedule.timetable.rewind(&schedule.progress, now)?,
                    audit: None,
                })
            });
            let ahead: Vec<FireRequest> = ahead.collect();
            if !ahead.is_empty() {
                let results = self.store.fire_schedules(ahead).await?;
                let done = results.iter().filter(|it| **it == FireResult::Done);
                count += done.count();
            }
            page.after = listed.next;
            if page.after.is_none() {
                return Ok(count);
            }
        }
    }

    async fn correct_jobs(&self, label: JobLabel, now: Timestamp) -> Result<usize, StoreError> {
        let mut page = PageRequest::first(limits::SWEEP_BATCH_MAX);
        let mut count = 0;
        for _ in 0..limits::CLOCK_PAGES_MAX {
            let filter = JobFilter {
                label: Some(label),
                ..JobFilter::default()
            };
            let listed = self.store.list_jobs(filter, page).await?;
            for job in &listed.items {
                let is_corrected = match label {
                    JobLabel::Running => self.correct_lease(job, now).await?,
                    _ => self.correct_retry(job, now).await?,
                };
                count += usize::from(is_corrected);
            }
            page.after = listed.next;
            if page.after.is_none() {
                break;
            }
        }
        Ok(count)
    }

    /// A lease that began in the future, or lasts longer than any can, lasts for its length from now
    /// on, or for the longest if that is not known: a worker that is alive must not lose it.
    async fn correct_lease(&self, job: &Job, now: Timestamp) -> Result<bool, StoreError> {
        let ahead = now.plus(CLOCK_STEP_MAX);
        let (Some(until), Some(started_at)) = (job.progress.lease_until, job.progress.started_at)
        else {
            return Ok(false);
        };
        let lease = match started_at > ahead {
            true => until.since(started_at).max(job.lease).min(LEASE_MAX),
            false => LEASE_MAX,
        };
        if until <= ahead.plus(lease) {
            return Ok(false);
        }
        let renewal = Renewal {
            job: job.id,
            fence: job.progress.fence,
            lease,
            note: None,
            within_timeout: false,
        };
        let renewed = self.store.renew(vec![renewal]).await?;
        Ok(matches!(renewed[..], [RenewResult::Held { .. }]))
    }

    /// A retry after an attempt that ended in the future waits for its delay from now on.
    async fn correct_retry(&self, job: &Job, now: Timestamp) -> Result<bool, StoreError> {
        let ahead = now.plus(CLOCK_STEP_MAX);
        let Some(delay) = job.progress.last_delay else {
            return Ok(false);
        };
        if job.progress.run_at <= ahead.plus(delay) {
            return Ok(false);
        }
        // A person may have chosen that time.
        let owner = AttemptOwner::Job(job.id);
        let last = self
            .store
            .list_attempts(owner, PageRequest::first(1))
            .await?;
        let last = last.items.first().filter(|last| last.finished_at > ahead);
        let Some(last) = last else {
            return Ok(false);
        };
        // The delay that was decided, also by a snooze.
        let delay = job.progress.run_at.since(last.finished_at);
        let edit = JobCommand::Edit(JobEdit {
            run_at: Some(now.plus(delay)),
            ..JobEdit::default()
        });
        let edited = self
            .store
            .run_command(vec![job.id], edit, Arc::default(), None);
        Ok(edited.await?.iter().all(Result::is_ok))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_core::{Outcome, Payload, PolicyPatch, WorkerName};
    use steadfast_store::{
        BaseStore as _, ClaimRequest, JobDetail, JobStore as _, ManualClock, MemoryStore,
        QueryStore as _, ScheduleStore as _,
    };

    use super::*;
    use crate::{EngineBuilder, JobRequest, ScheduleRequest};

    const HOUR: Duration = Duration::from_secs(3_600);
    const SECOND: Duration = Duration::from_secs(1);

    // long: one story, told by one clock
    #[tokio::test(start_paused = true)]
    async fn what_a_clock_that_was_ahead_has_written_is_corrected() {
        let clock = ManualClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let parts = EngineBuilder::new(store.clone()).parts().unwrap();
        let client = &parts.client;
        let keeper = parts.clock_keeper();
        keeper.tick().await.unwrap();
        tokio::time::advance(limits::CLOCK_SETTLED).await;
        keeper.tick().await.unwrap();
        let policy = PolicyPatch::default().max_retries(3);
        let mail = || JobRequest::new("mail", Payload::default()).retry(policy.clone());
        let every = ScheduleRequest::every("s", SECOND, mail());
        let schedule = client.schedule(every).await.unwrap().id;
        for _ in 0..2 {
            client.enqueue(mail()).await.unwrap();
        }
        let chosen = client.enqueue(mail()).await.unwrap();
        let right = clock.advance(SECOND);

        // Six hours ahead: a tick fires, an attempt fails and another one begins.
        clock.advance(6 * HOUR);
        parts.schedule_runner().tick().await.unwrap();
        let mut request = ClaimRequest::new(WorkerName::new("w").unwrap(), 3);
        request.lease = Some(10 * HOUR);
        let mut claims = store.claim(request).await.unwrap().claims;
        claims.sort_by_key(|claim| claim.job().id == chosen);
        let failed = claims.remove(0);
        let (failed_id, held_id) = (failed.job().id, claims[0].job().id);
        let failure = steadfast_core::Failure::new(steadfast_core::FailureClass::ERROR, "no");
        let outcome = Outcome::Failure {
            failure,
            output: None,
        };
        let ended = failed.end(outcome, store.now());
        parts
            .settler
            .settle(&mut [parts.settler.pending(ended)])
            .await
            .unwrap();
        keeper.tick().await.unwrap();

        let job = async |id| {
            store
                .get_jobs(vec![id], JobDetail::Full)
                .await
                .unwrap()
                .remove(0)
                .unwrap()
        };
        let before = [job(held_id).await, job(failed_id).await];
        clock.set(right);
        // The clock may be behind now: nothing is changed until it has kept its time for a while.
        keeper.tick().await.unwrap();
        tokio::time::advance(limits::CLOCK_SETTLED - SECOND).await;
        keeper.tick().await.unwrap();
        assert_eq!([job(held_id).await, job(failed_id).await], before);
        // It is behind, and is set.
        clock.advance(6 * HOUR);
        keeper.tick().await.unwrap();
        clock.set(right);
        keeper.tick().await.unwrap();
        assert_eq!([job(held_id).await, job(failed_id).await], before);
        tokio::time::advance(limits::CLOCK_SETTLED).await;
        keeper.tick().await.unwrap();
        let held = job(held_id).await;
        assert_eq!(held.progress.lease_until, Some(right.plus(10 * HOUR)));
        let retried = job(failed_id).await.progress;
        assert_eq!(retried.run_at, right.plus(retried.last_delay.unwrap()));
        let filter = ScheduleFilter {
            id: Some(schedule),
            ..ScheduleFilter::default()
        };
        let page = PageRequest::first(1);
        let listed = store.list_schedules(filter, page).await.unwrap();
        let next = listed.items[0].progress.next_tick.unwrap();
        assert!(next > right && next <= right.plus(SECOND), "{next}");
        // No schedule and no retry is left to correct.
        let again = keeper.correct(right).await.unwrap();
        assert_eq!((again.schedules, again.retries), (0, 0));
        keeper.tick().await.unwrap();
    }
}
