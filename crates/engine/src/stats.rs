//! Counts for people.

use steadfast_core::{Tally, Timestamp};
use steadfast_store::LaneStats;

/// Jobs by label, and attempts since the beginning and lately.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub scheduled: u64,
    pub ready: u64,
    pub running: u64,
    pub retrying: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub cancelled: u64,
    pub dead_letters: u64,
    pub oldest_ready: Option<Timestamp>,
    pub total: Tally,
    pub recent: Tally,
}

impl Stats {
    pub fn total_retries(&self) -> u64 {
        self.total.retries
    }

    pub fn successful_retries(&self) -> u64 {
        self.total.successful_retries
    }

    /// `None` before the first retry.
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
