//! Holding the stored counters against the jobs.
//!
//! Counters and jobs are read in one snapshot, and what differs is added to the counters. What
//! happens meanwhile changes both alike, so nothing has to wait for it.

use std::collections::BTreeMap;

use super::{
    counters::WaitingCount,
    values::{STATES, state_number},
};
use crate::{lane::Lane, store::CounterDifference};
use steadfast_core::JobState;

/// The counters of a lane that tell how many jobs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaneTotals {
    pub by_state: [i64; STATES],
    pub dead_letters: i64,
    pub retrying: i64,
}

const WAITING: usize = 0; // not a limit: the number of the state

impl LaneTotals {
    fn minus(self, other: Self) -> Self {
        let mut by_state = self.by_state;
        for (count, other) in by_state.iter_mut().zip(other.by_state) {
            *count -= other;
        }
        Self {
            by_state,
            dead_letters: self.dead_letters - other.dead_letters,
            retrying: self.retrying - other.retrying,
        }
    }

    fn named(self) -> impl Iterator<Item = (&'static str, i64)> {
        let states = [
            ("waiting", JobState::Waiting),
            ("running", JobState::Running),
            ("succeeded", JobState::Succeeded),
            ("failed", JobState::Failed),
            ("cancelled", JobState::Cancelled),
        ];
        let by_state = states.into_iter().map(move |(name, state)| {
            let number = usize::try_from(state_number(state)).unwrap_or_default();
            (name, self.by_state[number])
        });
        by_state.chain([
            ("deadLetters", self.dead_letters),
            ("waitingForRetry", self.retrying),
        ])
    }
}

/// What is counted, and what was found.
#[derive(Clone, Copy, Debug, Default)]
struct CounterPair<T> {
    counted: T,
    found: T,
}

/// All counters beside what was found.
pub(crate) struct Recount<LaneId> {
    lanes: BTreeMap<LaneId, CounterPair<LaneTotals>>,
    /// Waiting jobs by lane and minute.
    minutes: BTreeMap<(LaneId, i64), CounterPair<WaitingCount>>,
}

impl<LaneId: Ord + Copy> Recount<LaneId> {
    pub(crate) fn new() -> Self {
        Self {
            lanes: BTreeMap::new(),
            minutes: BTreeMap::new(),
        }
    }

    pub(crate) fn counted(&mut self, lane: LaneId, totals: LaneTotals) {
        self.lanes.entry(lane).or_default().counted = totals;
    }

    /// Jobs in a state other than waiting.
    pub(crate) fn found(&mut self, lane: LaneId, state: i16, count: i64, dead_letters: i64) {
        let found = &mut self.lanes.entry(lane).or_default().found;
        if let Some(number) = found
            .by_state
            .get_mut(usize::try_from(state).unwrap_or(STATES))
        {
            *number += count;
        }
        found.dead_letters += dead_letters;
    }

    pub(crate) fn counted_minute(&mut self, lane: LaneId, minute: i64, count: WaitingCount) {
        self.minutes.entry((lane, minute)).or_default().counted += count;
    }

    pub(crate) fn found_minute(&mut self, lane: LaneId, minute: i64, count: WaitingCount) {
        self.minutes.entry((lane, minute)).or_default().found += count;
        let found = &mut self.lanes.entry(lane).or_default().found;
        found.by_state[WAITING] += count.waiting;
        found.retrying += count.retrying;
    }

    /// What has to be added to the totals of lanes.
    pub(crate) fn lane_corrections(&self) -> impl Iterator<Item = (LaneId, LaneTotals)> {
        let corrections = self
            .lanes
            .iter()
            .map(|(lane, totals)| (*lane, totals.found.minus(totals.counted)));
        corrections.filter(|(_, correction)| *correction != LaneTotals::default())
    }

    /// What has to be added to the minutes of lanes.
    pub(crate) fn minute_corrections(&self) -> impl Iterator<Item = (LaneId, i64, WaitingCount)> {
        let corrections = self
            .minutes
            .iter()
            .map(|((lane, minute), count)| (*lane, *minute, count.found - count.counted));
        corrections.filter(|(.., correction)| *correction != WaitingCount::default())
    }

    /// What differs, by the names of lanes.
    pub(crate) fn differences(
        &self,
        mut name: impl FnMut(LaneId) -> Option<Lane>,
    ) -> Vec<CounterDifference> {
        let mut differences = Vec::new();
        for (lane, totals) in &self.lanes {
            let Some(name) = name(*lane) else {
                continue;
            };
            let (counted, found) = (totals.counted.named(), totals.found.named());
            for ((counter, counted), (_, found)) in counted.zip(found) {
                if counted != found {
                    differences.push(difference(&name, counter, counted, found));
                }
            }
            // Of minutes the first is enough to tell.
            let mut wrong = self.minutes.range((*lane, i64::MIN)..=(*lane, i64::MAX));
            if let Some((_, count)) = wrong.find(|(_, count)| count.counted != count.found) {
                let (counted, found) = (count.counted.waiting, count.found.waiting);
                differences.push(difference(&name, "waitingInMinute", counted, found));
            }
        }
        differences
    }
}

fn difference(lane: &Lane, counter: &str, counted: i64, found: i64) -> CounterDifference {
    CounterDifference {
        tenant: lane.tenant.clone(),
        queue: lane.queue.clone(),
        kind: lane.kind.clone(),
        counter: counter.to_owned(),
        counted,
        found,
    }
}
