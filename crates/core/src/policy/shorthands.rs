//! Other spellings for parts of a policy, which requests may use beside `retry`.

use std::{fmt, time::Duration};

use super::{Backoff, PolicyPatch, Preset, check_delay, check_range};
use crate::{limits, values::Invalid};

/// Other spellings for parts of a policy, which a request may have beside its `retry`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shorthands {
    /// The policy's `maxRetries`.
    pub max_retries: Option<u32>,
    /// Also the policy's `maxRetries`.
    pub max_retry_count: Option<u32>,
    /// The policy's `maxRetries` + 1.
    pub max_attempts: Option<u32>,
    /// The policy's `baseDelay`.
    pub retry_delay: Option<Duration>,
    /// The policy's `backoff`: exponential if true, fixed if false.
    pub use_exponential_backoff: Option<bool>,
}

impl PolicyPatch {
    /// Adds shorthands to this patch. A field that both set must have the same value in both.
    ///
    /// With a delay or a backoff among the shorthands, a patch without a preset gets `patient`.
    pub fn with_shorthands(mut self, short: &Shorthands) -> Result<Self, Invalid> {
        let backoff = short.use_exponential_backoff.map(|exponential| {
            if exponential {
                Backoff::Exponential
            } else {
                Backoff::Fixed
            }
        });
        if (backoff.is_some() || short.retry_delay.is_some()) && self.preset.is_none() {
            self.preset = Some(Preset::Patient);
        }
        short.check_ranges()?;
        let (count_field, count) = short.count()?;
        self.max_retries = agree(self.max_retries, count, count_field, "retry")?;
        self.max_attempts = agree(
            self.max_attempts,
            short.max_attempts,
            "maxAttempts",
            "retry",
        )?;
        self.base_delay = agree(self.base_delay, short.retry_delay, "retryDelay", "retry")?;
        self.backoff = agree(self.backoff, backoff, "useExponentialBackoff", "retry")?;
        // The error names a field outside of `retry` as the request spells it.
        let outside = short.max_attempts.map(|_| "maxAttempts");
        let outside = outside.or(count.map(|_| count_field));
        self.retries().map_err(|error| Invalid {
            field: outside.map_or_else(|| format!("retry.{}", error.field), str::to_owned),
            ..error
        })?;
        Ok(self)
    }
}

impl Shorthands {
    /// The number of retries, and the field that gave it.
    fn count(&self) -> Result<(&'static str, Option<u32>), Invalid> {
        let field = match self.max_retries {
            Some(_) => "maxRetries",
            None => "maxRetryCount",
        };
        let count = agree(
            self.max_retries,
            self.max_retry_count,
            "maxRetryCount",
            "maxRetries",
        )?;
        Ok((field, count))
    }

    /// Each limit is that of the field it stands for; errors name the field of the request.
    fn check_ranges(&self) -> Result<(), Invalid> {
        let most = limits::MAX_RETRIES;
        for (field, value, least, most) in [
            ("maxRetries", self.max_retries, 0, most),
            ("maxRetryCount", self.max_retry_count, 0, most),
            ("maxAttempts", self.max_attempts, 1, most + 1),
        ] {
            value.map_or(Ok(()), |value| check_range(field, value, least, most))?;
        }
        self.retry_delay
            .map_or(Ok(()), |delay| check_delay("retryDelay", delay))
    }
}

/// The value of a setting that may be given in two places, which must not contradict each other.
fn agree<T: PartialEq + fmt::Debug>(
    other: Option<T>,
    value: Option<T>,
    field: &str,
    other_field: &str,
) -> Result<Option<T>, Invalid> {
    match (other, value) {
        (Some(other), Some(value)) if other != value => {
            let expected = format!("must agree with {other_field} ({other:?})");
            Err(Invalid::new(field, format!("{value:?}"), expected))
        }
        (other, value) => Ok(other.or(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Jitter;

    #[test]
    fn shorthands_mean_the_same_as_the_fields() {
        let short = Shorthands {
            max_retry_count: Some(5),
            retry_delay: Some(Duration::from_secs(30)),
            use_exponential_backoff: Some(false),
            ..Shorthands::default()
        };
        let policy = PolicyPatch::default()
            .with_shorthands(&short)
            .and_then(|patch| patch.build())
            .unwrap();
        assert_eq!(policy.max_retries(), 5);
        assert_eq!(policy.base_delay(), Duration::from_secs(30));
        assert_eq!(policy.backoff(), Backoff::Fixed);
        assert_eq!(policy.max_delay(), Preset::Patient.policy().max_delay());
    }

    #[test]
    fn a_shorthand_alone_leaves_the_rest_to_the_level_below() {
        let short = Shorthands {
            max_retries: Some(7),
            ..Shorthands::default()
        };
        let patch = PolicyPatch::default()
            .jitter(Jitter::None)
            .with_shorthands(&short)
            .unwrap();
        let policy = patch.over(&Preset::Http.policy()).unwrap();
        assert_eq!(policy.max_retries(), 7);
        assert_eq!(policy.base_delay(), Preset::Http.policy().base_delay());
    }

    #[test]
    fn an_error_in_a_shorthand_names_the_field_of_the_request() {
        let none = Shorthands::default;
        let three = || PolicyPatch::default().max_retries(3);
        let retries = |n| Shorthands {
            max_retries: Some(n),
            ..none()
        };
        let count = |n| Shorthands {
            max_retry_count: Some(n),
            ..none()
        };
        let attempts = |n| Shorthands {
            max_attempts: Some(n),
            ..none()
        };
        let both = Shorthands {
            max_retry_count: Some(3),
            ..attempts(3)
        };
        let four = PolicyPatch::default().max_attempts(4);
        let own = PolicyPatch::default().max_attempts(4).max_retries(4);
        for (patch, short, field) in [
            (three(), retries(7), "maxRetries"),
            (three(), count(7), "maxRetryCount"),
            (three(), attempts(3), "maxAttempts"),
            (PolicyPatch::default(), both, "maxAttempts"),
            (PolicyPatch::default(), attempts(0), "maxAttempts"),
            (PolicyPatch::default(), attempts(102), "maxAttempts"),
            (PolicyPatch::default(), retries(101), "maxRetries"),
            (PolicyPatch::default(), count(101), "maxRetryCount"),
            (four, count(4), "maxRetryCount"),
            (own, none(), "retry.maxAttempts"),
        ] {
            let error = patch.with_shorthands(&short).unwrap_err();
            assert_eq!(error.field, field, "{error}");
        }
        let agreed = three().with_shorthands(&attempts(4));
        assert_eq!(agreed.unwrap().build().unwrap().max_retries(), 3);
    }
}
