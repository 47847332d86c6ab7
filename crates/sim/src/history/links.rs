//! Jobs that wait for others: the rule of what they do, written down a second time.

use std::time::Duration;

use steadfast_core::{Job, JobId, JobState, NewJob, OnFailure, Timestamp};

use super::{Event, History};
use crate::{Invariant, expected::ExpectedJob};

/// The decision about a job that follows from its prerequisites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DependantOutcome {
    /// One of them has not ended.
    Wait,
    /// All have ended, and one that has failed may be tried again.
    WaitForPerson,
    Start,
    Fail,
}

/// How one of them has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Success,
    Failure,
    /// It will not be tried again.
    ForGood,
}

impl History {
    fn end_of(&self, id: JobId, deleted: Option<bool>) -> Option<End> {
        let for_good = |has_succeeded| match has_succeeded {
            true => End::Success,
            false => End::ForGood,
        };
        let known = match (deleted, self.jobs.get(&id)) {
            (Some(has_succeeded), _) => return Some(for_good(has_succeeded)),
            (None, None) => return Some(End::ForGood),
            (None, Some(known)) => known,
        };
        match known.state {
            JobState::Waiting | JobState::Running => None,
            JobState::Succeeded => Some(End::Success),
            JobState::Failed if known.resolved_at.is_some() => Some(End::ForGood),
            JobState::Failed | JobState::Cancelled => Some(End::Failure),
        }
    }

    pub(crate) fn dependant_outcome(&self, known: &ExpectedJob) -> DependantOutcome {
        let after = known.after.iter();
        let ends: Vec<Option<End>> = after.map(|(id, gone)| self.end_of(*id, *gone)).collect();
        let has_unfinished = ends.contains(&None);
        let has_failed = ends.contains(&Some(End::Failure));
        let has_given_up = ends.contains(&Some(End::ForGood));
        let must_succeed = known.on_failure != Some(OnFailure::Run);
        let fails_at_once = known.on_failure == Some(OnFailure::Fail);
        if must_succeed && (has_given_up || has_failed && fails_at_once) {
            DependantOutcome::Fail
        } else if has_unfinished {
            DependantOutcome::Wait
        } else if must_succeed && has_failed {
            DependantOutcome::WaitForPerson
        } else {
            DependantOutcome::Start
        }
    }

    /// A job was made that waits for others, perhaps.
    pub(super) fn note_after(&mut self, id: JobId, new: &NewJob) {
        let Some(after) = new.after() else {
            return;
        };
        let others = after.after().iter().filter_map(|other| {
            // Of two of the same moment, the one with the higher id comes behind.
            let tie = Duration::from_micros(u64::from(*other > id));
            Some(self.jobs.get(other)?.created_at.plus(tie))
        });
        let latest = others.max();
        let Some(known) = self.jobs.get_mut(&id) else {
            return;
        };
        // It comes behind them, also if the clock was set back since.
        known.created_at = known.created_at.max(latest.unwrap_or_default());
        known.after = after.after().iter().map(|other| (*other, None)).collect();
        self.block(id);
    }

    fn block(&mut self, id: JobId) {
        let Some(known) = self.jobs.get(&id).cloned() else {
            return;
        };
        let is_blocked =
            !known.after.is_empty() && self.dependant_outcome(&known) != DependantOutcome::Start;
        if let Some(known) = self.jobs.get_mut(&id) {
            known.is_blocked = is_blocked;
        }
    }

    /// A job is tried again: it waits again if it has to, and has not started yet.
    pub(super) fn block_again(&mut self, id: JobId, attempts: u32) {
        if attempts > 0 {
            return;
        }
        self.block(id);
        let known = self.jobs.get(&id).filter(|known| known.is_blocked);
        if known.is_some_and(|known| self.dependant_outcome(known) == DependantOutcome::Fail) {
            let why = "tried again though one that it waits for has failed";
            self.broken(Invariant::AfterOthers, id, why);
        }
    }

    /// Retention has deleted a job that others may wait for.
    pub(super) fn note_deleted(&mut self, id: JobId, has_succeeded: bool) {
        for known in self.jobs.values_mut() {
            if let Some(end) = known.after.get_mut(&id) {
                end.get_or_insert(has_succeeded);
            }
        }
    }

    /// A job was released, or has ended, because of those that it waits for.
    pub fn followed(&mut self, job: &Job, deliveries: &[Option<Job>], now: Timestamp) {
        let id = job.id;
        let to = job.progress.state;
        let command = "follow";
        let event = Event::Commanded {
            command,
            to: Some(to),
        };
        self.tell(now, id, event);
        self.count_check(Invariant::AfterOthers);
        let Some(known) = self.jobs.get(&id).cloned() else {
            return self.broken(Invariant::AfterOthers, id, "released, but it never was");
        };
        let outcome = self.dependant_outcome(&known);
        let is_right = match to {
            JobState::Waiting => outcome == DependantOutcome::Start && !job.is_blocked(),
            JobState::Failed => outcome == DependantOutcome::Fail,
            _ => false,
        };
        if !is_right || !known.is_blocked {
            let blocked = known.is_blocked;
            let why = format!("{to} now, though its outcome is {outcome:?}, blocked: {blocked}");
            self.broken(Invariant::AfterOthers, id, why);
        }
        if let Some(known) = self.jobs.get_mut(&id) {
            known.follow(job);
            known.is_blocked = false;
        }
        self.note_end(id);
        self.record_deliveries(id, deliveries, now);
    }

    /// A request was refused because one is not there that its job was to wait for.
    pub fn refused_as_unknown(&mut self, new: &NewJob, other: JobId, batch: &[NewJob]) {
        let known = self.jobs.get(&other).filter(|known| !known.gone);
        let is_known = known.is_some_and(|known| known.tenant == new.tenant);
        let is_of_batch = batch.iter().any(|new| new.id == other);
        if is_known && !is_of_batch {
            let why = "it is said that it is not there";
            self.broken(Invariant::AfterOthers, other, why);
        }
    }

    /// Jobs that wait for what only a person can do, and what that may be about.
    pub(crate) fn waiting_for_person(&self) -> Vec<(JobId, Option<JobId>)> {
        let blocked = self.jobs.iter().filter(|(_, known)| {
            known.is_blocked && !known.gone && known.state == JobState::Waiting
        });
        let stuck = blocked
            .filter(|(_, known)| self.dependant_outcome(known) == DependantOutcome::WaitForPerson);
        stuck
            .map(|(id, known)| {
                let mut after = known.after.keys();
                let dead_letter = after.find(|other| {
                    let other = self.jobs.get(other);
                    other.is_some_and(|other| other.is_dead_letter() && !other.gone)
                });
                (*id, dead_letter.copied())
            })
            .collect()
    }
}
