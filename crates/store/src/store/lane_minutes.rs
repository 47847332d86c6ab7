//! What is coming and what has been, by the minute.

use std::collections::BTreeMap;

use steadfast_core::{Kind, Queue, Tally, Tenant, Timestamp};

use crate::{
    lane::Lane,
    minutes::{minute, minute_start},
};

/// Waiting jobs and ended attempts of lanes by the minute.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LaneMinutesList {
    /// One lane after the other, by tenant, queue and kind.
    pub lanes: Vec<LaneMinutes>,
    /// Not all counters were read: of what waits the earliest were, of what ended the newest.
    pub is_cut: bool,
}

/// Waiting jobs and ended attempts of one lane by the minute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaneMinutes {
    /// The tenant of the lane.
    pub tenant: Tenant,
    /// The queue of the lane.
    pub queue: Queue,
    /// The kind of the lane's jobs.
    pub kind: Kind,
    /// Waiting jobs, the earliest minute first; what is due already is in the present minute.
    pub waiting: Vec<WaitingMinute>,
    /// Attempts that ended, the oldest minute first.
    pub ended: Vec<MinuteStats>,
}

/// Attempts that ended within one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinuteStats {
    /// When the minute began.
    pub at: Timestamp,
    /// The attempts of the minute.
    pub tally: Tally,
}

/// Jobs that wait for one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingMinute {
    /// When the minute begins.
    pub at: Timestamp,
    /// Jobs that wait.
    pub jobs: u64,
    /// How many of them have been tried already.
    pub retries: u64,
}

/// Jobs for one destination that wait, by the minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DueMinutes {
    /// The earliest minute first; what is due already is in the present minute.
    pub minutes: Vec<WaitingMinute>,
    /// There are more: the count stopped early.
    pub at_least: bool,
}

impl DueMinutes {
    /// Jobs of all minutes.
    pub fn jobs(&self) -> u64 {
        self.minutes.iter().map(|minute| minute.jobs).sum()
    }
}

/// Adds counts up by the minute, of which those before the present one are in the present one.
pub(crate) struct WaitingSum {
    present: i64,
    minutes: BTreeMap<i64, (i64, i64)>,
}

impl WaitingSum {
    pub(crate) fn at(now: Timestamp) -> Self {
        Self {
            present: minute(now),
            minutes: BTreeMap::new(),
        }
    }

    /// Counts may be negative; only their sums mean something.
    pub(crate) fn add(&mut self, minute: i64, jobs: i64, retries: i64) {
        let sum = self.minutes.entry(minute.max(self.present)).or_default();
        sum.0 += jobs;
        sum.1 += retries;
    }

    pub(crate) fn finish(self) -> Vec<WaitingMinute> {
        let shown = |count: i64| u64::try_from(count).unwrap_or(0);
        let minutes = self.minutes.into_iter().map(|(minute, (jobs, retries))| {
            let jobs = shown(jobs);
            WaitingMinute {
                at: minute_start(minute),
                jobs,
                retries: shown(retries).min(jobs),
            }
        });
        minutes.filter(|minute| minute.jobs > 0).collect()
    }
}

/// Puts together what was read, in any order.
pub(crate) struct LaneMinutesSum {
    now: Timestamp,
    lanes: BTreeMap<Lane, (WaitingSum, BTreeMap<i64, Tally>)>,
}

impl LaneMinutesSum {
    pub(crate) fn at(now: Timestamp) -> Self {
        Self {
            now,
            lanes: BTreeMap::new(),
        }
    }

    fn lane(&mut self, lane: &Lane) -> &mut (WaitingSum, BTreeMap<i64, Tally>) {
        let now = self.now;
        self.lanes
            .entry(lane.clone())
            .or_insert_with(|| (WaitingSum::at(now), BTreeMap::new()))
    }

    pub(crate) fn add_waiting(&mut self, lane: &Lane, minute: i64, jobs: i64, retries: i64) {
        self.lane(lane).0.add(minute, jobs, retries);
    }

    pub(crate) fn add_ended(&mut self, lane: &Lane, minute: i64, tally: Tally) {
        *self.lane(lane).1.entry(minute).or_default() += tally;
    }

    pub(crate) fn finish(self, is_cut: bool) -> LaneMinutesList {
        let lanes = self.lanes.into_iter().map(|(lane, (waiting, ended))| {
            let ended = ended.into_iter().map(|(minute, tally)| MinuteStats {
                at: minute_start(minute),
                tally,
            });
            LaneMinutes {
                tenant: lane.tenant,
                queue: lane.queue,
                kind: lane.kind,
                waiting: waiting.finish(),
                ended: ended.filter(|it| it.tally != Tally::default()).collect(),
            }
        });
        let has_any = |lane: &LaneMinutes| !lane.waiting.is_empty() || !lane.ended.is_empty();
        LaneMinutesList {
            lanes: lanes.filter(has_any).collect(),
            is_cut,
        }
    }
}
