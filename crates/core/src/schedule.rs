//! A schedule: a timetable, and the job that is created at each of its ticks.

pub(crate) mod cron;
pub(crate) mod timetable;
pub(crate) mod zone;

use sha2::{Digest, Sha256};

use crate::{
    job::{NewJob, RunAt, ScheduledRun},
    schedule::timetable::{ScheduleProgress, Timetable},
    values::{JobId, ScheduleId, ScheduleName, Tenant, Timestamp},
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
    /// The job of each run. Its id, time and tick are ignored. Its idempotency key is that of the
    /// request which created the schedule; runs have none.
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
    /// Where it goes on if it would never fire again although its timetable goes on, which only damage
    /// to the store can bring about; `None` if it is well.
    pub fn resumed_if_stuck(&self, now: Timestamp) -> Option<ScheduleProgress> {
        if self.paused || !self.progress.is_over() {
            return None;
        }
        let resumed = self.timetable.resume(&self.progress, now);
        (!resumed.is_over()).then_some(resumed)
    }

    /// The tenant of the schedule and its jobs.
    pub fn tenant(&self) -> &Tenant {
        &self.template.tenant
    }

    /// A hash that tells whether two requests with one idempotency key ask for the same schedule;
    /// as [`NewJob::fingerprint`], and never the same as that of a job.
    pub fn fingerprint(name: &ScheduleName, timetable: &Timetable, job: &NewJob) -> [u8; 16] {
        let timetable = serde_json::to_string(timetable).unwrap_or_default();
        let mut hash = Sha256::new();
        for part in ["schedule", name.as_str(), &timetable] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.update(job.fingerprint());
        let digest = hash.finalize();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }

    /// This schedule, to be written over the stored one. The key by which that was created stays
    /// with it, whatever the new template says.
    #[must_use]
    pub fn replacing(mut self, stored: Option<&Self>) -> Self {
        if let Some(stored) = stored {
            self.template.idempotency_key = stored.template.idempotency_key.clone();
        }
        self.revision += 1;
        self
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
