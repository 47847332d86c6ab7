//! Which rows a list of jobs reads.

use steadfast_core::{JobLabel, Timestamp};

use super::values::{state_number, stored_state};
use crate::{lane::Lane, store::JobFilter};

/// The index that narrows a list best.
#[derive(Clone, Copy)]
pub(crate) enum JobIndex {
    /// The runs of a schedule.
    Runs,
    /// Failed jobs.
    Failed,
    /// Running jobs.
    Running,
    /// All jobs.
    All,
}

impl JobIndex {
    pub(crate) fn best_for(filter: &JobFilter) -> Self {
        match (filter.schedule, filter.label, filter.dead_letters) {
            (Some(_), ..) => Self::Runs,
            (None, Some(JobLabel::Failed), _) | (None, _, true) => Self::Failed,
            (None, Some(JobLabel::Running), false) => Self::Running,
            (None, ..) => Self::All,
        }
    }
}

/// The columns that rule out most rows, before a row is read as a job.
pub(crate) struct JobSummary<'r> {
    pub state: i16,
    pub created_at: Timestamp,
    pub reason: Option<&'r str>,
    /// `None` if its name has to be looked up.
    pub lane: Option<&'r Lane>,
}

impl JobSummary<'_> {
    /// Whether the job may match; [`JobFilter::matches`] decides.
    pub(crate) fn may_match(&self, filter: &JobFilter) -> bool {
        filter
            .label
            .is_none_or(|label| state_number(stored_state(label)) == self.state)
            && filter
                .created_from
                .is_none_or(|from| self.created_at >= from)
            && filter
                .created_before
                .is_none_or(|before| self.created_at < before)
            && filter
                .reason
                .is_none_or(|reason| self.reason == Some(reason.as_str()))
            && self.lane.is_none_or(|lane| lane.matches(filter))
    }
}
