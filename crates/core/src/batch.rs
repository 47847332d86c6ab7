//! Jobs that are counted together, and a job that is made when all have ended.

mod new;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    limits,
    state::JobState,
    values::{Invalid, string_enum},
};

pub use new::{BATCH_TAG, NewBatch};

string_enum! {
    /// Where a batch stands.
    // Exhaustive on purpose: pages must show each.
    BatchStatus, "status" {
        /// Jobs can be added.
        Open = "open",
        /// No more jobs can be added, and some have not ended.
        Running = "running",
        /// All jobs have succeeded.
        Succeeded = "succeeded",
        /// All jobs have ended, and some without success.
        Failed = "failed",
    }
}

string_enum! {
    /// Which jobs of a batch to list.
    // Exhaustive on purpose: every store must find each.
    BatchJobFilter, "state" {
        /// Those that have not ended.
        Unfinished = "unfinished",
        /// Those that have succeeded.
        Succeeded = "succeeded",
        /// Those that have failed.
        Failed = "failed",
        /// Those that were cancelled.
        Cancelled = "cancelled",
    }
}

impl BatchJobFilter {
    /// By what jobs of a state are found.
    pub fn of(state: JobState) -> Self {
        match state {
            JobState::Waiting | JobState::Running => Self::Unfinished,
            JobState::Succeeded => Self::Succeeded,
            JobState::Failed => Self::Failed,
            JobState::Cancelled => Self::Cancelled,
        }
    }
}

/// The name of a batch: free text of up to [`limits::BATCH_NAME_BYTES_MAX`] bytes, on one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchName(String);

impl BatchName {
    /// Refuses an empty name, a long one, and one with control characters.
    pub fn new(name: impl Into<String>) -> Result<Self, Invalid> {
        let name = name.into();
        let most = limits::BATCH_NAME_BYTES_MAX;
        if name.trim().is_empty() || name.len() > most || name.contains(char::is_control) {
            let expected = format!("must be 1 to {most} bytes of text on one line");
            return Err(Invalid::new("name", format!("{name:?}"), expected));
        }
        Ok(Self(name))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The counts of a batch. A change of one of its jobs is noted in the transaction that makes it, and
/// counted a little later: the counts, the jobs to make then and that the note is gone are written
/// together, so that each change counts once and each job is made once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BatchCounts {
    /// Jobs that were added.
    pub total: u64,
    /// Those that have succeeded.
    pub succeeded: u64,
    /// Those that have ended without success.
    pub failed: u64,
    /// Whether no more jobs can be added.
    pub is_closed: bool,
    /// Whether the job for the end of all was made.
    pub end_created: bool,
    /// Whether the job for the success of all was made.
    pub success_created: bool,
}

/// Where a job of a batch stands.
// Exhaustive on purpose: every store must count each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchJobState {
    /// It has not ended.
    Unfinished,
    /// It has succeeded.
    Succeeded,
    /// It has ended without success.
    Failed,
}

/// Something that happens to a batch.
// Exhaustive on purpose: the step must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEvent {
    /// Jobs were added, which have not ended.
    Added(u64),
    /// The same by the success of one of its own jobs, which may do so after it was closed.
    AddedByMember(u64),
    /// No more jobs will be added.
    Closed,
    /// A job of it has ended, or was requeued. Deleting one that has ended changes nothing.
    Changed {
        /// Where it stood.
        from: BatchJobState,
        /// Where it stands now.
        to: BatchJobState,
    },
}

/// A change of a batch, and the jobs to make because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchStep {
    /// The counts as they are to be stored.
    pub counts: BatchCounts,
    /// Whether to make the job for the end of all. It is made once, also if jobs are requeued and
    /// end again.
    pub creates_end: bool,
    /// Whether to make the job for the success of all, also once. It may follow long after the end,
    /// when the last dead letter was requeued and has succeeded.
    pub creates_success: bool,
}

impl BatchJobState {
    /// Where a job of this state stands. A discarded dead letter has failed.
    pub fn from_state(state: JobState) -> Self {
        match state {
            JobState::Waiting | JobState::Running => Self::Unfinished,
            JobState::Succeeded => Self::Succeeded,
            JobState::Failed | JobState::Cancelled => Self::Failed,
        }
    }
}

impl BatchCounts {
    /// Decides what an event makes of a batch. Refuses jobs for one that is closed, and more than
    /// [`limits::BATCH_JOBS_MAX`]. To close it twice changes nothing.
    pub fn step(self, event: BatchEvent) -> Result<BatchStep, Invalid> {
        let mut counts = self;
        match event {
            BatchEvent::Added(jobs) => {
                self.check_open()?;
                counts.total = self.total_with(jobs)?;
            }
            BatchEvent::AddedByMember(jobs) => counts.total = self.total_with(jobs)?,
            BatchEvent::Closed => counts.is_closed = true,
            BatchEvent::Changed { from, to } => {
                counts.count(from, |count| count.saturating_sub(1));
                counts.count(to, |count| count.saturating_add(1));
            }
        }
        let creates_end = counts.has_ended() && !counts.end_created;
        let creates_success = counts.has_succeeded() && !counts.success_created;
        counts.end_created |= creates_end;
        counts.success_created |= creates_success;
        Ok(BatchStep {
            counts,
            creates_end,
            creates_success,
        })
    }

    fn check_open(&self) -> Result<(), Invalid> {
        match self.is_closed {
            true => {
                let expected = "must be open to add jobs; create another batch";
                Err(Invalid::new("batch", "closed", expected))
            }
            false => Ok(()),
        }
    }

    fn total_with(&self, added: u64) -> Result<u64, Invalid> {
        let most = limits::BATCH_JOBS_MAX;
        let total = self.total.saturating_add(added);
        if total > most {
            let expected = format!("must be at most {most}; create another batch");
            return Err(Invalid::new("jobs", total, expected));
        }
        Ok(total)
    }

    fn count(&mut self, state: BatchJobState, change: impl Fn(u64) -> u64) {
        match state {
            BatchJobState::Unfinished => {}
            BatchJobState::Succeeded => self.succeeded = change(self.succeeded),
            BatchJobState::Failed => self.failed = change(self.failed),
        }
    }

    /// Jobs that have not ended.
    pub fn unfinished(&self) -> u64 {
        let ended = self.succeeded.saturating_add(self.failed);
        self.total.saturating_sub(ended)
    }

    /// Where the batch stands.
    pub fn status(&self) -> BatchStatus {
        match self.is_closed {
            false => BatchStatus::Open,
            true if self.has_succeeded() => BatchStatus::Succeeded,
            true if self.has_ended() => BatchStatus::Failed,
            true => BatchStatus::Running,
        }
    }

    /// How many of 100 jobs have ended, rounded down; 100 if there are none.
    pub fn percent(&self) -> u8 {
        let ended = self.total - self.unfinished();
        let percent = (ended * 100).checked_div(self.total).unwrap_or(100);
        u8::try_from(percent).unwrap_or(100)
    }

    /// Whether all jobs that it will have have ended.
    pub fn has_ended(&self) -> bool {
        self.is_closed && self.unfinished() == 0
    }

    /// Whether all jobs that it will have have succeeded.
    pub fn has_succeeded(&self) -> bool {
        self.is_closed && self.succeeded == self.total
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use BatchJobState::{Failed, Succeeded, Unfinished};

    fn changed(from: BatchJobState, to: BatchJobState) -> BatchEvent {
        BatchEvent::Changed { from, to }
    }

    /// The jobs that each event makes: `e` for the end of all, `s` for the success of all.
    fn made(events: &[BatchEvent]) -> Vec<String> {
        let mut counts = BatchCounts::default();
        let mut made = Vec::new();
        for event in events {
            let step = counts.step(*event).unwrap();
            counts = step.counts;
            let end = if step.creates_end { "e" } else { "" };
            let success = if step.creates_success { "s" } else { "" };
            made.push(format!("{end}{success}"));
        }
        made
    }

    #[test]
    fn a_batch_ends_with_its_last_job_once_it_is_closed() {
        let succeed = changed(Unfinished, Succeeded);
        let (add, close) = (BatchEvent::Added(2), BatchEvent::Closed);
        assert_eq!(made(&[add, close, succeed, succeed]), ["", "", "", "es"]);
        assert_eq!(made(&[add, succeed, succeed, close]), ["", "", "", "es"]);
        assert_eq!(made(&[close, close]), ["es", ""]);
    }

    #[test]
    fn success_may_follow_long_after_the_end_and_each_is_made_once() {
        let events = [
            BatchEvent::Added(1),
            BatchEvent::Closed,
            changed(Unfinished, Failed),
            // Requeued, failed, requeued, succeeded; retried by mistake, and again.
            changed(Failed, Unfinished),
            changed(Unfinished, Failed),
            changed(Failed, Unfinished),
            changed(Unfinished, Succeeded),
            changed(Succeeded, Unfinished),
            changed(Unfinished, Succeeded),
        ];
        assert_eq!(made(&events), ["", "", "e", "", "", "", "s", "", ""]);
    }

    #[test]
    fn how_far_a_batch_is_can_be_told() {
        let of = |total, succeeded, failed, is_closed| {
            let counts = BatchCounts {
                total,
                succeeded,
                failed,
                is_closed,
                ..BatchCounts::default()
            };
            (counts.status(), counts.percent())
        };
        assert_eq!(of(3, 3, 0, false), (BatchStatus::Open, 100));
        assert_eq!(of(3, 1, 1, true), (BatchStatus::Running, 66));
        assert_eq!(of(3, 2, 1, true), (BatchStatus::Failed, 100));
        assert_eq!(of(3, 3, 0, true), (BatchStatus::Succeeded, 100));
        assert_eq!(of(0, 0, 0, true), (BatchStatus::Succeeded, 100));
        for name in ["", " ", "two\nlines", &"x".repeat(256)] {
            assert!(BatchName::new(name).is_err(), "{name:?}");
        }
        assert_eq!(BatchName::new("import 7").unwrap().as_str(), "import 7");
    }

    #[test]
    fn a_closed_or_full_batch_takes_no_jobs() {
        let closed = BatchCounts::default()
            .step(BatchEvent::Closed)
            .unwrap()
            .counts;
        let error = closed.step(BatchEvent::Added(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "batch is closed: must be open to add jobs; create another batch"
        );
        let count = limits::BATCH_JOBS_MAX + 1;
        for many in [BatchEvent::Added(count), BatchEvent::AddedByMember(count)] {
            let error = BatchCounts::default().step(many).unwrap_err();
            assert_eq!(
                error.to_string(),
                "jobs is 1000001: must be at most 1000000; create another batch"
            );
        }
    }

    #[test]
    fn a_batch_does_not_end_before_the_jobs_that_its_last_job_added() {
        let succeed = changed(Unfinished, Succeeded);
        let events = [
            BatchEvent::Added(1),
            BatchEvent::Closed,
            BatchEvent::AddedByMember(1),
            succeed,
            succeed,
        ];
        assert_eq!(made(&events), ["", "", "", "", "es"]);
    }

    proptest! {
        #[test]
        fn each_job_is_made_at_most_once_and_not_too_early(
            jobs in 0..6_usize,
            close_at in 0..40_usize,
            changes in proptest::collection::vec((0..6_usize, 0..3_usize), 40),
        ) {
            let mut states = vec![Unfinished; jobs];
            let mut counts = BatchCounts::default();
            let (mut ends, mut successes) = (0, 0);
            let mut events = vec![BatchEvent::Added(jobs as u64)];
            for (index, (job, to)) in changes.into_iter().enumerate() {
                if index == close_at {
                    events.push(BatchEvent::Closed);
                }
                if let Some(state) = states.get_mut(job) {
                    let to = [Unfinished, Succeeded, Failed][to];
                    events.push(changed(std::mem::replace(state, to), to));
                }
            }
            for event in events {
                let step = counts.step(event).unwrap();
                counts = step.counts;
                prop_assert!(!step.creates_end || counts.unfinished() == 0 && counts.is_closed);
                prop_assert!(!step.creates_success || counts.succeeded == counts.total);
                ends += u32::from(step.creates_end);
                successes += u32::from(step.creates_success);
            }
            prop_assert!(ends <= 1 && successes <= 1);
            let count = |wanted| states.iter().filter(|state| **state == wanted).count() as u64;
            prop_assert_eq!(counts.succeeded, count(Succeeded));
            prop_assert_eq!(counts.failed, count(Failed));
            prop_assert_eq!(counts.unfinished(), count(Unfinished));
        }
    }
}
