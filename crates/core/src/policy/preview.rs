//! When a policy would retry, without running anything.

use std::time::Duration;

use super::{
    Dice, RetryPolicy,
    delay::{DelayInput, RetryDelay},
};

/// All attempts of a job that always fails at once.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Preview {
    /// One row per attempt, the first included.
    pub rows: Vec<PreviewRow>,
    /// When it gives up, counted from the first attempt.
    pub gives_up: DelayRange,
}

/// One attempt of a preview.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PreviewRow {
    /// Numbered from 1.
    pub attempt: u32,
    /// The delay before this attempt; zero for the first.
    pub delay: DelayRange,
    /// When it starts, counted from the first attempt.
    pub at: DelayRange,
}

/// How short or long a delay may be, depending on the roll of its jitter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DelayRange {
    /// With the lowest rolls.
    pub min: Duration,
    /// With rolls in the middle.
    pub typical: Duration,
    /// With the highest rolls.
    pub max: Duration,
}

impl RetryPolicy {
    /// All attempts under this policy if every one fails at once. Attempts that `maxElapsed` would
    /// cut off even with the lowest rolls are left out.
    pub fn preview(&self) -> Preview {
        let of = |dice: Dice| self.delays_after(0, Duration::ZERO, None, || dice);
        let min = of(Dice::new(0));
        let typical = of(Dice::TYPICAL);
        let max = of(Dice::new(u64::MAX));
        let sum_of = |line: &[RetryDelay], n: usize| {
            line.iter()
                .take(n)
                .map(|step| step.jittered)
                .sum::<Duration>()
        };
        // With `maxElapsed`, the highest rolls may give up first and so have the smallest sum.
        let range_after = |n: usize| {
            let (lowest, typical, highest) =
                (sum_of(&min, n), sum_of(&typical, n), sum_of(&max, n));
            DelayRange {
                min: lowest.min(typical).min(highest),
                typical,
                max: lowest.max(typical).max(highest),
            }
        };
        let rows = (0..=min.len())
            .zip(1..)
            .map(|(retry, attempt)| {
                let delay_of = |line: &[RetryDelay]| {
                    let step = retry.checked_sub(1).and_then(|index| line.get(index));
                    step.map(|step| step.jittered).unwrap_or_default()
                };
                PreviewRow {
                    attempt,
                    delay: DelayRange {
                        min: delay_of(&min),
                        typical: delay_of(&typical),
                        max: delay_of(&max),
                    },
                    at: range_after(retry),
                }
            })
            .collect();
        Preview {
            rows,
            gives_up: range_after(usize::MAX),
        }
    }

    /// The delays of the retries that are left after `used` of them, `elapsed` after the first
    /// attempt, if every attempt fails at once. `previous` is the delay before the first of them;
    /// each has a roll of its own.
    pub fn delays_after(
        &self,
        mut used: u32,
        mut elapsed: Duration,
        mut previous: Option<Duration>,
        mut roll: impl FnMut() -> Dice,
    ) -> Vec<RetryDelay> {
        let mut delays = Vec::new();
        while self.end_reason(used, elapsed).is_none() {
            used += 1;
            let input = DelayInput {
                retry: used,
                previous,
                ..DelayInput::default()
            };
            let delay = self.retry_delay(input, roll());
            elapsed = elapsed.saturating_add(delay.jittered);
            previous = Some(delay.jittered);
            delays.push(delay);
        }
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Jitter, PolicyPatch, Preset};

    #[test]
    fn attempts_under_the_http_preset_without_jitter_start_at_0_1_3_and_7_seconds() {
        let policy = PolicyPatch::preset(Preset::Http).jitter(Jitter::None);
        let preview = policy.build().unwrap().preview();
        let starts: Vec<u64> = preview
            .rows
            .iter()
            .map(|row| row.at.typical.as_secs())
            .collect();
        assert_eq!(starts, [0, 1, 3, 7]);
        assert_eq!(preview.gives_up.max, Duration::from_secs(7));
    }

    #[test]
    fn jitter_spreads_delays_around_their_middle() {
        let preview = Preset::Patient.policy().preview();
        let first = preview.rows[1].delay;
        assert_eq!(first.min, Duration::from_secs(48));
        assert_eq!(first.typical, Duration::from_secs(60));
        assert_eq!(first.max.as_secs_f64().round(), 72.0);
    }

    #[test]
    fn max_elapsed_ends_the_preview_early() {
        let policy = PolicyPatch::fixed(Duration::from_secs(10))
            .jitter(Jitter::None)
            .max_retries(50)
            .max_elapsed(Duration::from_secs(25));
        let preview = policy.build().unwrap().preview();
        assert_eq!(preview.rows.len(), 4);
        assert_eq!(preview.gives_up.typical, Duration::from_secs(30));
    }

    #[test]
    fn the_longest_time_is_never_below_the_typical_one() {
        let day = Duration::from_secs(86_400);
        let policy = PolicyPatch::preset(Preset::Http)
            .max_retries(8)
            .base_delay(Duration::from_secs(3_600))
            .jitter(Jitter::Decorrelated)
            .max_elapsed(4 * day);
        let preview = policy.build().unwrap().preview();
        let starts = preview.rows.iter().map(|row| row.at);
        for at in starts.chain([preview.gives_up]) {
            assert!(at.min <= at.typical && at.typical <= at.max, "{at:?}");
        }
        assert!(preview.gives_up.max > 5 * day);
    }

    #[test]
    fn no_retries_is_one_attempt() {
        let preview = Preset::Once.policy().preview();
        assert_eq!(preview.rows.len(), 1);
        assert_eq!(preview.gives_up, DelayRange::default());
    }
}
