//! Parts of a policy, as people write them, and how the levels combine.

use std::{fmt, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{Backoff, Jitter, Preset, RetryPolicy, RetryRule};
use crate::{
    limits,
    values::{Invalid, duration},
};

/// Part of a policy. In JSON it is a preset's name or an object with any of the fields.
///
/// ```
/// use std::time::Duration;
/// use steadfast_core::{Backoff, PolicyPatch, Preset};
///
/// let queue = PolicyPatch::linear(Duration::from_secs(5)).over(&Preset::Http.policy()).unwrap();
/// let policy = PolicyPatch::default().max_retries(7).over(&queue).unwrap();
/// assert_eq!((policy.backoff(), policy.max_retries()), (Backoff::Linear, 7));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyPatch {
    /// If set, replaces everything from the levels below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) preset: Option<Preset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_retries: Option<u32>,
    /// Another spelling of `maxRetries` + 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backoff: Option<Backoff>,
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) base_delay: Option<Duration>,
    #[serde(
        serialize_with = "crate::values::finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) factor: Option<f64>,
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) max_delay: Option<Duration>,
    #[serde(serialize_with = "list", skip_serializing_if = "Option::is_none")]
    pub(super) delays: Option<Vec<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) jitter: Option<Jitter>,
    #[serde(
        serialize_with = "crate::values::finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) jitter_factor: Option<f64>,
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) max_elapsed: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<Vec<RetryRule>>,
}

macro_rules! setters {
    ($($(#[$doc:meta])+ $name:ident: $type:ty),+ $(,)?) => {
        $($(#[$doc])+
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = Some($name);
            self
        })+
    };
}

impl PolicyPatch {
    /// Whether it sets nothing: everything comes from the level below.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it says itself how many retries there are.
    pub fn names_retries(&self) -> bool {
        self.max_retries.is_some() || self.max_attempts.is_some()
    }

    /// How many retries there are whatever the level below says, by a field or by the preset.
    pub fn own_retries(&self) -> Option<u32> {
        let preset = || self.preset.map(|preset| preset.policy().max_retries);
        self.retries().ok().flatten().or_else(preset)
    }

    /// A preset; the setters below change single fields of it.
    pub fn preset(preset: Preset) -> Self {
        Self {
            preset: Some(preset),
            ..Self::default()
        }
    }

    /// Delays that grow by `factor` each time. Jitter, cap and number of retries come from the level
    /// below; a cap that is not above the base delay does not apply.
    pub fn exponential(base_delay: Duration) -> Self {
        Self::default()
            .backoff(Backoff::Exponential)
            .base_delay(base_delay)
    }

    /// Delays that grow by `base_delay` each time; otherwise as [`PolicyPatch::exponential`].
    pub fn linear(base_delay: Duration) -> Self {
        Self::default()
            .backoff(Backoff::Linear)
            .base_delay(base_delay)
    }

    /// The same delay each time; otherwise as [`PolicyPatch::exponential`].
    pub fn fixed(base_delay: Duration) -> Self {
        Self::default()
            .backoff(Backoff::Fixed)
            .base_delay(base_delay)
    }

    /// Delays that grow by the Fibonacci numbers; otherwise as [`PolicyPatch::exponential`].
    pub fn fibonacci(base_delay: Duration) -> Self {
        Self::default()
            .backoff(Backoff::Fibonacci)
            .base_delay(base_delay)
    }

    setters! {
        /// How often a failed job is tried again, up to [`limits::MAX_RETRIES`]; 0 for never.
        max_retries: u32,
        /// How often a job is tried altogether: another spelling of `max_retries` + 1.
        max_attempts: u32,
        /// How the delay grows from one retry to the next.
        backoff: Backoff,
        /// The delay that the backoff starts from, up to [`limits::DELAY_MAX`].
        base_delay: Duration,
        /// By how much an exponential backoff grows: [`limits::FACTOR_MIN`] to
        /// [`limits::FACTOR_MAX`].
        factor: f64,
        /// The cap on every delay, up to [`limits::DELAY_MAX`].
        max_delay: Duration,
        /// An explicit list of delays, the last repeating; makes the backoff [`Backoff::Delays`]
        /// unless another one is set.
        delays: Vec<Duration>,
        /// How delays are spread.
        jitter: Jitter,
        /// How far [`Jitter::Proportional`] spreads, from 0 to 1.
        jitter_factor: f64,
        /// How long after its first attempt a job may still be retried, up to
        /// [`limits::ELAPSED_MAX`].
        max_elapsed: Duration,
        /// Exceptions by class, status or message of a failure; the first that matches decides.
        rules: Vec<RetryRule>,
    }

    /// The policy that follows if this patch is laid over the policy of the level below, field by
    /// field.
    pub fn over(&self, below: &RetryPolicy) -> Result<RetryPolicy, Invalid> {
        let below = match self.preset {
            Some(preset) => preset.policy(),
            None => below.clone(),
        };
        let base_delay = self.base_delay.unwrap_or(below.base_delay);
        // An inherited cap must not flatten delays that this patch sets.
        let chosen = self.delays.iter().flatten().chain(&self.base_delay).max();
        let inherited_cap = match chosen {
            Some(chosen) if *chosen >= below.max_delay => limits::DELAY_MAX.max(*chosen),
            _ => below.max_delay,
        };
        let backoff = match (self.backoff, &self.delays) {
            (Some(backoff), _) => backoff,
            (None, Some(_)) => Backoff::Delays,
            (None, None) => below.backoff,
        };
        RetryPolicy {
            max_retries: self.retries()?.unwrap_or(below.max_retries),
            backoff,
            base_delay,
            factor: self.factor.unwrap_or(below.factor),
            max_delay: self.max_delay.unwrap_or(inherited_cap),
            delays: self.delays.clone().unwrap_or(below.delays),
            jitter: self.jitter.unwrap_or(below.jitter),
            jitter_factor: self.jitter_factor.unwrap_or(below.jitter_factor),
            max_elapsed: self.max_elapsed.or(below.max_elapsed),
            rules: self.rules.clone().unwrap_or(below.rules),
        }
        .check()
    }

    /// The policy without any level below: over its own preset, or over `queue`.
    pub fn build(&self) -> Result<RetryPolicy, Invalid> {
        self.over(&self.preset.unwrap_or(Preset::Queue).policy())
    }

    /// Checks the fields that it names, without those that depend on the policy of the level below.
    pub fn check_alone(&self) -> Result<(), Invalid> {
        // Over a policy in which no field contradicts another, whatever the patch names.
        let widest = Self {
            base_delay: Some(self.base_delay.unwrap_or_default()),
            max_delay: Some(self.max_delay.unwrap_or(limits::DELAY_MAX)),
            delays: match (&self.delays, self.backoff) {
                (None, Some(Backoff::Delays)) => Some(vec![Duration::ZERO]),
                (delays, _) => delays.clone(),
            },
            ..self.clone()
        };
        widest.build().map(drop)
    }

    pub(super) fn retries(&self) -> Result<Option<u32>, Invalid> {
        let Some(attempts) = self.max_attempts else {
            return Ok(self.max_retries);
        };
        let Some(retries) = attempts.checked_sub(1) else {
            return Err(Invalid::new("maxAttempts", 0, "must be at least 1"));
        };
        match self.max_retries {
            Some(max_retries) if max_retries != retries => Err(Invalid::new(
                "maxAttempts",
                attempts,
                format!(
                    "must be maxRetries + 1, which is {}",
                    u64::from(max_retries) + 1
                ),
            )),
            _ => Ok(Some(retries)),
        }
    }
}

impl From<RetryPolicy> for PolicyPatch {
    fn from(policy: RetryPolicy) -> Self {
        policy.to_patch()
    }
}

impl From<Preset> for PolicyPatch {
    fn from(preset: Preset) -> Self {
        Self::preset(preset)
    }
}

impl TryFrom<PolicyPatch> for RetryPolicy {
    type Error = Invalid;

    fn try_from(patch: PolicyPatch) -> Result<Self, Invalid> {
        patch.build()
    }
}

fn list<S: serde::Serializer>(list: &Option<Vec<Duration>>, s: S) -> Result<S::Ok, S::Error> {
    duration::text_list::serialize(list.as_deref().unwrap_or_default(), s)
}

/// The object form, as serde reads it; [`PolicyPatch`] also takes a bare preset name.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Fields {
    preset: Option<Preset>,
    max_retries: Option<u32>,
    max_attempts: Option<u32>,
    backoff: Option<Backoff>,
    base_delay: Option<duration::Text>,
    factor: Option<f64>,
    max_delay: Option<duration::Text>,
    delays: Option<Vec<duration::Text>>,
    jitter: Option<Jitter>,
    jitter_factor: Option<f64>,
    max_elapsed: Option<duration::Text>,
    rules: Option<Vec<RetryRule>>,
}

impl<'de> Deserialize<'de> for PolicyPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = PolicyPatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a preset name or an object with fields of a retry policy")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<PolicyPatch, E> {
                let preset = name.parse().map_err(E::custom)?;
                Ok(PolicyPatch::preset(preset))
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<PolicyPatch, M::Error> {
                let fields = Fields::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let duration_of = |text: duration::Text| text.0;
                Ok(PolicyPatch {
                    preset: fields.preset,
                    max_retries: fields.max_retries,
                    max_attempts: fields.max_attempts,
                    backoff: fields.backoff,
                    base_delay: fields.base_delay.map(duration_of),
                    factor: fields.factor,
                    max_delay: fields.max_delay.map(duration_of),
                    delays: fields
                        .delays
                        .map(|list| list.into_iter().map(duration_of).collect()),
                    jitter: fields.jitter,
                    jitter_factor: fields.jitter_factor,
                    max_elapsed: fields.max_elapsed.map(duration_of),
                    rules: fields.rules,
                })
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<PolicyPatch, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_policy_is_a_name_or_an_object() {
        assert_eq!(
            read(r#""patient""#).unwrap(),
            PolicyPatch::preset(Preset::Patient)
        );
        assert_eq!(
            read(r#"{"preset":"http","baseDelay":"2s","jitter":"none"}"#).unwrap(),
            PolicyPatch::preset(Preset::Http)
                .base_delay(Duration::from_secs(2))
                .jitter(Jitter::None)
        );
        let error = read(r#"{"maxRetrys":3}"#).unwrap_err().to_string();
        assert!(error.contains("maxRetrys"), "{error}");
        let error = read(r#""impatient""#).unwrap_err().to_string();
        assert!(error.contains("aggressive"), "{error}");
    }

    #[test]
    fn levels_are_laid_over_each_other_field_by_field() {
        let server = Preset::Http.policy();
        let queue = PolicyPatch::linear(Duration::from_secs(5));
        let job = PolicyPatch::default().max_retries(7);
        let policy = job.over(&queue.over(&server).unwrap()).unwrap();
        assert_eq!(policy.max_retries(), 7);
        assert_eq!(policy.backoff(), Backoff::Linear);
        assert_eq!(policy.base_delay(), Duration::from_secs(5));
        assert_eq!(policy.max_delay(), Duration::from_secs(300));
    }

    #[test]
    fn a_list_of_delays_needs_no_backoff_beside_it() {
        let policy = read(r#"{"delays":["30s",60000]}"#)
            .unwrap()
            .build()
            .unwrap();
        assert_eq!(policy.backoff(), Backoff::Delays);
        assert_eq!(policy.delays[1], Duration::from_secs(60));
    }

    #[test]
    fn a_patch_is_checked_alone_by_the_fields_that_it_names() {
        let patch = |json| read(json).unwrap().check_alone();
        for json in [
            r#"{"maxDelay":"1s"}"#,
            r#"{"backoff":"delays"}"#,
            r#"{"baseDelay":"29d"}"#,
            r#"{"maxRetries":7}"#,
            "{}",
        ] {
            assert_eq!(patch(json), Ok(()), "{json}");
        }
        for (json, expected) in [
            (
                r#"{"maxRetries":101}"#,
                "maxRetries is 101: must be between 0 and 100",
            ),
            (
                r#"{"baseDelay":"2m","maxDelay":"1m"}"#,
                "maxDelay is 1m: must be at least baseDelay (2m)",
            ),
            (
                r#"{"delays":[]}"#,
                "delays is a list of 0: must contain 1 to 100 delays",
            ),
        ] {
            assert_eq!(patch(json).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn attempts_are_retries_plus_one_and_must_not_contradict_them() {
        let policy = |json| read(json).unwrap().build();
        assert_eq!(policy(r#"{"maxAttempts":4}"#).unwrap().max_retries(), 3);
        assert!(policy(r#"{"maxAttempts":4,"maxRetries":3}"#).is_ok());
        assert_eq!(
            policy(r#"{"maxAttempts":3,"maxRetries":3}"#)
                .unwrap_err()
                .to_string(),
            "maxAttempts is 3: must be maxRetries + 1, which is 4"
        );
        assert!(policy(r#"{"maxAttempts":0}"#).is_err());
    }
}
