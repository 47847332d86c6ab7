//! Counts that are stored for every lane, and which questions they answer.

use steadfast_core::{JobLabel, Tally};

use super::{values::unsigned, waiting::WaitingCount};
use crate::store::{JobFilter, LaneStats};

/// The stored counters of a lane. Labels that depend on the time are not among them.
pub(crate) struct LaneCounters {
    /// Scheduled, ready and retrying jobs together.
    pub waiting: WaitingCount,
    pub stats: LaneStats,
}

impl LaneCounters {
    /// Lanes are never deleted, but one without jobs and attempts is not worth listing.
    pub(crate) fn is_empty(&self) -> bool {
        self.all() == 0 && self.stats.total == Tally::default()
    }

    fn all(&self) -> u64 {
        let LaneStats {
            running,
            succeeded,
            failed,
            cancelled,
            ..
        } = self.stats;
        unsigned(self.waiting.waiting) + running + succeeded + failed + cancelled
    }

    pub(crate) fn count(&self, label: Option<JobLabel>, dead_letters: bool) -> u64 {
        let stats = &self.stats;
        match (label, dead_letters) {
            (None | Some(JobLabel::Failed), true) => stats.dead_letters,
            (Some(_), true) => 0,
            (None, false) => self.all(),
            (Some(JobLabel::Running), false) => stats.running,
            (Some(JobLabel::Succeeded), false) => stats.succeeded,
            (Some(JobLabel::Failed), false) => stats.failed,
            (Some(JobLabel::Cancelled), false) => stats.cancelled,
            (Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying), false) => {
                unsigned(self.waiting.waiting)
            }
        }
    }
}

/// Whether the counters alone tell how many jobs match.
pub(crate) fn can_count(filter: &JobFilter) -> bool {
    let by_counters = JobFilter {
        tenant: filter.tenant.clone(),
        queue: filter.queue.clone(),
        kind: filter.kind.clone(),
        label: filter.label,
        dead_letters: filter.dead_letters,
        ..JobFilter::default()
    };
    let depends_on_time = matches!(
        filter.label,
        Some(JobLabel::Scheduled | JobLabel::Ready | JobLabel::Retrying)
    );
    *filter == by_counters && (!depends_on_time || filter.dead_letters)
}

/// How many jobs match a filter that the counters can answer.
pub(crate) fn count(filter: &JobFilter, lanes: impl IntoIterator<Item = LaneCounters>) -> u64 {
    lanes
        .into_iter()
        .filter(|lane| {
            let LaneStats {
                tenant,
                queue,
                kind,
                ..
            } = &lane.stats;
            filter.matches_lane(tenant, queue, kind)
        })
        .map(|lane| lane.count(filter.label, filter.dead_letters))
        .sum()
}
