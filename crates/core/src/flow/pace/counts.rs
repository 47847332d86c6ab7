//! What nodes count of the answers of a destination, so that its pace can be learned.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{LearnedPace, PaceAnswer};
use crate::{job::attempt::EndedAttempt, values::Timestamp};

/// Twice as long, in the units of a latency: they are logarithms, so that a few slow calls do not
/// hide how long most take, and calls of several kinds can be counted together.
pub(super) const OCTAVE: u32 = 64; // not a limit: a unit

/// The answers that a node has counted. Counts of several nodes can be added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::flow) struct PaceCounts {
    /// When the limit was set that the node knew; what follows counts only for that one.
    #[serde(skip_serializing_if = "Timestamp::is_epoch")]
    pub(super) limit_since: Timestamp,
    /// Attempts that ended.
    pub(super) ended: u32,
    /// Those of them with a good answer.
    pub(super) good: u32,
    /// Those that were refused.
    pub(super) refused: u32,
    /// How long all of them ran together.
    pub(super) busy_micros: u64,
    /// The longest wait that a refusal asked for.
    #[serde(skip_serializing_if = "Duration::is_zero")]
    pub(super) wait: Duration,
    /// Good answers to attempts that started under the limit, with the sums of their latencies and
    /// of the squares.
    pub(super) timed: u32,
    pub(super) latency_sum: u64,
    pub(super) latency_squares: u64,
    /// Attempts that started under the limit and were refused, and when the first of them started.
    pub(super) newly_refused: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_refused: Option<Timestamp>,
    /// Attempts that started under the limit and timed out.
    pub(super) timed_out: u32,
}

/// The latency of many calls.
pub(super) struct Latency {
    /// Of their logarithms.
    pub mean: u32,
    /// By how much chance may have changed that.
    pub doubt: u32,
}

impl PaceCounts {
    /// Attempts that started under the limit and say whether it is borne.
    pub(super) fn answered(&self) -> u32 {
        self.timed.saturating_add(self.timed_out)
    }

    /// Adds those of a node. What it says of an earlier limit counts no more.
    pub(super) fn add(&mut self, other: &Self, limit_since: Timestamp) {
        let sum = |total: &mut u32, more: u32| *total = total.saturating_add(more);
        let sum_long = |total: &mut u64, more: u64| *total = total.saturating_add(more);
        sum(&mut self.ended, other.ended);
        sum(&mut self.good, other.good);
        sum(&mut self.refused, other.refused);
        sum_long(&mut self.busy_micros, other.busy_micros);
        if other.limit_since != limit_since {
            return;
        }
        sum(&mut self.timed, other.timed);
        sum_long(&mut self.latency_sum, other.latency_sum);
        sum_long(&mut self.latency_squares, other.latency_squares);
        sum(&mut self.newly_refused, other.newly_refused);
        sum(&mut self.timed_out, other.timed_out);
        let first = self.first_refused.into_iter().chain(other.first_refused);
        self.first_refused = first.min();
    }

    /// Forgets the refusals, which were paid for.
    pub(super) fn forgive(&mut self) {
        self.newly_refused = 0;
        self.first_refused = None;
    }

    /// The latency of the good answers; `None` without any.
    pub(super) fn latency(&self) -> Option<Latency> {
        let count = u64::from(self.timed);
        let mean = self.latency_sum.checked_div(count)?;
        let squares = self.latency_squares.checked_div(count)?;
        let variance = squares.saturating_sub(mean.saturating_mul(mean));
        // Two standard errors, and of a few calls more: they may be alike by chance.
        let doubt = 2 * (variance / count).isqrt() + u64::from(OCTAVE) / count;
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Some(Latency {
            mean: number(mean),
            doubt: number(doubt),
        })
    }
}

/// The counts of one node since its last report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::flow) struct PaceTally {
    /// The limit that the node knows, and since when.
    known: Option<(Timestamp, Timestamp)>,
    counts: PaceCounts,
}

impl PaceTally {
    /// The node knows this pace at this time.
    pub(in crate::flow) fn see(&mut self, pace: Option<&LearnedPace>, now: Timestamp) {
        let since = pace.map_or(Timestamp::EPOCH, |pace| pace.limit.since);
        // One that was known before anything was counted.
        let (known, _) = *self.known.get_or_insert((since, since));
        if known != since {
            self.known = Some((since, now));
            self.counts = PaceCounts {
                timed: 0,
                latency_sum: 0,
                latency_squares: 0,
                newly_refused: 0,
                first_refused: None,
                timed_out: 0,
                ..std::mem::take(&mut self.counts)
            };
        }
        self.counts.limit_since = since;
    }

    pub(in crate::flow) fn add(&mut self, ended: &EndedAttempt, answer: PaceAnswer) {
        let start = ended.job().progress.started_at.unwrap_or(ended.at);
        let took = u64::try_from(ended.at.since(start).as_micros()).unwrap_or(u64::MAX);
        let known_at = self.known.map_or(Timestamp::EPOCH, |(_, at)| at);
        let is_new = start >= known_at;
        let counts = &mut self.counts;
        counts.ended = counts.ended.saturating_add(1);
        counts.busy_micros = counts.busy_micros.saturating_add(took);
        match answer {
            PaceAnswer::Good => {
                counts.good = counts.good.saturating_add(1);
                if is_new {
                    let latency = logarithm(took);
                    counts.timed = counts.timed.saturating_add(1);
                    counts.latency_sum += latency;
                    counts.latency_squares += latency * latency;
                }
            }
            PaceAnswer::Refused(wait) => {
                counts.refused = counts.refused.saturating_add(1);
                counts.wait = counts.wait.max(wait);
                if is_new {
                    counts.newly_refused = counts.newly_refused.saturating_add(1);
                    let first = counts.first_refused.into_iter().chain([start]);
                    counts.first_refused = first.min();
                }
            }
            PaceAnswer::TimedOut if is_new => {
                counts.timed_out = counts.timed_out.saturating_add(1);
            }
            PaceAnswer::TimedOut | PaceAnswer::Unclear => {}
        }
    }

    pub(in crate::flow) fn is_empty(&self) -> bool {
        self.counts.ended == 0
    }

    /// Takes out what was counted.
    pub(in crate::flow) fn take(&mut self) -> Option<PaceCounts> {
        if self.is_empty() {
            return None;
        }
        let counts = std::mem::take(&mut self.counts);
        self.counts.limit_since = counts.limit_since;
        Some(counts)
    }
}

/// Of microseconds, with 64 steps for each doubling.
fn logarithm(micros: u64) -> u64 {
    let micros = micros.max(1);
    let octaves = micros.ilog2();
    let steps = u64::from(OCTAVE);
    let rest = match octaves.checked_sub(OCTAVE.ilog2()) {
        Some(shift) => micros >> shift,
        None => micros << (OCTAVE.ilog2() - octaves),
    };
    u64::from(octaves) * steps + rest - steps
}
