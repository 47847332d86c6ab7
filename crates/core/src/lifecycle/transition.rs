//! The change after an attempt, as stores write it: under a guard, all of it or nothing.

use crate::{
    failure_group::FailureObservation,
    job::{
        Fence, JobProgress, NewJob, attempt::Attempt, cost::CostChange, outbox::OutboxRefusal,
        tally::Tally,
    },
    state::JobState,
    values::{BatchId, JobId, Timestamp},
};

/// The change that a store writes after an attempt: all of it, or nothing.
// Exhaustive on purpose: every store writes each field.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    /// The job it is about.
    pub job: JobId,
    /// The condition on the stored job.
    pub guard: Guard,
    /// How far the job has then come.
    pub to: JobProgress,
    /// The record of the attempt; `None` for a release before the handler started.
    pub record: Option<Attempt>,
    /// New jobs that exist if and only if this transition does.
    pub outbox: Vec<NewJob>,
    /// The batch of the job. It takes jobs from the outbox even if it is closed: it has not ended,
    /// because this job has not.
    pub batch: Option<BatchId>,
    /// The counts to add to those of the job's lane.
    pub tally: Tally,
    /// The failure to add to the counts of its group, if there was one.
    pub observation: Option<Box<FailureObservation>>,
    /// What the gates of the job charge or give back, because the attempt did not use what was reserved
    /// for it.
    pub cost_change: Option<CostChange>,
}

/// The condition on the stored job for a transition to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The job is running under this claim.
    pub fence: Fence,
    /// A request to cancel was known when this was decided.
    pub cancel_requested: bool,
    /// The lease has run out, and was not renewed meanwhile.
    pub lease_expired: bool,
    /// The version of the endpoints that the outbox was decided with; `None` if no endpoint has
    /// a say in it.
    pub endpoints: Option<u64>,
}

/// The result of writing a transition.
// Exhaustive on purpose: every committer must handle each result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitResult {
    /// It is written, by this commit or by an earlier one whose response was lost.
    Done,
    /// The claim has expired, or its lease was renewed in time: nothing is written.
    Stale,
    /// A cancel was requested after this was decided: nothing is written, decide again with it.
    CancelRequested,
    /// Endpoints changed after this was decided: nothing is written, decide again with them.
    EndpointsChanged,
    /// A job of the outbox cannot be created: nothing is written.
    OutboxRefused(OutboxRefusal),
}

impl Transition {
    /// Why this must not be written, given the job as it is stored (`None` if it is gone), the
    /// record that its claim has left, if any, and the version of the endpoints. `None`: the
    /// guard holds, write it.
    pub fn refusal(
        &self,
        stored: Option<&JobProgress>,
        record: Option<&Attempt>,
        endpoints: u64,
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
        let is_unknown = stored.cancel_requested && !self.guard.cancel_requested;
        if is_unknown {
            return Some(CommitResult::CancelRequested);
        }
        let is_outdated = |known| known != endpoints;
        let is_outdated = self.guard.endpoints.is_some_and(is_outdated);
        is_outdated.then_some(CommitResult::EndpointsChanged)
    }

    /// Whether this same transition ended the claim. It is recognised by its attempt record; one
    /// that leaves no record, by the job being as the transition leaves it.
    fn was_written(&self, stored: &JobProgress, record: Option<&Attempt>) -> bool {
        match &self.record {
            Some(_) => record == self.record.as_ref(),
            None => *stored == self.to,
        }
    }
}
