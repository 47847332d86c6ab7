//! Counts over many lanes.

use steadfast_core::{Tally, Timestamp};
use steadfast_store::LaneStats;

/// Jobs by label, and attempts since the beginning and lately.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Jobs that wait for the time of their first attempt.
    pub scheduled: u64,
    /// Jobs that are due.
    pub ready: u64,
    /// Jobs that are claimed.
    pub running: u64,
    /// Jobs that wait for a retry.
    pub retrying: u64,
    /// Jobs that succeeded and are still kept.
    pub succeeded: u64,
    /// Jobs that failed for good and are still kept.
    pub failed: u64,
    /// Jobs that were cancelled and are still kept.
    pub cancelled: u64,
    /// Failed jobs that were neither requeued nor discarded.
    pub dead_letters: u64,
    /// When the job that has been due for longest became due.
    pub oldest_ready: Option<Timestamp>,
    /// Attempts since the beginning.
    pub total: Tally,
    /// Attempts since the time that the caller gave.
    pub recent: Tally,
}

impl Stats {
    /// How many attempts were retries.
    pub fn total_retries(&self) -> u64 {
        self.total.retries
    }

    /// How many retries succeeded.
    pub fn successful_retries(&self) -> u64 {
        self.total.successful_retries
    }

    /// The share of retries that succeeded; `None` before the first retry.
    pub fn retry_success_rate(&self) -> Option<f64> {
        self.total.retry_success_rate()
    }
}

impl FromIterator<LaneStats> for Stats {
    fn from_iter<I: IntoIterator<Item = LaneStats>>(lanes: I) -> Self {
        let mut sum = Self::default();
        for lane in lanes {
            sum.scheduled += lane.scheduled;
            sum.ready += lane.ready;
            sum.running += lane.running;
            sum.retrying += lane.retrying;
            sum.succeeded += lane.succeeded;
            sum.failed += lane.failed;
            sum.cancelled += lane.cancelled;
            sum.dead_letters += lane.dead_letters;
            sum.oldest_ready = match (sum.oldest_ready, lane.oldest_ready) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            sum.total += lane.total;
            sum.recent += lane.recent;
        }
        sum
    }
}
