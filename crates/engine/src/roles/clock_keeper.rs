//! Corrects stored times: what a clock that was ahead has left behind, and schedules that lost their
//! next tick. What it did is an alert.
//!
//! Times are kept as they were written. A machine that starts with a wrong clock, and has it set right a
//! moment later, would leave schedules silent, leases held and retries waiting for as long as the clock
//! was ahead. What was written by such a clock shows it: a last tick, a start or an end that lies in the
//! future. It is looked for after the start, and after the clock was seen to go back.
//!
//! The same times lie in the future while the clock is behind, as that of a machine without a battery is
//! until it is set. So nothing is corrected before the clock has kept its time for some minutes.
//!
//! An active schedule without a next tick would never fire, and nothing would tell: no index finds it.
//! Only damage to the store makes one, so all schedules are read, but seldom.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use steadfast_core::{
    Job, JobCommand, JobEdit, JobLabel, Schedule, ScheduleProgress, Timestamp,
    explain::{count_of, whole_second},
    limits::{CLOCK_STEP_MAX, LEASE_MAX},
};
use steadfast_store::{
    AttemptOwner, FireRequest, FireResult, JobFilter, PageRequest, RenewResult, Renewal,
    ScheduleFilter, Store, StoreError,
};

use tokio::time::Instant;

use crate::{
    limits,
    role::{Next, Role, health::NodeHealth},
};

pub struct ClockKeeper {
    pub store: Arc<dyn Store>,
    pub health: Arc<NodeHealth>,
    pub seen: Mutex<SeenClock>,
}

/// What was seen of the clock.
#[derive(Default)]
pub struct SeenClock {
    /// The latest time before it went back, or the time of the last round.
    last: Option<Timestamp>,
    /// Since when it has been behind that time, by a clock that is never set.
    behind_since: Option<Instant>,
    /// When the schedules were last read.
    schedules_read_at: Option<Instant>,
}

/// How much was corrected.
#[derive(Default)]
struct Corrections {
    schedules: u64,
    leases: u64,
    retries: u64,
    /// Schedules that had lost their next tick.
    resumed: u64,
}

impl Corrections {
    /// What was corrected, for people; `None` if nothing was.
    fn describe(&self, now: Timestamp) -> Option<String> {
        let ahead = [
            (self.schedules, ["schedule", "schedules"]),
            (self.leases, ["lease", "leases"]),
            (self.retries, ["retry", "retries"]),
        ];
        let ahead = ahead.into_iter().filter(|(count, _)| *count > 0);
        let ahead: Vec<String> = ahead
            .map(|(count, [one, many])| count_of(count, one, many))
            .collect();
        let mut parts = Vec::new();
        if !ahead.is_empty() {
            let ahead = ahead.join(", ");
            parts.push(format!(
                "corrected times that were ahead of the clock: {ahead}"
            ));
        }
        if self.resumed > 0 {
            let resumed = count_of(self.resumed, "schedule", "schedules");
            parts.push(format!("resumed {resumed} without a next tick"));
        }
        let at = whole_second(now);
        (!parts.is_empty()).then(|| format!("{} ({at})", parts.join("; ")))
    }
}

#[async_trait]
impl Role for ClockKeeper {
    fn name(&self) -> &'static str {
        "clock keeper"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        let now = self.store.now();
        let is_settled = self.is_settled_behind(now);
        if !is_settled && !self.is_schedule_check_due() {
            return Ok(Next::After(limits::POLL));
        }
        let mut corrections = Corrections::default();
        let corrected = match is_settled {
            true => self.correct(now, &mut corrections).await,
            false => self.correct_schedules(now, &mut corrections).await,
        };
        // Also what was done before the store went away.
        if let Some(correction) = corrections.describe(now) {
            tracing::warn!("{correction}");
            self.health.set_correction(correction);
        }
        corrected?;
        let mut seen = self.seen();
        if is_settled {
            seen.last = Some(now);
            seen.behind_since = None;
        }
        seen.schedules_read_at = Some(Instant::now());
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
            seen.last = Some(now);
            seen.behind_since = None;
            return false;
        }
        let since = *seen.behind_since.get_or_insert_with(Instant::now);
        since.elapsed() >= limits::CLOCK_SETTLED
    }

    /// Whether the schedules should be read again; not while the clock may be wrong.
    fn is_schedule_check_due(&self) -> bool {
        let seen = self.seen();
        let is_due = |read_at: Instant| read_at.elapsed() >= limits::SCHEDULES_CHECKED_EVERY;
        seen.behind_since.is_none() && seen.schedules_read_at.is_some_and(is_due)
    }

    /// Corrects what lies further ahead than it can, and schedules that lost their next tick.
    async fn correct(
        &self,
        now: Timestamp,
        corrections: &mut Corrections,
    ) -> Result<(), StoreError> {
        corrections.leases += self.correct_jobs(JobLabel::Running, now).await?;
        corrections.retries += self.correct_jobs(JobLabel::Retrying, now).await?;
        self.correct_schedules(now, corrections).await
    }

    async fn correct_schedules(
        &self,
        now: Timestamp,
        corrections: &mut Corrections,
    ) -> Result<(), StoreError> {
        let mut page = PageRequest::first(limits::SCHEDULE_BATCH_MAX);
        loop {
            let filter = ScheduleFilter::default();
            let listed = self.store.list_schedules(filter, page).await?;
            let is_ahead = |it: &Schedule| it.timetable.rewind(&it.progress, now);
            let rewound = fire_requests(&listed.items, is_ahead);
            corrections.schedules += self.save_schedules(rewound).await?;
            let resumed = fire_requests(&listed.items, |it| it.resumed_if_stuck(now));
            for schedule in &resumed {
                tracing::warn!(scheduleId = %schedule.schedule, "this schedule had lost its next tick");
            }
            corrections.resumed += self.save_schedules(resumed).await?;
            page.after = listed.next;
            if page.after.is_none() {
                return Ok(());
            }
        }
    }

    /// Writes the progress of schedules, unless another node was first, and returns how many.
    async fn save_schedules(&self, requests: Vec<FireRequest>) -> Result<u64, StoreError> {
        if requests.is_empty() {
            return Ok(0);
        }
        let results = self.store.fire_schedules(requests).await?;
        let done = results.iter().filter(|it| **it == FireResult::Done);
        Ok(done.count() as u64)
    }

    async fn correct_jobs(&self, label: JobLabel, now: Timestamp) -> Result<u64, StoreError> {
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
                count += u64::from(is_corrected);
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

/// The schedules that get another progress, without a run.
fn fire_requests(
    schedules: &[Schedule],
    corrected: impl Fn(&Schedule) -> Option<ScheduleProgress>,
) -> Vec<FireRequest> {
    let requests = schedules.iter().filter_map(|schedule| {
        Some(FireRequest {
            schedule: schedule.id,
            revision: schedule.revision,
            runs: Vec::new(),
            skipped: Vec::new(),
            cancel: None,
            subscriptions: Arc::default(),
            progress: corrected(schedule)?,
            audit: None,
        })
    });
    requests.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use steadfast_core::{AlertRule, Outcome, Payload, PolicyPatch, WorkerName};
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
        let mut again = Corrections::default();
        keeper.correct(right, &mut again).await.unwrap();
        assert_eq!((again.schedules, again.retries), (0, 0));
        keeper.tick().await.unwrap();
        // People see it for an hour.
        let expected = "corrected times that were ahead of the clock: 1 schedule, 1 lease, 1 retry";
        let correction = parts.health.correction().unwrap();
        assert!(correction.starts_with(expected), "{correction}");
        tokio::time::advance(limits::CORRECTION_SHOWN).await;
        assert_eq!(parts.health.correction(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_schedule_that_lost_its_next_tick_goes_on_within_the_hour() {
        let clock = ManualClock::default();
        let store = Arc::new(MemoryStore::new(Arc::new(clock.clone())));
        let parts = EngineBuilder::new(store.clone()).parts().unwrap();
        let keeper = parts.clock_keeper();
        keeper.tick().await.unwrap();
        tokio::time::advance(limits::CLOCK_SETTLED).await;
        keeper.tick().await.unwrap();
        let job = || JobRequest::new("mail", Payload::default());
        let every = |name| ScheduleRequest::every(name, SECOND, job());
        let lost = parts.client.schedule(every("lost")).await.unwrap();
        let over = parts
            .client
            .schedule(every("over").max_runs(1))
            .await
            .unwrap();
        // Both lose their next tick; the runs of the second are used up.
        for (schedule, runs) in [(&lost, 0), (&over, 1)] {
            let damaged = fire_requests(std::slice::from_ref(schedule), |it| {
                Some(ScheduleProgress {
                    next_tick: None,
                    runs,
                    ..it.progress
                })
            });
            store.fire_schedules(damaged).await.unwrap();
        }
        keeper.tick().await.unwrap();
        assert_eq!(parts.health.correction(), None, "it is not time to look");
        tokio::time::advance(limits::SCHEDULES_CHECKED_EVERY).await;
        keeper.tick().await.unwrap();
        let listed = store
            .list_schedules(ScheduleFilter::default(), PageRequest::first(9))
            .await
            .unwrap();
        let next = |id| listed.items.iter().find(|it| it.id == id).unwrap();
        let tick = next(lost.id).progress.next_tick.unwrap();
        assert!(
            tick > clock.now() && tick <= clock.now().plus(SECOND),
            "{tick}"
        );
        assert_eq!(next(over.id).progress.next_tick, None);
        let correction = parts.health.correction().unwrap();
        let expected = "resumed 1 schedule without a next tick";
        assert!(correction.starts_with(expected), "{correction}");
        // The heartbeat tells other nodes, and an alert fires.
        parts.node_heartbeat(1).tick().await.unwrap();
        parts.watcher(SECOND).tick().await.unwrap();
        let alerts = parts.client.alerts(None).await.unwrap();
        let [alert] = &alerts[..] else {
            panic!("one alert: {alerts:?}");
        };
        assert_eq!(alert.rule, AlertRule::Corrected);
        assert!(alert.message.ends_with(&correction), "{}", alert.message);
    }
}
