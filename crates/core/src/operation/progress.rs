//! How far an operation has come.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{EncryptedPart, Operation, OperationOutcome, OperationStatus};
use crate::{
    explain::thousands,
    limits,
    values::{JobId, Timestamp},
};

/// How far an operation has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OperationProgress {
    /// Where it stands.
    pub status: OperationStatus,
    /// Jobs that it has looked at.
    pub worked: u64,
    /// Those that were changed; the others did not allow it, or were gone.
    pub changed: u64,
    /// The last job that it has looked at: it goes on with older ones, the newest id first, so that
    /// jobs which are created meanwhile do not keep it from coming to an end.
    pub cursor: Option<JobId>,
    /// The outcomes of the jobs that were tried again.
    pub outcomes: OperationOutcomes,
    /// The stage of a canary, from 0.
    pub stage: usize,
    /// When the status or the stage last changed, or the newest batch was written.
    pub since: Timestamp,
    /// When the next job may be worked on, for its pace.
    pub(super) next_at: Timestamp,
    /// No job is left to work on; a canary then waits for the outcomes of its last stage.
    #[serde(default)]
    pub is_at_end: bool,
    /// Why it has stopped itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
}

/// The outcomes of jobs that were tried again: how their next attempt ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationOutcomes {
    /// It succeeded.
    pub succeeded: u64,
    /// It failed as before.
    pub failed_again: u64,
    /// It failed in another way.
    pub failed_otherwise: u64,
    /// It was never tried, or no longer is known: a person has cancelled the job, say.
    #[serde(default)]
    pub unknown: u64,
}

impl OperationOutcomes {
    /// Jobs that nothing more will be known of.
    pub fn total(&self) -> u64 {
        self.succeeded + self.failed() + self.unknown
    }

    /// Counts one more.
    pub fn add(&mut self, outcome: OperationOutcome) {
        let count = match outcome {
            OperationOutcome::Succeeded => &mut self.succeeded,
            OperationOutcome::FailedAgain => &mut self.failed_again,
            OperationOutcome::FailedOtherwise => &mut self.failed_otherwise,
            OperationOutcome::Unknown => &mut self.unknown,
        };
        *count += 1;
    }

    /// Jobs that failed, in whatever way.
    pub fn failed(&self) -> u64 {
        self.failed_again + self.failed_otherwise
    }
}

/// Something that happens to an operation.
// Exhaustive on purpose: the step must handle each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationEvent {
    /// A batch of jobs was worked on.
    Worked {
        /// How many.
        jobs: u64,
        /// How many of them were changed.
        changed: u64,
        /// The last of them.
        cursor: JobId,
    },
    /// A part of the store was encrypted again.
    Encrypted(EncryptedPart),
    /// No job is left after the cursor.
    ReachedEnd,
    /// The next attempts of some of the jobs have ended. These counts are all there are, not only
    /// new ones, so that they may be counted twice.
    Outcomes(OperationOutcomes),
    /// Time has passed.
    Checked,
    /// A person halts it.
    Pause,
    /// A person lets it go on.
    Resume,
    /// A person ends it.
    Cancel,
}

/// Why an event is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationRefusal {
    /// It has ended.
    #[error("the operation is already {0}")]
    Ended(OperationStatus),
    /// A batch for one that is paused.
    #[error("the operation is paused; resume it first")]
    Paused,
    /// To resume one that was not paused.
    #[error("the operation is not paused")]
    NotPaused,
    /// Work of another kind of operation.
    #[error("the operation does other work")]
    OtherWork,
    /// A batch that was counted already.
    #[error("these jobs have already been processed")]
    WorkedAlready,
}

impl OperationProgress {
    pub(super) fn new(total: u64, now: Timestamp) -> Self {
        let status = match total {
            0 => OperationStatus::Done,
            _ => OperationStatus::Running,
        };
        Self {
            status,
            worked: 0,
            changed: 0,
            cursor: None,
            outcomes: OperationOutcomes::default(),
            stage: 0,
            since: now,
            next_at: Timestamp::EPOCH,
            is_at_end: false,
            stop_reason: None,
        }
    }
}

impl Operation {
    /// Decides what an event makes of an operation. An answer that equals the operation need not be
    /// written.
    pub fn step(&self, event: OperationEvent, now: Timestamp) -> Result<Self, OperationRefusal> {
        let mut next = self.clone();
        let progress = &mut next.progress;
        let status = progress.status;
        match event {
            OperationEvent::Outcomes(outcomes) => progress.outcomes = outcomes,
            OperationEvent::Checked => {}
            _ if status.is_final() => return Err(OperationRefusal::Ended(status)),
            OperationEvent::Pause => progress.status = OperationStatus::Paused,
            OperationEvent::Resume if status == OperationStatus::Running => {
                return Err(OperationRefusal::NotPaused);
            }
            OperationEvent::Resume => progress.status = OperationStatus::Running,
            OperationEvent::Cancel => progress.status = OperationStatus::Cancelled,
            _ if status == OperationStatus::Paused => return Err(OperationRefusal::Paused),
            OperationEvent::Encrypted(part) => next.count_encrypted(&part, now)?,
            _ if next.rotation.is_some() => return Err(OperationRefusal::OtherWork),
            OperationEvent::Worked { cursor, .. }
                if progress.cursor.is_some_and(|last| cursor >= last) =>
            {
                return Err(OperationRefusal::WorkedAlready);
            }
            OperationEvent::Worked {
                jobs,
                changed,
                cursor,
            } => next.count(jobs, changed, cursor, now),
            OperationEvent::ReachedEnd => {
                progress.is_at_end = true;
                if self.canary.is_none() {
                    progress.status = OperationStatus::Done;
                }
            }
        }
        if next.progress.status != status {
            next.progress.since = now;
        }
        next.watch(now);
        Ok(next)
    }

    fn count(&mut self, jobs: u64, changed: u64, cursor: JobId, now: Timestamp) {
        let next_at = self.next_at(now);
        let interval = self.interval().unwrap_or_default();
        let progress = &mut self.progress;
        progress.worked = progress.worked.saturating_add(jobs);
        progress.changed = progress.changed.saturating_add(changed.min(jobs));
        progress.cursor = Some(cursor);
        progress.since = now;
        // More jobs than were counted may match by now.
        self.total = self.total.max(progress.worked);
        let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
        progress.next_at = next_at.plus(interval.saturating_mul(jobs));
    }

    /// Stops a canary that goes badly, and lets one that goes well on to its next stage.
    fn watch(&mut self, now: Timestamp) {
        if self.canary.is_none() || self.progress.status != OperationStatus::Running {
            return;
        }
        if self.is_too_bad() {
            let outcomes = &self.progress.outcomes;
            let failed = outcomes.failed();
            let total = failed + outcomes.succeeded;
            return self.stop(format!("{failed} of {total} jobs failed again"), now);
        }
        let has_waited = now.since(self.progress.since) >= limits::CANARY_WAIT_MAX;
        if self.progress.is_at_end {
            // Nothing is left that could be left alone.
            if self.missing() == 0 || has_waited {
                self.progress.status = OperationStatus::Done;
                self.progress.since = now;
            }
            return;
        }
        while self.is_stage_over() {
            self.progress.stage += 1;
            self.progress.since = now;
        }
        let is_waiting = self
            .stage_end()
            .is_some_and(|end| self.progress.worked >= end);
        if is_waiting && now.since(self.progress.since) >= limits::CANARY_WAIT_MAX {
            let missing = self.missing();
            let wait = crate::values::duration::format(limits::CANARY_WAIT_MAX);
            self.stop(
                format!("{missing} jobs were not attempted within {wait}"),
                now,
            );
        }
    }

    /// Jobs that were changed, and of which nothing is known yet.
    fn missing(&self) -> u64 {
        let known = self.progress.outcomes.total();
        self.progress.changed.saturating_sub(known)
    }

    fn stop(&mut self, reason: String, now: Timestamp) {
        self.progress.status = OperationStatus::Stopped;
        self.progress.stop_reason = Some(reason);
        self.progress.since = now;
    }
}

/// The report: what was done and what was not.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(it) = &self.rotation {
            return self.describe_rotation(it, f);
        }
        let (kind, total, progress) = (self.kind, self.total, &self.progress);
        let (worked, changed) = (progress.worked, progress.changed);
        let at_least = if self.is_lower_bound { "at least " } else { "" };
        let jobs = if total == 1 { "job" } else { "jobs" };
        write!(
            f,
            "{} of {at_least}{} {jobs} is {}: {} changed",
            kind.as_str().replace('_', " "),
            thousands(total),
            progress.status,
            thousands(changed)
        )?;
        let refused = worked.saturating_sub(changed);
        if refused > 0 {
            write!(f, ", {} not changed", thousands(refused))?;
        }
        let left = total.saturating_sub(worked);
        if left > 0 {
            let how = if progress.status.is_final() {
                "skipped"
            } else {
                "remaining"
            };
            write!(f, ", {} {how}", thousands(left))?;
        }
        let outcomes = &progress.outcomes;
        if outcomes.total() > 0 {
            let (again, otherwise) = (outcomes.failed_again, outcomes.failed_otherwise);
            let succeeded = outcomes.succeeded;
            write!(
                f,
                "; {succeeded} succeeded, {again} failed again, {otherwise} failed for another reason"
            )?;
            if outcomes.unknown > 0 {
                write!(f, ", {} not attempted", outcomes.unknown)?;
            }
        }
        let missing = self.missing();
        if self.canary.is_some() && progress.is_at_end && missing > 0 {
            write!(f, "; {missing} outcomes pending")?;
        }
        match &progress.stop_reason {
            Some(reason) => write!(f, "; it stopped because {reason}"),
            None => Ok(()),
        }
    }
}
