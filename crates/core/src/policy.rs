//! How often and when a failed job is tried again.
//!
//! A [`RetryPolicy`] is complete and checked: each job carries one. A [`PolicyPatch`] is what
//! people write: a preset's name, or the few fields they care about; the rest comes from the next
//! level (job over kind over queue over tenant over default).

mod delay;
mod patch;
mod preset;
mod preview;
mod rule;
mod shorthands;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    limits,
    values::{Invalid, duration},
};

pub(crate) use delay::{DelayInput, DiceSequence};
pub use delay::{DelaySource, Dice, RetryDelay};
pub use patch::PolicyPatch;
pub use preset::Preset;
pub use preview::{DelayRange, Preview, PreviewRow};
pub(crate) use rule::{OneOrMany, glob};
pub use rule::{RetryRule, RuleAction, RuleMatch, StatusRange};
pub use shorthands::Shorthands;

/// A complete retry policy. Its fields have been checked against each other.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{PolicyPatch, Preset};
///
/// let policy = PolicyPatch::preset(Preset::Http).max_retries(5).build().unwrap();
/// assert_eq!(policy.max_attempts(), 6);
/// assert_eq!(policy.delay_before_jitter(3), Duration::from_secs(4));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "PolicyPatch")]
pub struct RetryPolicy {
    max_retries: u32,
    backoff: Backoff,
    #[serde(with = "duration::text")]
    base_delay: Duration,
    factor: f64,
    #[serde(with = "duration::text")]
    max_delay: Duration,
    #[serde(with = "duration::text_list", skip_serializing_if = "Vec::is_empty")]
    delays: Vec<Duration>,
    jitter: Jitter,
    jitter_factor: f64,
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    max_elapsed: Option<Duration>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<RetryRule>,
}

/// How the delay grows from one retry to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Backoff {
    /// `baseDelay` × `factor` to the power of the retries before it.
    Exponential,
    /// `baseDelay` × the number of the retry.
    Linear,
    /// `baseDelay` every time.
    Fixed,
    /// `baseDelay` × 1, 1, 2, 3, 5, 8, …
    Fibonacci,
    /// The explicit list `delays`; its last entry repeats.
    Delays,
}

/// How a delay is spread, so that jobs that failed together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Jitter {
    /// The backoff's delay as it is.
    None,
    /// Within `jitterFactor` around the delay: d × U[1−f, 1+f].
    Proportional,
    /// Anywhere up to the delay: U[0, d].
    Full,
    /// In the upper half of the delay: d/2 + U[0, d/2].
    Equal,
    /// Between `baseDelay` and three times the delay before this one: U[base, 3 × previous].
    Decorrelated,
}

impl RetryPolicy {
    /// How often a failed job is tried again; 0 for never.
    pub fn max_retries(&self) -> u32 {
        self.max_retries
    }

    /// How often a job is tried altogether: `maxRetries` + 1.
    pub fn max_attempts(&self) -> u32 {
        self.max_retries + 1
    }

    /// How the delay grows from one retry to the next.
    pub fn backoff(&self) -> Backoff {
        self.backoff
    }

    /// The delay that the backoff starts from.
    pub fn base_delay(&self) -> Duration {
        self.base_delay
    }

    /// The cap on every delay; only Retry-After and a rule's own delay may exceed it.
    pub fn max_delay(&self) -> Duration {
        self.max_delay
    }

    /// How delays are spread.
    pub fn jitter(&self) -> Jitter {
        self.jitter
    }

    /// How long after its first attempt a job may still be retried; `None` for no bound.
    pub fn max_elapsed(&self) -> Option<Duration> {
        self.max_elapsed
    }

    /// Exceptions by class, status or message of a failure; the first that matches decides.
    pub fn rules(&self) -> &[RetryRule] {
        &self.rules
    }

    /// Every field, as a patch that would build this policy again.
    pub fn to_patch(&self) -> PolicyPatch {
        PolicyPatch {
            preset: None,
            max_retries: Some(self.max_retries),
            max_attempts: None,
            backoff: Some(self.backoff),
            base_delay: Some(self.base_delay),
            factor: Some(self.factor),
            max_delay: Some(self.max_delay),
            delays: Some(self.delays.clone()),
            jitter: Some(self.jitter),
            jitter_factor: Some(self.jitter_factor),
            max_elapsed: self.max_elapsed,
            rules: Some(self.rules.clone()),
        }
    }

    fn check(self) -> Result<Self, Invalid> {
        check_range("maxRetries", self.max_retries, 0, limits::MAX_RETRIES)?;
        check_delay("baseDelay", self.base_delay)?;
        for (index, delay) in self.delays.iter().enumerate() {
            check_delay(&format!("delays[{index}]"), *delay)?;
        }
        check_delay("maxDelay", self.max_delay)?;
        check_float(
            "factor",
            self.factor,
            limits::FACTOR_MIN,
            limits::FACTOR_MAX,
        )?;
        check_float("jitterFactor", self.jitter_factor, 0.0, 1.0)?;
        if let Some(max_elapsed) = self.max_elapsed {
            check_elapsed(max_elapsed)?;
        }
        if self.backoff != Backoff::Delays && self.max_delay < self.base_delay {
            return Err(Invalid::new(
                "maxDelay",
                duration::format(self.max_delay),
                format!(
                    "must be at least baseDelay ({})",
                    duration::format(self.base_delay)
                ),
            ));
        }
        if self.backoff == Backoff::Delays && !(1..=limits::DELAYS_MAX).contains(&self.delays.len())
        {
            return Err(Invalid::new(
                "delays",
                format!("a list of {}", self.delays.len()),
                format!("must contain 1 to {} delays", limits::DELAYS_MAX),
            ));
        }
        if self.rules.len() > limits::RULES_MAX {
            return Err(Invalid::new(
                "rules",
                format!("a list of {}", self.rules.len()),
                format!("must contain at most {} rules", limits::RULES_MAX),
            ));
        }
        for (index, rule) in self.rules.iter().enumerate() {
            rule.check()
                .map_err(|error| error.within(&format!("rules[{index}]")))?;
        }
        Ok(self)
    }
}

fn check_range(field: &str, value: u32, least: u32, most: u32) -> Result<(), Invalid> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new(field, value, expected))
}

fn check_float(field: &str, value: f64, least: f64, most: f64) -> Result<(), Invalid> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let expected = format!("must be between {least} and {most}");
    Err(Invalid::new(field, value, expected))
}

fn check_delay(field: &str, value: Duration) -> Result<(), Invalid> {
    if value <= limits::DELAY_MAX {
        return Ok(());
    }
    Err(too_long(field, value, limits::DELAY_MAX))
}

fn check_elapsed(value: Duration) -> Result<(), Invalid> {
    if value <= limits::ELAPSED_MAX {
        return Ok(());
    }
    Err(too_long("maxElapsed", value, limits::ELAPSED_MAX))
}

fn too_long(field: &str, value: Duration, most: Duration) -> Invalid {
    let expected = format!("must be at most {}", duration::format(most));
    Invalid::new(field, duration::format(value), expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_beyond_its_limit_is_refused_with_field_value_and_limit() {
        let secs = Duration::from_secs;
        let patch = || PolicyPatch::preset(Preset::Http);
        for (patch, expected) in [
            (
                patch().max_retries(101),
                "maxRetries is 101: must be between 0 and 100",
            ),
            (
                patch().base_delay(secs(31 * 86_400)),
                "baseDelay is 31d: must be at most 30d",
            ),
            (
                patch().base_delay(secs(600)).max_delay(secs(300)),
                "maxDelay is 5m: must be at least baseDelay (10m)",
            ),
            (
                patch().factor(f64::NAN),
                "factor is NaN: must be between 1 and 10",
            ),
            (
                patch().jitter_factor(1.5),
                "jitterFactor is 1.5: must be between 0 and 1",
            ),
            (
                patch().max_elapsed(secs(367 * 86_400)),
                "maxElapsed is 367d: must be at most 366d",
            ),
            (
                patch().delays(Vec::new()),
                "delays is a list of 0: must contain 1 to 100 delays",
            ),
            (
                patch().delays(vec![secs(1), Duration::MAX]),
                "delays[1] is 213503982334601d7h15s999ms999us: must be at most 30d",
            ),
        ] {
            assert_eq!(patch.build().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_stored_policy_reads_back_as_it_was() {
        for preset in Preset::ALL {
            let policy = preset.policy();
            let text = serde_json::to_string(&policy).unwrap();
            assert_eq!(serde_json::from_str::<RetryPolicy>(&text).unwrap(), policy);
        }
    }

    #[test]
    fn presets_are_those_of_the_specification() {
        let lines: Vec<String> = Preset::ALL
            .iter()
            .map(|preset| {
                let policy = preset.policy();
                format!("{preset}: {}", serde_json::to_string(&policy).unwrap())
            })
            .collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
