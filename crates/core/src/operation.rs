//! Work on many jobs, as a thing of its own that any node can carry on.
//!
//! A loop over a million jobs is lost with its process. So an [`Operation`] is stored, and each
//! batch of jobs is written together with the progress that counts it, under the operation's
//! revision: a node that dies leaves it where it was, two nodes cannot count one batch twice, and
//! a pause holds from the moment that it is written. [`Operation::room`] says how many jobs may
//! come next, and [`Operation::step`] is the one place that changes the progress.

mod canary;
mod job;
mod progress;
mod rotation;
mod rotation_step;

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    lifecycle::command::{JobCommand, JobEdit},
    limits,
    policy::{PolicyPatch, RetryPolicy},
    values::{Invalid, JobId, Timestamp, string_enum},
};

pub use canary::CanaryRule;
pub use job::{OperationJob, OperationOutcome, OperationResult};
pub use progress::{OperationEvent, OperationOutcomes, OperationProgress, OperationRefusal};
pub use rotation::{EncryptedPart, KeyRotation};

string_enum! {
    /// The action of an operation on its jobs.
    // Exhaustive on purpose: every part that works on jobs must handle each.
    OperationKind, "kind" {
        /// Try dead letters again, with a fresh retry budget.
        Requeue = "requeue",
        /// Resolve dead letters without trying them again.
        Discard = "discard",
        /// Stop jobs that have not ended.
        Cancel = "cancel",
        /// Try jobs again that have ended without success, cancelled ones too.
        Retry = "retry",
        /// Give jobs that wait another retry policy.
        EditPolicy = "edit_policy",
        /// Do not let jobs wait for their time.
        RunNow = "run_now",
        /// Delete jobs that have ended, with their payload, result and history.
        Erase = "erase",
        /// Encrypt everything in the store with its newest key. It has no jobs.
        RotateEncryption = "rotate_encryption",
    }
}

string_enum! {
    /// Where an operation stands.
    // Exhaustive on purpose: pages and nodes must handle each.
    OperationStatus, "status" {
        /// A node works on it.
        Running = "running",
        /// A person has halted it.
        Paused = "paused",
        /// All jobs were worked on.
        Done = "done",
        /// A person has ended it; the rest is left alone.
        Cancelled = "cancelled",
        /// It has ended itself because failures came back; the rest is left alone.
        Stopped = "stopped",
    }
}

impl OperationStatus {
    /// Whether it will not go on.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Stopped)
    }
}

/// Work on many jobs: what was asked for, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Operation {
    /// The action on each job.
    pub kind: OperationKind,
    /// The changes to the policy of each job; only of `edit_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Arc<PolicyPatch>>,
    /// How far it is; only of `rotate_encryption`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotation: Option<Box<KeyRotation>>,
    /// How many jobs there were when it was created, or are known to be by now.
    pub total: u64,
    /// There may be more: the count was given up early.
    #[serde(default)]
    pub is_lower_bound: bool,
    /// How many jobs it may work on in a second; `None` for as many as there is time for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<u32>,
    /// Set if it tries a few jobs first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<CanaryRule>,
    /// How far it has come.
    pub progress: OperationProgress,
}

/// How many jobs may be worked on next.
// Exhaustive on purpose: every node must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationRoom {
    /// Up to this many, now.
    Jobs(u64),
    /// None before this time.
    Later(Timestamp),
    /// None before more outcomes of those that were tried are known.
    AfterOutcomes,
    /// None: it is paused or has ended.
    Never,
}

impl Operation {
    /// An operation on `total` jobs that has not begun. Refuses a policy without `edit_policy`, or
    /// the other way round.
    pub fn new(
        kind: OperationKind,
        retry: Option<Arc<PolicyPatch>>,
        total: u64,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        match (kind, &retry) {
            (OperationKind::RotateEncryption, _) => {
                let expected = "must be a kind for jobs";
                return Err(Invalid::new("kind", kind, expected));
            }
            (OperationKind::EditPolicy, None) => {
                let expected = "must be the changes to the retry policy";
                return Err(Invalid::new("retry", "missing", expected));
            }
            (OperationKind::EditPolicy, Some(_)) | (_, None) => {}
            (kind, Some(_)) => {
                let expected = "must be edit_policy if retry is given; otherwise omit retry";
                return Err(Invalid::new("kind", kind, expected));
            }
        }
        Ok(Self {
            kind,
            retry,
            rotation: None,
            total,
            is_lower_bound: false,
            pace: None,
            canary: None,
            progress: OperationProgress::new(total, now),
        })
    }

    /// Says that there may be more jobs than were counted.
    pub fn with_lower_bound(mut self) -> Self {
        self.is_lower_bound = true;
        self
    }

    /// Sets how many jobs it may work on in a second, from 1 to [`limits::OPERATION_PACE_MAX`].
    pub fn with_pace(mut self, pace: u32) -> Result<Self, Invalid> {
        let most = limits::OPERATION_PACE_MAX;
        if !(1..=most).contains(&pace) {
            let expected = format!(
                "must be between 1 and {most} jobs per second; pause the operation to stop it"
            );
            return Err(Invalid::new("pace", pace, expected));
        }
        self.pace = Some(pace);
        Ok(self)
    }

    /// Leaves out jobs that are created after it: it begins with those of this time and goes on with
    /// older ones.
    pub fn with_jobs_until(mut self, at: Timestamp) -> Self {
        let next = at.plus(Duration::from_millis(1));
        self.progress.cursor = Some(JobId::new(Timestamp::from_millis(next.as_millis()), 0));
        self
    }

    /// Lets it try a few jobs first. Only jobs that are tried again can show whether that works.
    pub fn with_canary(mut self, canary: CanaryRule) -> Result<Self, Invalid> {
        if !matches!(self.kind, OperationKind::Requeue | OperationKind::Retry) {
            let expected = "must be all for this kind; only requeue and retry support canary";
            return Err(Invalid::new("mode", "\"canary\"", expected));
        }
        self.canary = Some(canary);
        Ok(self)
    }

    /// The command for each of its jobs; without the changes of a policy, which depend on the job.
    /// `None` if it has no jobs.
    pub fn command(&self) -> Option<JobCommand> {
        Some(match self.kind {
            OperationKind::Requeue | OperationKind::Retry => JobCommand::Retry { payload: None },
            OperationKind::Discard => JobCommand::Discard,
            OperationKind::Cancel => JobCommand::Cancel,
            OperationKind::RunNow => JobCommand::RunNow,
            OperationKind::Erase => JobCommand::Erase,
            OperationKind::EditPolicy => JobCommand::Edit(JobEdit::default()),
            OperationKind::RotateEncryption => return None,
        })
    }

    /// The command for jobs that have this policy; `None` if the changes do not fit it.
    pub fn command_for(&self, policy: &RetryPolicy) -> Option<JobCommand> {
        let Some(retry) = &self.retry else {
            return self.command();
        };
        let policy = retry.over(policy).ok()?;
        Some(JobCommand::Edit(JobEdit {
            policy: Some(Arc::new(policy)),
            ..JobEdit::default()
        }))
    }

    /// How many jobs may be worked on at this time, in one batch.
    pub fn room(&self, now: Timestamp) -> OperationRoom {
        if self.progress.status != OperationStatus::Running {
            return OperationRoom::Never;
        }
        if self.progress.is_at_end {
            return OperationRoom::AfterOutcomes;
        }
        // More jobs than were counted may match by now; without stages they are all taken.
        let left = match self.stage_end() {
            Some(end) => end.saturating_sub(self.progress.worked),
            None => u64::MAX,
        };
        if left == 0 {
            return OperationRoom::AfterOutcomes;
        }
        let most = left.min(limits::OPERATION_BATCH_MAX);
        let Some(interval) = self.interval() else {
            return OperationRoom::Jobs(most);
        };
        let next_at = self.next_at(now);
        if next_at > now {
            return OperationRoom::Later(next_at);
        }
        let more = now.since(next_at).as_micros() / interval.as_micros().max(1);
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        OperationRoom::Jobs(most.min(more.saturating_add(1)))
    }

    fn interval(&self) -> Option<Duration> {
        self.pace.map(|pace| Duration::from_secs(1) / pace.max(1))
    }

    /// When the next job may be worked on. Time in which none was makes up for a second at most, and
    /// a time that a clock wrote before it was set back does not count.
    fn next_at(&self, now: Timestamp) -> Timestamp {
        let stored = self.progress.next_at;
        let interval = self.interval().unwrap_or_default();
        let latest = now.plus(interval * u32::try_from(limits::OPERATION_BATCH_MAX).unwrap_or(1));
        if stored > latest.plus(limits::CLOCK_STEP_MAX) {
            return now;
        }
        stored.max(now.minus(Duration::from_secs(1)))
    }
}

/// The jobs of an operation, as a request names them.
///
/// Refuses both ids and a filter, an empty list or one of more than [`limits::OPERATION_IDS_MAX`],
/// and a filter that matches every job unless the request says that all are meant.
pub fn check_operation_target(
    ids: Option<&[JobId]>,
    filter_is_empty: bool,
    all: bool,
) -> Result<(), Invalid> {
    let most = limits::OPERATION_IDS_MAX;
    match ids {
        Some(_) if !filter_is_empty || all => {
            let expected = "must be omitted if filter is given; use either ids or a filter";
            Err(Invalid::new("ids", "given", expected))
        }
        Some(ids) if !(1..=most).contains(&ids.len()) => {
            let expected = format!("must contain 1 to {most} ids; use a filter for more");
            Err(Invalid::new(
                "ids",
                format!("a list of {}", ids.len()),
                expected,
            ))
        }
        None if filter_is_empty && !all => {
            let expected = "must select jobs; add \"all\": true to select every job";
            Err(Invalid::new("filter", "empty", expected))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
