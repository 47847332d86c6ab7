//! What follows an attempt, as stores write it: under a guard, all of it or nothing.

use crate::{Attempt, Fence, JobId, JobProgress, JobState, NewJob, Tally, Timestamp};

/// What a store writes after an attempt: all of it, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub job: JobId,
    pub guard: Guard,
    pub to: JobProgress,
    pub record: Option<Attempt>,
    /// New jobs that exist if and only if this transition does.
    pub outbox: Vec<NewJob>,
    /// What this adds to the counters.
    pub tally: Tally,
}

/// What must still be true of the stored job for a transition to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The job is running under this claim.
    pub fence: Fence,
    /// A request to cancel was known when this was decided.
    pub cancel_requested: bool,
    /// The lease has run out, and was not renewed meanwhile.
    pub lease_expired: bool,
}

/// What became of a transition that a store was asked to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitResult {
    /// It is written, by this commit or by an earlier one whose answer was lost.
    Done,
    /// The claim does not hold any more, or its lease was renewed after all: nothing written.
    Stale,
    /// A cancel was requested after this was decided: decide again, knowing that.
    CancelRequested,
}

impl Transition {
    /// Why this must not be written, given the job as it is stored (`None` if it is gone) and
    /// the record that its claim has left, if any. `None` means that the guard holds.
    pub fn refusal(
        &self,
        stored: Option<&JobProgress>,
        record: Option<&Attempt>,
        now: Timestamp,
    ) -> Option<CommitResult> {
        let Some(stored) = stored else {
            return Some(CommitResult::Stale);
        };
        if stored.state != JobState::Running || stored.fence != self.guard.fence {
            return Some(if self.was_written(stored, record) {
                CommitResult::Done
            } else {
                CommitResult::Stale
            });
        }
        if self.guard.lease_expired && stored.lease_until > Some(now) {
            return Some(CommitResult::Stale);
        }
        let is_news = stored.cancel_requested && !self.guard.cancel_requested;
        is_news.then_some(CommitResult::CancelRequested)
    }

    /// Whether this very transition ended the claim: it is known by its attempt record or, where
    /// it leaves none, by the job being as it left it.
    fn was_written(&self, stored: &JobProgress, record: Option<&Attempt>) -> bool {
        match &self.record {
            Some(_) => record == self.record.as_ref(),
            None => *stored == self.to,
        }
    }
}
