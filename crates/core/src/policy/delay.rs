//! The arithmetic of waiting. Nothing here overflows, whatever the numbers.
//!
//! Every jitter is a range around the backoff's delay and a point in that range, so that one
//! sample explains the result and Retry-After can lift the range without a second rule.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Backoff, Jitter, RetryPolicy};
use crate::{EndReason, duration, limits};

/// One roll of the dice: a number in [0, 1), made elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dice(f64);

impl Dice {
    /// The middle of all rolls.
    pub const TYPICAL: Self = Self(0.5);

    #[expect(
        clippy::cast_precision_loss,
        reason = "the 53 bits that are left are exactly those an f64 can hold"
    )]
    pub fn new(random: u64) -> Self {
        Self((random >> 11) as f64 / (1_u64 << 53) as f64)
    }

    pub fn sample(self) -> f64 {
        self.0
    }
}

/// How long to wait, and how that came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryDelay {
    /// What asked for this wait. Records from before it was kept say `policy`.
    #[serde(default)]
    pub source: DelaySource,
    /// The backoff that gave `delay`; none where a rule gave it, and in records from before it
    /// was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// What backoff and cap, or a rule, gave before jitter.
    #[serde(with = "duration::text")]
    pub delay: Duration,
    pub jitter: Jitter,
    /// What the jitter could choose from, lifted to Retry-After where that asks for more.
    #[serde(with = "duration::text")]
    pub low: Duration,
    #[serde(with = "duration::text")]
    pub high: Duration,
    /// The roll that chose a point between them.
    pub sample: f64,
    /// What is really waited: low + sample × (high − low), and above the cap only where
    /// Retry-After or a rule asks for it.
    #[serde(with = "duration::text")]
    pub jittered: Duration,
    /// What the other side asked for, as far as we follow it.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
    #[serde(with = "duration::text")]
    pub cap: Duration,
}

/// What asked for a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DelaySource {
    /// The policy's backoff.
    #[default]
    Policy,
    /// The rule that matched has a delay of its own.
    Rule,
    /// The target's Retry-After, which was longer than either.
    RetryAfter,
}

/// What a delay depends on besides the policy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DelayInput {
    /// 1 for the first retry.
    pub retry: u32,
    /// The delay before this one, for decorrelated jitter.
    pub previous: Option<Duration>,
    pub retry_after: Option<Duration>,
    /// A rule's own delay, in place of the backoff's.
    pub fixed_by_rule: Option<Duration>,
}

impl RetryPolicy {
    pub(crate) fn retry_delay(&self, input: DelayInput, dice: Dice) -> RetryDelay {
        let (jitter, low, high) = match input.fixed_by_rule {
            Some(delay) => (Jitter::None, delay, delay),
            None => {
                let (low, high) = self.jitter_range(input);
                (self.jitter, low, high)
            }
        };
        let delay = match (input.fixed_by_rule, self.jitter) {
            (Some(delay), _) => delay,
            (None, Jitter::Decorrelated) => high.min(self.max_delay),
            (None, _) => self.before_jitter(input.retry),
        };
        let retry_after = input
            .retry_after
            .map(|asked| asked.min(limits::RETRY_AFTER_MAX));
        let floor = retry_after.unwrap_or_default();
        // A rule's own delay was meant as it was said; only the backoff's is capped.
        let cap = input.fixed_by_rule.unwrap_or(self.max_delay);
        let (low, high, cap) = if low >= floor {
            (low, high, cap)
        } else {
            let (low, high) = lifted(low.min(cap), high.min(cap), floor);
            (low, high, high)
        };
        let source = match input.fixed_by_rule {
            _ if floor > delay => DelaySource::RetryAfter,
            Some(_) => DelaySource::Rule,
            None => DelaySource::Policy,
        };
        RetryDelay {
            source,
            backoff: input.fixed_by_rule.is_none().then_some(self.backoff),
            delay,
            jitter,
            low,
            high,
            sample: dice.sample(),
            jittered: between(low, high, dice.sample()).min(cap),
            retry_after,
            cap: self.max_delay,
        }
    }

    /// Whether a failure that may be retried ends a job all the same, after this many retries
    /// and this long after its first attempt, and why.
    pub(crate) fn gives_up(&self, retries_used: u32, elapsed: Duration) -> Option<EndReason> {
        if retries_used >= self.max_retries {
            return Some(EndReason::Exhausted);
        }
        let is_over = self.max_elapsed.is_some_and(|most| elapsed >= most);
        is_over.then_some(EndReason::Expired)
    }

    /// The delay before retry `retry` (1 for the first), capped, before jitter.
    pub fn before_jitter(&self, retry: u32) -> Duration {
        let retry = retry.max(1);
        let delay = match self.backoff {
            Backoff::Exponential => self.exponential(retry),
            Backoff::Linear => self.base_delay.saturating_mul(retry),
            Backoff::Fixed => self.base_delay,
            Backoff::Fibonacci => self.base_delay.saturating_mul(fibonacci(retry)),
            Backoff::Delays => {
                let last = self.delays.len().saturating_sub(1);
                let index = usize::try_from(retry - 1).map_or(last, |index| index.min(last));
                self.delays.get(index).copied().unwrap_or_default()
            }
        };
        delay.min(self.max_delay)
    }

    fn exponential(&self, retry: u32) -> Duration {
        if self.base_delay.is_zero() {
            return Duration::ZERO;
        }
        let exponent = i32::try_from(retry - 1).unwrap_or(i32::MAX);
        scaled(self.base_delay, self.factor.powi(exponent))
    }

    fn jitter_range(&self, input: DelayInput) -> (Duration, Duration) {
        let delay = self.before_jitter(input.retry);
        match self.jitter {
            Jitter::None => (delay, delay),
            Jitter::Proportional => (
                scaled(delay, 1.0 - self.jitter_factor),
                scaled(delay, 1.0 + self.jitter_factor),
            ),
            Jitter::Full => (Duration::ZERO, delay),
            Jitter::Equal => (delay / 2, delay),
            Jitter::Decorrelated => {
                let base = match self.backoff {
                    Backoff::Delays => delay,
                    _ => self.base_delay,
                };
                let previous = input.previous.unwrap_or(base).max(base);
                (base, previous.saturating_mul(3))
            }
        }
    }
}

/// Lifts a range to begin at `floor`, keeping its width: Retry-After is a floor that
/// jitter may only add to, and a crowd that was told the same time still comes back spread.
fn lifted(low: Duration, high: Duration, floor: Duration) -> (Duration, Duration) {
    let width = high.saturating_sub(low);
    (floor, high.max(floor.saturating_add(width)))
}

fn between(low: Duration, high: Duration, sample: f64) -> Duration {
    low.saturating_add(scaled(high.saturating_sub(low), sample))
        .min(high)
}

/// `duration × factor`, to the microsecond.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "delays are below 2^53 µs, and a float cast to u64 saturates"
)]
fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::from_micros((duration.as_micros() as f64 * factor).round() as u64)
}

/// F(1) = F(2) = 1, saturating.
fn fibonacci(n: u32) -> u32 {
    let (mut current, mut next) = (1_u32, 1_u32);
    for _ in 1..n {
        (current, next) = (next, current.saturating_add(next));
        if current == u32::MAX {
            break;
        }
    }
    current
}
