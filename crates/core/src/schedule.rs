//! A schedule: a timetable, and the job that is created at each of its ticks.

use crate::{
    id::{JobId, ScheduleId},
    job::{NewJob, RunAt, ScheduledRun},
    name::{ScheduleName, Tenant},
    time::Timestamp,
    timetable::{ScheduleProgress, Timetable},
};

/// A rule that creates one job per tick, as stored.
// Exhaustive on purpose: every store reads and writes each field.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Unique, and later ids sort later.
    pub id: ScheduleId,
    /// The tenant's own name for it; unique within the tenant.
    pub name: ScheduleName,
    /// When it fires.
    pub timetable: Timetable,
    /// The job of each run. Its id, time, tick and idempotency key are ignored.
    pub template: NewJob,
    /// A paused schedule does not fire; ticks of the pause are not missed.
    pub paused: bool,
    /// Where it stands: its next tick, and how many have fired.
    pub progress: ScheduleProgress,
    /// When it was stored, by the store's clock.
    pub created_at: Timestamp,
    /// Counts changes, so that a writer who has not read the newest change cannot overwrite it. 0
    /// for a schedule that is not stored yet.
    pub revision: u64,
}

impl Schedule {
    /// Whose schedule it is: the tenant of its jobs.
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
