//! Schedules and their ticks.

use async_trait::async_trait;
use steadfast_core::{AuditRecord, JobCommand, JobId, Schedule, ScheduleId, Timestamp};

use super::{
    MemoryStore, each,
    queries::page_of,
    tables::{KeyHolder, Tables},
};
use crate::{
    error::StoreError,
    store::{
        DueSchedule, DueSchedules, FireRequest, FireResult, Page, PageRequest,
        ScheduleCreateResult, ScheduleFilter, ScheduleSaveResult, ScheduleStore, TickRecord,
    },
};

#[async_trait]
impl ScheduleStore for MemoryStore {
    async fn save_schedule(
        &self,
        schedule: Schedule,
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleSaveResult, StoreError> {
        Ok(self.with(|tables, _| {
            let saved = tables.save_schedule(schedule);
            if matches!(saved, ScheduleSaveResult::Done(_)) {
                tables.save_audit(audit);
            }
            saved
        }))
    }

    async fn create_schedule(
        &self,
        schedule: Schedule,
        fingerprint: [u8; 16],
        audit: Option<AuditRecord>,
    ) -> Result<ScheduleCreateResult, StoreError> {
        Ok(self.with(|tables, _| {
            let created = tables.create_schedule(schedule, fingerprint);
            if matches!(created, ScheduleCreateResult::Created(_)) {
                tables.save_audit(audit);
            }
            created
        }))
    }

    async fn delete_schedule(
        &self,
        id: ScheduleId,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| {
            let is_deleted = tables.delete_schedule(id);
            tables.save_audit(audit.filter(|_| is_deleted));
            is_deleted
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
    fn save_schedule(&mut self, schedule: Schedule) -> ScheduleSaveResult {
        let stored = self.schedules.get(&schedule.id);
        if let Some(refusal) = ScheduleSaveResult::refusal(&schedule, stored) {
            return refusal;
        }
        if let Some(namesake) = self.namesake(&schedule) {
            return ScheduleSaveResult::Outdated(namesake);
        }
        let schedule = schedule.replacing(stored);
        self.wakes.schedule_waits();
        self.schedules.insert(schedule.id, schedule.clone());
        ScheduleSaveResult::Done(schedule)
    }

    fn namesake(&self, schedule: &Schedule) -> Option<Schedule> {
        let namesake = self.schedules.values().find(|other| {
            other.id != schedule.id
                && other.tenant() == schedule.tenant()
                && other.name == schedule.name
        });
        namesake.cloned()
    }

    fn create_schedule(
        &mut self,
        schedule: Schedule,
        fingerprint: [u8; 16],
    ) -> ScheduleCreateResult {
        let tenant = schedule.tenant().clone();
        let key = schedule.template.idempotency_key.clone();
        let key = key.map(|key| (tenant, key));
        let holder = key.as_ref().and_then(|key| self.keys.get(key));
        if let Some(holder) = holder {
            let stored = self
                .schedules
                .get(&ScheduleId::from_bits(holder.job.bits()));
            return match stored {
                Some(stored) if holder.fingerprint == fingerprint => {
                    ScheduleCreateResult::Existing(stored.clone())
                }
                _ => ScheduleCreateResult::KeyTaken,
            };
        }
        if let Some(namesake) = self.namesake(&schedule) {
            return ScheduleCreateResult::NameTaken(namesake);
        }
        if let Some(key) = key {
            let job = JobId::from_bits(schedule.id.bits());
            self.keys.insert(key, KeyHolder { job, fingerprint });
        }
        let schedule = schedule.replacing(None);
        self.wakes.schedule_waits();
        self.schedules.insert(schedule.id, schedule.clone());
        ScheduleCreateResult::Created(schedule)
    }

    fn delete_schedule(&mut self, id: ScheduleId) -> bool {
        self.ticks.retain(|(schedule, _), _| *schedule != id);
        let Some(schedule) = self.schedules.remove(&id) else {
            return false;
        };
        let tenant = schedule.tenant().clone();
        if let Some(key) = schedule.template.idempotency_key {
            let key = (tenant, key);
            if self
                .keys
                .get(&key)
                .is_some_and(|holder| holder.job.bits() == id.bits())
            {
                self.keys.remove(&key);
            }
        }
        true
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
        self.save_audit(firing.audit);
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
