//! The arithmetic of waiting. Nothing here overflows, whatever the numbers.
//!
//! Every jitter is a range around the backoff's delay and a point in that range, so that one
//! sample explains the result and Retry-After can move the range without a second rule.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Backoff, Jitter, RetryPolicy};
use crate::{flow::LimitHeader, limits, state::EndReason, values::duration};

/// One roll of the dice: a random number in [0, 1) that the caller brings, because core makes
/// none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dice(f64);

impl Dice {
    /// The middle of all rolls, for forecasts and previews.
    pub const TYPICAL: Self = Self(0.5);

    /// A roll made of 64 random bits.
    #[expect(
        clippy::cast_precision_loss,
        reason = "the 53 bits that are left are exactly those an f64 can hold"
    )]
    pub fn new(random: u64) -> Self {
        Self((random >> 11) as f64 / (1_u64 << 53) as f64)
    }

    /// The number: at least 0 and below 1.
    pub fn sample(self) -> f64 {
        self.0
    }
}

/// The rolls of a simulation: the same for the same seed.
pub(crate) struct DiceSequence(u64);

impl DiceSequence {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64: its numbers are even, and it is a few lines.
    pub fn next(&mut self) -> Dice {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Dice::new(bits ^ (bits >> 31))
    }
}

/// How long a retry waits, and how that came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RetryDelay {
    /// The source of the delay. Records of older versions say `policy`.
    #[serde(default)]
    pub source: DelaySource,
    /// The backoff that gave `delay`; `None` if a rule gave it, and in records that older versions
    /// wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// The delay before jitter: the backoff's, capped, or the rule's own.
    #[serde(with = "duration::text")]
    pub delay: Duration,
    /// How the delay was spread; `none` for a rule's own delay.
    pub jitter: Jitter,
    /// The shortest delay that the jitter could choose; not below Retry-After.
    #[serde(with = "duration::text")]
    pub low: Duration,
    /// The longest delay that the jitter could choose.
    #[serde(with = "duration::text")]
    pub high: Duration,
    /// The roll, from 0 to 1, that chose a point between them.
    pub sample: f64,
    /// The delay that applies: low + sample × (high − low). It is above the cap only if
    /// Retry-After or a rule asks for more.
    #[serde(with = "duration::text")]
    pub jittered: Duration,
    /// The target's Retry-After, cut to [`limits::RETRY_AFTER_MAX`]; `None` if it sent none.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
    /// The header that said so, if it was not `Retry-After`.
    #[serde(default, skip_serializing_if = "LimitHeader::is_retry_after")]
    pub retry_after_header: LimitHeader,
    /// The policy's `maxDelay`.
    #[serde(with = "duration::text")]
    pub cap: Duration,
}

/// The source of a delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// The input of a delay besides the policy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DelayInput {
    /// 1 for the first retry.
    pub retry: u32,
    /// The delay before this one, for decorrelated jitter.
    pub previous: Option<Duration>,
    pub retry_after: Option<Duration>,
    pub retry_after_header: LimitHeader,
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
            (None, _) => self.delay_before_jitter(input.retry),
        };
        let retry_after = input
            .retry_after
            .map(|delay| delay.min(limits::RETRY_AFTER_MAX));
        let floor = retry_after.unwrap_or_default();
        // A rule's own delay is explicit; only the backoff's is capped.
        let cap = input.fixed_by_rule.unwrap_or(self.max_delay);
        let (low, high, cap) = if low >= floor {
            (low, high, cap)
        } else {
            let (low, high) = raise_to(floor, low.min(cap), high.min(cap));
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
            jittered: interpolate(low, high, dice.sample()).min(cap),
            retry_after,
            retry_after_header: input.retry_after_header,
            cap: self.max_delay,
        }
    }

    /// Why a failure that may be retried ends a job all the same, after this many retries and this
    /// long after its first attempt; `None` if it is retried.
    pub(crate) fn end_reason(&self, retries_used: u32, elapsed: Duration) -> Option<EndReason> {
        if retries_used >= self.max_retries {
            return Some(EndReason::Exhausted);
        }
        let is_over = self.max_elapsed.is_some_and(|most| elapsed >= most);
        is_over.then_some(EndReason::Expired)
    }

    /// The delay before retry `retry` (1 for the first), capped, before jitter.
    pub fn delay_before_jitter(&self, retry: u32) -> Duration {
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
        scale(self.base_delay, self.factor.powi(exponent))
    }

    fn jitter_range(&self, input: DelayInput) -> (Duration, Duration) {
        let delay = self.delay_before_jitter(input.retry);
        match self.jitter {
            Jitter::None => (delay, delay),
            Jitter::Proportional => (
                scale(delay, 1.0 - self.jitter_factor),
                scale(delay, 1.0 + self.jitter_factor),
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

/// Moves a range up to begin at `floor`, keeping its width. Retry-After is a floor that jitter may
/// only add to, and many jobs that got the same Retry-After still come back spread.
fn raise_to(floor: Duration, low: Duration, high: Duration) -> (Duration, Duration) {
    let width = high.saturating_sub(low);
    (floor, high.max(floor.saturating_add(width)))
}

fn interpolate(low: Duration, high: Duration, sample: f64) -> Duration {
    low.saturating_add(scale(high.saturating_sub(low), sample))
        .min(high)
}

/// `duration × factor`, to the microsecond.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "delays are below 2^53 µs, and a float cast to u64 saturates"
)]
fn scale(duration: Duration, factor: f64) -> Duration {
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
