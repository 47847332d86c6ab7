//! How often and when a failed job is tried again.
//!
//! A [`RetryPolicy`] is complete and checked: it is what a job carries. A [`PolicyPatch`] is
//! what people write: a preset's name, or the few fields they care about; the rest comes from
//! the next level (job over kind over queue over tenant over default).

mod delay;
mod patch;
mod preset;
mod preview;
mod rule;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Invalid, duration, limits};

pub(crate) use delay::DelayInput;
pub use delay::{DelaySource, Dice, RetryDelay};
pub use patch::{PolicyPatch, Shorthands};
pub use preset::Preset;
pub use preview::{DelayRange, Preview, PreviewRow};
pub use rule::{RetryRule, RuleAction, RuleMatch, StatusRange};

/// A complete retry policy. Its fields have been checked against each other.
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
#[serde(rename_all = "camelCase")]
pub enum Backoff {
    Exponential,
    Linear,
    Fixed,
    Fibonacci,
    /// An explicit list, the last entry repeating.
    Delays,
}

/// How a delay is spread, so that jobs that failed together do not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Jitter {
    None,
    /// d × U[1−f, 1+f]
    Proportional,
    /// U[0, d]
    Full,
    /// d/2 + U[0, d/2]
    Equal,
    /// U[base, 3 × the delay before]
    Decorrelated,
}

impl RetryPolicy {
    pub fn max_retries(&self) -> u32 {
        self.max_retries
    }

    pub fn max_attempts(&self) -> u32 {
        self.max_retries + 1
    }

    pub fn backoff(&self) -> Backoff {
        self.backoff
    }

    pub fn base_delay(&self) -> Duration {
        self.base_delay
    }

    pub fn max_delay(&self) -> Duration {
        self.max_delay
    }

    pub fn jitter(&self) -> Jitter {
        self.jitter
    }

    pub fn max_elapsed(&self) -> Option<Duration> {
        self.max_elapsed
    }

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
                format!("must hold 1 to {} delays", limits::DELAYS_MAX),
            ));
        }
        if self.rules.len() > limits::RULES_MAX {
            return Err(Invalid::new(
                "rules",
                format!("a list of {}", self.rules.len()),
                format!("must hold at most {} rules", limits::RULES_MAX),
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
    Err(Invalid::new(
        field,
        duration::format(value),
        "must be at most 30d",
    ))
}

fn check_elapsed(value: Duration) -> Result<(), Invalid> {
    if value <= limits::ELAPSED_MAX {
        return Ok(());
    }
    let value = duration::format(value);
    Err(Invalid::new("maxElapsed", value, "must be at most 366d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_breaks_a_limit_is_refused_with_field_value_and_limit() {
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
                "delays is a list of 0: must hold 1 to 100 delays",
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
