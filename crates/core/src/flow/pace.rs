//! Learned pace: how many calls at once a destination takes, found from its answers.
//!
//! The limit grows while it is used, answers are good and calls are not slower than usual; it falls
//! when calls are refused, time out or get slower. What makes that hard is the price of finding out:
//! a call that is refused is over at once, so one place too many makes hundreds of refused calls in a
//! second. So each refusal is paid for with good answers ([`limits::PACE_REFUSAL_COST`] of them), a
//! limit that was refused is tried again only when that is saved up, and the limit grows smoothly
//! with time, so that the first refusal says exactly where the limit is.
//!
//! [`LearnedPace::step`] takes and returns the whole state, without a clock. Nodes report counts,
//! which are added, so it does not matter in which order they come.
//! `docs/design/pace.md` has the figures.

mod answer;
mod counts;
mod limit;
mod minutes;

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    limits,
    values::{Timestamp, string_enum},
};

pub(super) use answer::PaceAnswer;
pub(super) use counts::{PaceCounts, PaceTally};
pub use limit::PaceLimit;
pub use minutes::PaceMinute;

use minutes::PaceMinutes;

string_enum! {
    /// Whether the number of calls at once to a destination is learned.
    PaceMode, "pace" {
        /// It is found from outcomes and latency.
        Learn = "learn",
        /// Only gates limit it.
        Off = "off",
    }
}

string_enum! {
    /// Why the learned number of calls at once has changed.
    PaceReason, "reason" {
        /// All places were used and the answers were good.
        Grown = "grown",
        /// A few more than were last refused are tried.
        Probe = "probe",
        /// The first calls beyond it were refused.
        Found = "found",
        /// Calls were refused with status 429 or 503.
        Refused = "refused",
        /// Calls were slower than usual.
        Slower = "slower",
        /// Calls timed out.
        TimedOut = "timed_out",
    }
}

impl PaceReason {
    /// Whether the number has become smaller.
    pub fn lowers(self) -> bool {
        !matches!(self, Self::Grown | Self::Probe)
    }

    /// `calls were refused with status 429 or 503`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Grown => "all places were used and the answers were good",
            Self::Probe => "more calls at once were tried",
            Self::Found => "the first calls beyond it were refused",
            Self::Refused => "calls were refused with status 429 or 503",
            Self::Slower => "calls were slower than usual",
            Self::TimedOut => "calls timed out",
        }
    }
}

/// A change of the learned number of calls at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaceMove {
    /// When.
    pub at: Timestamp,
    /// Calls at once until then.
    pub from: u32,
    /// Calls at once afterwards, or soon afterwards if it grows.
    pub to: u32,
    /// Why.
    pub reason: PaceReason,
}

/// The learned pace of a destination, as it is stored with its health.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LearnedPace {
    limit: PaceLimit,
    /// The highest limit that was used without being refused.
    borne: u32,
    /// The highest limit that may be tried without saving up for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ceiling: Option<u32>,
    /// By how many eighths the limit grows next.
    growth: u32,
    /// Good answers saved up for refusals; negative after many refusals.
    credit: i32,
    /// Cuts since a round went well: each is larger.
    cuts: u32,
    /// Times in a row that more calls than were last refused were tried in vain.
    failed_probes: u32,
    /// A limit that was refused is not tried again before.
    probe_from: Timestamp,
    /// The lowest latency of a round, as [`PaceCounts`] counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usual_latency: Option<u32>,
    /// The latency before the last cut for it, to see whether that helped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_before: Option<u32>,
    /// Cuts in a row that did not make calls faster, and the limit before the first of them.
    useless_cuts: u32,
    limit_before: u32,
    round_from: Timestamp,
    round: PaceCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_move: Option<PaceMove>,
    #[serde(default, skip_serializing_if = "PaceMinutes::is_empty")]
    minutes: PaceMinutes,
}

impl LearnedPace {
    /// Before any answer.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            limit: PaceLimit {
                heard_at: now,
                ..PaceLimit::START
            },
            borne: 1,
            ceiling: None,
            growth: limits::PACE_GROWTH_MAX,
            credit: 0,
            cuts: 0,
            failed_probes: 0,
            probe_from: Timestamp::EPOCH,
            usual_latency: None,
            latency_before: None,
            useless_cuts: 0,
            limit_before: limits::PACE_START,
            round_from: now,
            round: PaceCounts::default(),
            last_move: None,
            minutes: PaceMinutes::default(),
        }
    }

    /// The limit for claims.
    pub fn limit(&self) -> PaceLimit {
        self.limit
    }

    /// Whether its limit is known, because calls beyond it were refused or slower.
    pub fn is_found(&self) -> bool {
        self.limit.is_found
    }

    /// The last change, if there was one.
    pub fn last_move(&self) -> Option<PaceMove> {
        self.last_move
    }

    /// The last minutes in which calls ended, the oldest first.
    pub fn minutes(&self) -> impl Iterator<Item = PaceMinute> {
        self.minutes.iter()
    }

    /// Whether no call has ended for so long that it may be forgotten.
    pub(super) fn is_forgettable(&self, now: Timestamp) -> bool {
        now.since(self.limit.heard_at) >= limits::PACE_KEPT
    }

    /// Times that lie ahead although they cannot were written before the clock was set back.
    pub(super) fn correct_clock(&mut self, now: Timestamp) {
        let correct = |at: &mut Timestamp, ahead: Duration| {
            if *at > now.plus(limits::CLOCK_STEP_MAX).plus(ahead) {
                *at = now;
            }
        };
        let Self {
            limit, round_from, ..
        } = self;
        for at in [&mut limit.since, &mut limit.heard_at, round_from] {
            correct(at, Duration::ZERO);
        }
        correct(&mut self.probe_from, limits::PACE_PROBE_WAIT_MAX);
    }

    /// Adds what a node has counted, and decides what follows.
    #[must_use]
    pub(super) fn step(&self, counts: &PaceCounts, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.wake_up(counts, now);
        next.pay(counts);
        let wait = counts.wait.saturating_mul(limits::PACE_WAIT_FACTOR);
        if !wait.is_zero() {
            let wait = wait.min(limits::PACE_PROBE_WAIT_MAX);
            next.probe_from = next.probe_from.max(now.plus(wait));
        }
        next.round.add(counts, self.limit.since);
        next.minutes.add(counts, next.limit.at(now), now);
        match next.round.first_refused {
            Some(start) => next.refused(start, now),
            None => next.end_round(now),
        }
        next
    }

    /// What was learned long ago may be wrong by now: it is tried again from below.
    fn wake_up(&mut self, counts: &PaceCounts, now: Timestamp) {
        if counts.ended == 0 {
            return;
        }
        if self.limit.is_old(now) {
            let lower = self.limit.at(now);
            // Up to what was borne it grows without saving up.
            self.ceiling = Some(self.ceiling.unwrap_or(self.borne).max(lower));
            self.limit = PaceLimit {
                from: lower,
                to: lower,
                ..self.limit
            };
            self.restart_round(now);
        }
        // Not with each report: each change is made known to claims.
        if self.limit.is_silent(now) {
            self.limit.heard_at = now;
        }
    }

    fn pay(&mut self, counts: &PaceCounts) {
        let cost = counts.refused.saturating_mul(limits::PACE_REFUSAL_COST);
        let credit = i64::from(self.credit) + i64::from(counts.good) - i64::from(cost);
        let (least, most) = (-limits::PACE_DEBT_MAX, limits::PACE_CREDIT_MAX);
        let credit = credit.clamp(least.into(), most.into());
        self.credit = i32::try_from(credit).unwrap_or_default();
    }

    /// Calls were refused, the first of which started then.
    fn refused(&mut self, start: Timestamp, now: Timestamp) {
        let level = self.limit.at(start);
        if level > self.borne && self.limit.is_growing() {
            // One place fewer had room: that is the limit.
            let known = self.borne.max(level - 1);
            self.ceiling = Some(known);
            self.borne = known;
            self.cuts = 1;
            self.failed_probes = self.failed_probes.saturating_add(1);
            self.growth = 1;
            self.set(known, known, PaceReason::Found, now);
        } else if self.credit < 0 {
            let divisor = limits::PACE_CUT_DIVISOR_MAX >> self.cuts.min(limits::PACE_CUTS_MAX);
            // Places that are refused at the same time are all too many.
            let at_once = self.round.newly_refused.min(level / 2);
            let cut = (level / divisor).max(at_once).max(1);
            let lower = level.saturating_sub(cut).max(1);
            self.ceiling = Some(level.saturating_sub(1).max(1));
            self.borne = lower;
            self.cuts = self.cuts.saturating_add(1);
            self.growth = 1;
            self.set(lower, lower, PaceReason::Refused, now);
        } else {
            // Single refusals are borne while they are paid for.
            self.round.forgive();
        }
    }

    fn end_round(&mut self, now: Timestamp) {
        let lasted = now.since(self.round_from);
        let enough = (self.limit.to / 2).clamp(1, limits::PACE_SAMPLES);
        if lasted < limits::PACE_ROUND {
            return;
        }
        if self.round.answered() < enough {
            if lasted >= limits::PACE_ROUND_MAX {
                self.restart_round(now);
            }
            return;
        }
        let divided = self.round.answered() / limits::PACE_TIMEOUT_DIVISOR;
        if self.round.timed_out > divided {
            self.cut((self.limit.to / 2).max(1), PaceReason::TimedOut, now);
            return;
        }
        if self.is_slower(now) {
            return;
        }
        self.latency_before = None;
        self.useless_cuts = 0;
        self.cuts = 0;
        match self.is_used(lasted) {
            true => self.grow(now),
            false => self.restart_round(now),
        }
    }

    /// Lowers the limit if calls are slower than usual. If the last cuts for that did not make them
    /// faster, they are slow for another reason: that is usual from now on, and the cuts are
    /// undone.
    fn is_slower(&mut self, now: Timestamp) -> bool {
        let Some(latency) = self.round.latency() else {
            return false;
        };
        // What chance explains counts neither for nor against it.
        let surely = latency.mean.saturating_add(latency.doubt);
        let usual = self.usual_latency.map_or(surely, |usual| usual.min(surely));
        self.usual_latency = Some(usual);
        let at_least = latency.mean.saturating_sub(latency.doubt);
        let rise = at_least.saturating_sub(usual);
        if rise <= limits::PACE_RISE_MAX {
            return false;
        }
        let before = self.latency_before.take();
        let is_useless = before
            .is_some_and(|before| latency.mean.saturating_add(limits::PACE_RISE_SAME) > before);
        self.useless_cuts = match is_useless {
            true => self.useless_cuts + 1,
            false => 0,
        };
        if self.useless_cuts >= limits::PACE_USELESS_CUTS {
            self.useless_cuts = 0;
            self.usual_latency = Some(latency.mean);
            let (limit, before) = (self.limit.to, self.limit_before);
            self.set(limit, before.max(limit), PaceReason::Grown, now);
            return true;
        }
        // Twice as slow: half as many.
        let halvings = (rise - limits::PACE_RISE_KEPT).min(counts::OCTAVE);
        let cut = self.limit.to * halvings / (2 * counts::OCTAVE);
        if cut == 0 {
            return false;
        }
        let is_settled = !self.limit.is_growing();
        if self.useless_cuts == 0 {
            self.limit_before = self.limit.to;
        }
        self.cut(self.limit.to - cut, PaceReason::Slower, now);
        self.latency_before = is_settled.then_some(latency.mean);
        true
    }

    /// Lowers the limit for something that costs no refusals, and leaves it there for a while.
    fn cut(&mut self, lower: u32, reason: PaceReason, now: Timestamp) {
        self.ceiling = Some(lower);
        self.borne = lower;
        self.growth = 1;
        self.credit = self.credit.min(0);
        self.set(lower, lower, reason, now);
    }

    /// Whether nearly all places were used: otherwise good answers say nothing about the limit.
    fn is_used(&self, lasted: Duration) -> bool {
        let (part, whole) = limits::PACE_USED;
        let places = u128::from(self.limit.from) * lasted.as_micros();
        u128::from(self.round.busy_micros) * whole >= places * part
    }

    fn grow(&mut self, now: Timestamp) {
        let limit = self.limit.to;
        self.borne = limit;
        match self.ceiling {
            Some(ceiling) if limit < ceiling => self.set(limit, ceiling, PaceReason::Grown, now),
            Some(_) => {
                let is_paid = self.credit >= limits::PACE_PROBE_CREDIT;
                let is_late = now.since(self.limit.since) >= self.probe_wait();
                if (is_paid || is_late) && now >= self.probe_from {
                    self.ceiling = None;
                    self.set(limit, limit + 1, PaceReason::Probe, now);
                } else {
                    self.restart_round(now);
                }
            }
            None => {
                self.failed_probes = 0;
                let more = u64::from(limit) * u64::from(self.growth) / 8;
                let more = u32::try_from(more.max(1)).unwrap_or(u32::MAX);
                self.growth = (self.growth * 2).min(limits::PACE_GROWTH_MAX);
                self.set(limit, limit.saturating_add(more), PaceReason::Grown, now);
            }
        }
    }

    /// How long at most until more calls than were last refused are tried, although it is not paid
    /// for: twice as long after each time in vain.
    fn probe_wait(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.failed_probes);
        limits::PACE_PROBE_WAIT_MIN
            .saturating_mul(factor)
            .min(limits::PACE_PROBE_LATEST)
    }

    fn set(&mut self, from: u32, to: u32, reason: PaceReason, now: Timestamp) {
        let to = to.min(limits::PACE_MAX);
        let from = from.min(to);
        let before = self.limit.at(now);
        if (from, to) != (before, before) {
            self.last_move = Some(PaceMove {
                at: now,
                from: before,
                to,
                reason,
            });
            self.minutes.moved(to, reason, now);
        }
        self.limit = PaceLimit {
            from,
            to,
            since: now,
            is_found: self.ceiling.is_some(),
            heard_at: self.limit.heard_at,
        };
        self.restart_round(now);
    }

    fn restart_round(&mut self, now: Timestamp) {
        self.round_from = now;
        self.round = PaceCounts::default();
    }
}

#[cfg(test)]
mod tests;
