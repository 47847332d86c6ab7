//! Schedules and their ticks.

use async_trait::async_trait;
use steadfast_core::{JobCommand, JobId, Schedule, ScheduleId, Timestamp};

use super::{MemoryStore, each, queries::page_of, tables::Tables};
use crate::{
    error::StoreError,
    store::{
        DueSchedule, DueSchedules, FireRequest, FireResult, Page, PageRequest, ScheduleFilter,
        ScheduleSaveResult, ScheduleStore, TickRecord,
    },
};

#[async_trait]
impl ScheduleStore for MemoryStore {
    async fn save_schedule(&self, schedule: Schedule) -> Result<ScheduleSaveResult, StoreError> {
        Ok(self.with(|tables, _| tables.save_schedule(schedule)))
    }

    async fn delete_schedule(&self, id: ScheduleId) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| {
            tables.ticks.retain(|(schedule, _), _| *schedule != id);
            tables.schedules.remove(&id).is_some()
        }))
    }

    async fn list_schedules(
        &self,
        filter: ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Result<Page<Schedule, ScheduleId>, StoreError> {
        Ok(self.with(|tables, _| tables.list_schedules(&filter, page)))
    }

    async fn due_schedules(&self, limit: usize) -> Result<DueSchedules, StoreError> {
        Ok(self.with(|tables, now| tables.due_schedules(limit, now)))
    }

    async fn fire_schedules(
        &self,
        firings: Vec<FireRequest>,
    ) -> Result<Vec<FireResult>, StoreError> {
        Ok(self.with(|tables, now| each(firings, |firing| tables.fire(firing, now))))
    }

    async fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Result<Page<TickRecord, Timestamp>, StoreError> {
        Ok(self.with(|tables, _| tables.list_ticks(schedule, page)))
    }
}

impl Tables {
    fn save_schedule(&mut self, mut schedule: Schedule) -> ScheduleSaveResult {
        let stored = self.schedules.get(&schedule.id);
        if let Some(refusal) = ScheduleSaveResult::refusal(&schedule, stored) {
            return refusal;
        }
        let namesake = self.schedules.values().find(|other| {
            other.id != schedule.id
                && other.tenant() == schedule.tenant()
                && other.name == schedule.name
        });
        if let Some(namesake) = namesake {
            return ScheduleSaveResult::Outdated(namesake.clone());
        }
        schedule.revision += 1;
        self.due_sooner = true;
        self.schedules.insert(schedule.id, schedule.clone());
        ScheduleSaveResult::Done(schedule)
    }

    fn list_schedules(
        &self,
        filter: &ScheduleFilter,
        page: PageRequest<ScheduleId>,
    ) -> Page<Schedule, ScheduleId> {
        let ScheduleFilter { tenant, id, name } = filter;
        let newest_first = self.schedules.values().rev();
        let matching = newest_first.filter(|schedule| {
            tenant
                .as_ref()
                .is_none_or(|tenant| tenant == schedule.tenant())
                && id.is_none_or(|id| id == schedule.id)
                && name.as_ref().is_none_or(|name| *name == schedule.name)
        });
        page_of(matching, page, |schedule| schedule.id)
    }

    fn due_schedules(&self, limit: usize, now: Timestamp) -> DueSchedules {
        let active = || self.schedules.values().filter(|schedule| !schedule.paused);
        let next_due = active()
            .filter_map(|schedule| schedule.progress.next_tick)
            .filter(|tick| *tick > now)
            .min();
        let mut due: Vec<(Timestamp, DueSchedule)> = active()
            .filter_map(|schedule| {
                let unfinished = self.newest_unfinished(schedule.id);
                let progress = &schedule.progress;
                let come = progress.next_tick.filter(|tick| *tick <= now);
                let freed = progress.queued_tick.filter(|_| unfinished.is_none());
                let since = freed.into_iter().chain(come).min()?;
                let schedule = schedule.clone();
                Some((
                    since,
                    DueSchedule {
                        schedule,
                        unfinished,
                    },
                ))
            })
            .collect();
        due.sort_by_key(|(since, _)| *since);
        due.truncate(limit);
        DueSchedules {
            due: due.into_iter().map(|(_, due)| due).collect(),
            next_due,
        }
    }

    fn fire(&mut self, firing: FireRequest, now: Timestamp) -> FireResult {
        match self.schedules.get_mut(&firing.schedule) {
            Some(schedule) if schedule.revision == firing.revision => {
                schedule.progress = firing.progress;
                schedule.revision += 1;
            }
            _ => return FireResult::Outdated,
        }
        if let Some(job) = firing.cancel {
            // A run that has ended meanwhile needs no cancelling.
            let _ = self.run_command(job, &JobCommand::Cancel, &firing.subscriptions, now);
        }
        for run in firing.runs {
            if let Some(tick) = run.scheduled_run.map(|run| run.tick) {
                let key = (firing.schedule, tick);
                if let Some(TickRecord::Fired { .. }) = self.ticks.get(&key) {
                    continue;
                }
                let fired = TickRecord::Fired { tick, job: run.id };
                self.ticks.insert(key, fired);
            }
            self.insert(run, now);
        }
        for skip in firing.skipped {
            let entry = self.ticks.entry((firing.schedule, skip.from));
            entry.or_insert(TickRecord::Skipped(skip));
        }
        FireResult::Done
    }

    fn list_ticks(
        &self,
        schedule: ScheduleId,
        page: PageRequest<Timestamp>,
    ) -> Page<TickRecord, Timestamp> {
        let whole = (schedule, Timestamp::EPOCH)..=(schedule, Timestamp::MAX);
        let newest_first = self.ticks.range(whole).rev().map(|(_, record)| record);
        page_of(newest_first, page, TickRecord::at)
    }

    fn newest_unfinished(&self, schedule: ScheduleId) -> Option<JobId> {
        let first = (schedule, Timestamp::EPOCH, JobId::from_bits(0));
        let last = (schedule, Timestamp::MAX, JobId::from_bits(u128::MAX));
        let newest = self.unfinished_runs.range(first..=last).next_back();
        newest.map(|(.., job)| *job)
    }
}
