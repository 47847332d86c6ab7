//! Short words for schedules, beside those of the fixture.

use std::{sync::Arc, time::Duration};

use steadfast_core::{
    Job, Schedule, ScheduleId, ScheduleName, ScheduleProgress, SkipReason, SkippedTicks, TickRule,
    Timestamp, Timetable,
};

use super::fixture::{Fixture, secs, walk};
use crate::{
    DueSchedules, FireRequest, FireResult, PageRequest, ScheduleFilter, ScheduleSaveResult,
    TickRecord,
};

pub(super) const EVERY: Duration = Duration::from_secs(60);

impl Fixture {
    /// A schedule that is not stored yet. Its first tick comes in a minute.
    pub(super) fn schedule(&self, name: &str) -> Schedule {
        let now = self.now();
        let timetable = Timetable::new(TickRule::Every(EVERY)).unwrap();
        Schedule {
            id: ScheduleId::new(now, self.next_number()),
            name: schedule_name(name),
            progress: timetable.begin(now),
            timetable,
            template: self.job(),
            paused: false,
            created_at: now,
            revision: 0,
        }
    }

    pub(super) async fn save(&self, schedule: Schedule) -> Schedule {
        match self
            .store
            .save_schedule(schedule, None, None)
            .await
            .unwrap()
        {
            ScheduleSaveResult::Done(stored) => stored,
            other => panic!("not saved: {other:?}"),
        }
    }

    pub(super) async fn saved_schedule(&self, name: &str) -> Schedule {
        self.save(self.schedule(name)).await
    }

    pub(super) async fn find_schedule(&self, id: ScheduleId) -> Option<Schedule> {
        let filter = ScheduleFilter {
            id: Some(id),
            ..ScheduleFilter::default()
        };
        let listed = self
            .store
            .list_schedules(filter, PageRequest::first(2))
            .await
            .unwrap();
        assert!(listed.items.len() < 2);
        listed.items.into_iter().next()
    }

    pub(super) async fn read_schedule(&self, id: ScheduleId) -> Schedule {
        self.find_schedule(id).await.unwrap()
    }

    /// The step of a schedule whose due ticks all fire.
    pub(super) fn firing(&self, schedule: &Schedule, ticks: &[Timestamp]) -> FireRequest {
        let last_tick = ticks.last().copied().or(schedule.progress.last_tick);
        FireRequest {
            schedule: schedule.id,
            revision: schedule.revision,
            runs: ticks
                .iter()
                .map(|tick| schedule.run(*tick, self.id()))
                .collect(),
            skipped: Vec::new(),
            cancel: None,
            subscriptions: Arc::default(),
            audit: None,
            progress: ScheduleProgress {
                next_tick: last_tick.map(|tick| tick.plus(EVERY)),
                last_tick,
                runs: schedule.progress.runs + ticks.len() as u64,
                queued_tick: None,
            },
        }
    }

    pub(super) async fn fire(&self, firing: FireRequest) -> FireResult {
        self.store.fire_schedules(vec![firing]).await.unwrap()[0]
    }

    /// Fires a tick and answers with the schedule and the run as they then are.
    pub(super) async fn fired(&self, schedule: &Schedule, tick: Timestamp) -> (Schedule, Job) {
        let firing = self.firing(schedule, &[tick]);
        let run = firing.runs[0].id;
        assert_eq!(self.fire(firing).await, FireResult::Done);
        (self.read_schedule(schedule.id).await, self.read(run).await)
    }

    pub(super) async fn due(&self) -> DueSchedules {
        self.store.due_schedules(100).await.unwrap()
    }

    pub(super) async fn due_ids(&self) -> Vec<ScheduleId> {
        let due = self.due().await.due;
        due.iter().map(|due| due.schedule.id).collect()
    }

    /// All tick records of a schedule, newest first.
    pub(super) async fn ticks(&self, schedule: ScheduleId) -> Vec<TickRecord> {
        walk(2, async |page| self.store.list_ticks(schedule, page).await).await
    }
}

pub(super) fn schedule_name(name: &str) -> ScheduleName {
    ScheduleName::new(name).unwrap()
}

pub(super) fn skip(from: Timestamp, count: u64) -> SkippedTicks {
    SkippedTicks {
        from,
        to: from.plus(secs(60 * (count - 1))),
        count,
        reason: SkipReason::Missed,
    }
}
