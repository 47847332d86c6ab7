//! A schedule: a timetable, and the job that each of its ticks makes.

use crate::{
    JobId, NewJob, RunAt, ScheduleId, ScheduleName, ScheduleProgress, ScheduledRun, Tenant,
    Timestamp, Timetable,
};

#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    pub id: ScheduleId,
    /// What the tenant calls it; unique within the tenant.
    pub name: ScheduleName,
    pub timetable: Timetable,
    /// What each run looks like. Its id, time, tick and idempotency key are of no account.
    pub template: NewJob,
    pub paused: bool,
    pub progress: ScheduleProgress,
    pub created_at: Timestamp,
    /// Counts changes, so that nobody writes over a change it has not seen. 0 is not stored yet.
    pub revision: u64,
}

impl Schedule {
    pub fn tenant(&self) -> &Tenant {
        &self.template.tenant
    }

    /// The job for one tick.
    pub fn run(&self, tick: Timestamp, id: JobId) -> NewJob {
        let mut run = self.template.clone();
        run.id = id;
        run.run_at = RunAt::At(tick);
        run.scheduled_run = Some(ScheduledRun {
            schedule: self.id,
            tick,
        });
        run.idempotency_key = None;
        run
    }
}
