//! Commands of people, and deletions by retention.

use std::collections::BTreeSet;

use steadfast_core::{Job, JobCommand, JobId, JobState, Timestamp, limits};

use super::{Event, History};
use crate::Invariant;

impl History {
    /// `deliveries` are those that had to be stored with the change, if they can be read.
    pub fn record_command(
        &mut self,
        id: JobId,
        command: &JobCommand,
        done: Option<&Job>,
        deliveries: &[Option<Job>],
        now: Timestamp,
    ) {
        let word = match command {
            JobCommand::Cancel => "cancel",
            JobCommand::Retry { .. } => "retry",
            JobCommand::RunNow => "run now",
            JobCommand::Edit(_) => "edit",
            JobCommand::Discard => "discard",
            JobCommand::Erase => "erase",
            JobCommand::Expire => "expire",
            JobCommand::Follow(_) => "follow",
        };
        let to = done.map(|job| job.progress.state);
        let event = Event::Commanded { command: word, to };
        self.tell(now, id, event);
        let (Some(job), Some(known)) = (done, self.jobs.get_mut(&id)) else {
            return;
        };
        let before = known.state;
        let was_late = known.is_late(now);
        if let JobCommand::Retry { .. } = command {
            known.used = 0;
            known.start_before = None;
        }
        known.follow(job);
        self.note_end(id);
        let Some(known) = self.jobs.get_mut(&id) else {
            return;
        };
        match command {
            JobCommand::Cancel => {
                known.cancelled = true;
                self.count_check(Invariant::CancelledStays);
            }
            JobCommand::Retry { .. } => {
                known.cancelled = false;
                if !matches!(before, JobState::Failed | JobState::Cancelled) {
                    let why = format!("tried again though it was {before}");
                    self.broken(Invariant::SettledStays, id, why);
                }
                self.check_unique(id);
                self.block_again(id, job.progress.attempt);
            }
            JobCommand::Expire => {
                self.count_check(Invariant::NotLate);
                if before != JobState::Waiting || !was_late {
                    let why = format!("ended as late while {before}, late: {was_late}");
                    self.broken(Invariant::NotLate, id, why);
                }
            }
            JobCommand::RunNow
            | JobCommand::Edit(_)
            | JobCommand::Discard
            | JobCommand::Erase
            | JobCommand::Follow(_) => {}
        }
        self.record_deliveries(id, deliveries, now);
    }

    /// A schedule cancelled its unfinished run.
    pub fn replaced(&mut self, job: &Job, deliveries: &[Option<Job>], now: Timestamp) {
        let is_cancelled =
            job.progress.state == JobState::Cancelled || job.progress.cancel_requested;
        let known = self.jobs.get(&job.id);
        // It may have ended long before, with its deliveries.
        if is_cancelled && known.is_some_and(|known| !known.state.is_final()) {
            self.record_command(job.id, &JobCommand::Cancel, Some(job), deliveries, now);
        }
    }

    pub(super) fn record_deliveries(
        &mut self,
        id: JobId,
        deliveries: &[Option<Job>],
        now: Timestamp,
    ) {
        if !deliveries.is_empty() {
            self.count_check(Invariant::OutboxWithTransition);
        }
        if deliveries.contains(&None) {
            let why = "a change was stored without its deliveries";
            self.broken(Invariant::OutboxWithTransition, id, why);
        }
        for delivery in deliveries.iter().flatten() {
            self.learn(delivery, now);
        }
    }

    /// Each deleted job was allowed to be deleted.
    pub fn pruned(&mut self, ended_before: Timestamp, left: &BTreeSet<JobId>, now: Timestamp) {
        for id in self.living() {
            if left.contains(&id) {
                continue;
            }
            self.tell(now, id, Event::Pruned);
            let Some(known) = self.jobs.get_mut(&id) else {
                continue;
            };
            known.gone = true;
            let ended_at = known.resolved_at.or(known.finished_at);
            let key_lives = known.key.is_some() && now.since(known.created_at) < limits::DAY;
            let may_go = known.state.is_final()
                && !known.is_dead_letter()
                && ended_at.is_some_and(|ended_at| ended_at < ended_before)
                && !key_lives;
            let has_succeeded = known.state == JobState::Succeeded;
            let key = known.key.clone().map(|key| (known.tenant.clone(), key));
            if let Some(key) = key {
                self.keys.remove(&key);
            }
            self.note_deleted(id, has_succeeded);
            self.count_check(Invariant::JobsStay);
            if !may_go {
                self.broken(
                    Invariant::JobsStay,
                    id,
                    "deleted before its retention is over",
                );
            }
        }
    }
}
