//! When alerts fire: settings and their defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::AlertRule;
use crate::{
    limits,
    values::{Invalid, duration},
};

const MINUTE: Duration = Duration::from_secs(60); // not a limit: a unit

/// When alerts fire. In JSON every field is optional and has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AlertSettings {
    /// How far back attempts count; 5 minutes by default. Counts are kept by the minute, so it may be
    /// up to a minute more.
    #[serde(with = "duration::text")]
    pub window: Duration,
    /// How often endpoints are notified again of an alert that goes on firing; hourly by default.
    #[serde(with = "duration::text")]
    pub renotify: Duration,
    /// The rule on dead letters.
    pub dlq: DlqAlert,
    /// The rule on the share of retries.
    pub retry_rate: RetryRateAlert,
    /// The rule on jobs that ran out of retries.
    pub exhausted: ExhaustedAlert,
    /// The rule on jobs that are not claimed in time.
    pub overdue: OverdueAlert,
    /// The rule on systems that jobs call.
    pub destination: SimpleAlert,
    /// The rule on causes of failures that were never seen before.
    pub new_failure: NewFailureAlert,
    /// The rule on causes of failures that counted as fixed.
    pub regressed: SimpleAlert,
    /// More jobs are coming than can be worked off in time.
    pub storm: StormAlert,
    /// Fires if nodes cannot use the TLS certificate in their files.
    pub certificate: SimpleAlert,
    /// Fires if a kept certificate says that a system would not recover from an outage.
    pub fragile: SimpleAlert,
    /// Fires if a node had to correct stored times.
    pub corrected: SimpleAlert,
    /// Fires if nodes refuse most creates because the store is slow.
    pub store_slow: SimpleAlert,
}

/// The settings of a rule without a threshold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SimpleAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How long the rule must be broken before the alert fires; at once by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

impl Default for SimpleAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            after: Duration::ZERO,
        }
    }
}

/// Fires if jobs fail for a cause that was never seen before, until a person marks it or a day has
/// passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewFailureAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How many attempts must have failed for that cause; 10 by default, so that the retries of a
    /// first job fire nothing.
    pub min_failures: u64,
    /// How long there must be such a cause before the alert fires; at once by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// Fires if there are dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DlqAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How many dead letters are acceptable; none by default.
    pub above: u64,
    /// How long the rule must be broken before the alert fires; 5 minutes by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// Fires if too many of the attempts within the window are retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RetryRateAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// The acceptable share of retries, from 0 to 1; 0.1 by default.
    pub above: f64,
    /// With fewer attempts within the window the rule is not broken; 50 by default, so that the
    /// retries of a first job fire nothing.
    pub min_attempts: u64,
    /// How long the rule must be broken before the alert fires; 2 minutes by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// Fires if too many jobs ran out of retries within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExhaustedAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How many such jobs are acceptable; 10 by default.
    pub above: u64,
    /// How long the rule must be broken before the alert fires; at once by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// Fires if a ready job is not claimed in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverdueAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How long a job may be due without being claimed; 5 minutes by default.
    #[serde(with = "duration::text")]
    pub above: Duration,
    /// How long the rule must be broken before the alert fires; at once by default.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// Fires if more jobs are coming than can be worked off in time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct StormAlert {
    /// Whether the rule is checked; true by default.
    pub enabled: bool,
    /// How long the last of the jobs that are due at the same time may wait; an hour by default.
    #[serde(with = "duration::text")]
    pub above: Duration,
    /// How long the rule must be broken before the alert fires; two minutes by default, because a
    /// forecast is made every minute.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

impl Default for StormAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            above: 60 * MINUTE,
            after: 2 * MINUTE,
        }
    }
}

impl Default for AlertSettings {
    fn default() -> Self {
        Self {
            window: 5 * MINUTE,
            renotify: 60 * MINUTE,
            dlq: DlqAlert::default(),
            retry_rate: RetryRateAlert::default(),
            exhausted: ExhaustedAlert::default(),
            overdue: OverdueAlert::default(),
            destination: SimpleAlert::default(),
            new_failure: NewFailureAlert::default(),
            regressed: SimpleAlert::default(),
            storm: StormAlert::default(),
            certificate: SimpleAlert::default(),
            fragile: SimpleAlert::default(),
            corrected: SimpleAlert::default(),
            store_slow: SimpleAlert::default(),
        }
    }
}

impl Default for NewFailureAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            min_failures: 10,
            after: Duration::ZERO,
        }
    }
}

impl Default for DlqAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            above: 0,
            after: 5 * MINUTE,
        }
    }
}

impl Default for RetryRateAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            above: 0.1,
            min_attempts: 50,
            after: 2 * MINUTE,
        }
    }
}

impl Default for ExhaustedAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            above: 10,
            after: Duration::ZERO,
        }
    }
}

impl Default for OverdueAlert {
    fn default() -> Self {
        Self {
            enabled: true,
            above: 5 * MINUTE,
            after: Duration::ZERO,
        }
    }
}

impl AlertSettings {
    /// Refuses a window, an interval or a rate outside of its limits.
    pub fn check(&self) -> Result<(), Invalid> {
        duration::check("window", self.window, limits::ALERT_WINDOW)?;
        duration::check("renotify", self.renotify, limits::ALERT_RENOTIFY)?;
        let rate = self.retry_rate.above;
        if !(0.0..=1.0).contains(&rate) {
            let expected = "must be between 0 and 1";
            return Err(Invalid::new("retryRate.above", rate, expected));
        }
        Ok(())
    }

    pub(super) fn is_enabled(&self, rule: AlertRule) -> bool {
        match rule {
            AlertRule::Dlq => self.dlq.enabled,
            AlertRule::RetryRate => self.retry_rate.enabled,
            AlertRule::Exhausted => self.exhausted.enabled,
            AlertRule::Overdue => self.overdue.enabled,
            AlertRule::Destination => self.destination.enabled,
            AlertRule::NewFailure => self.new_failure.enabled,
            AlertRule::Regressed => self.regressed.enabled,
            AlertRule::Storm => self.storm.enabled,
            AlertRule::Certificate => self.certificate.enabled,
            AlertRule::Fragile => self.fragile.enabled,
            AlertRule::Corrected => self.corrected.enabled,
            AlertRule::StoreSlow => self.store_slow.enabled,
        }
    }

    pub(super) fn after(&self, rule: AlertRule) -> Duration {
        match rule {
            AlertRule::Dlq => self.dlq.after,
            AlertRule::RetryRate => self.retry_rate.after,
            AlertRule::Exhausted => self.exhausted.after,
            AlertRule::Overdue => self.overdue.after,
            AlertRule::Destination => self.destination.after,
            AlertRule::NewFailure => self.new_failure.after,
            AlertRule::Regressed => self.regressed.after,
            AlertRule::Storm => self.storm.after,
            AlertRule::Certificate => self.certificate.after,
            AlertRule::Fragile => self.fragile.after,
            AlertRule::Corrected => self.corrected.after,
            AlertRule::StoreSlow => self.store_slow.after,
        }
    }
}
