//! When alerts fire, and what is so where nobody sets it.

use std::{ops::RangeInclusive, time::Duration};

use serde::{Deserialize, Serialize};

use super::AlertRule;
use crate::{Invalid, duration, limits};

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AlertSettings {
    /// How far back attempts count. Counts are kept by the minute, so up to a minute more.
    #[serde(with = "duration::text")]
    pub window: Duration,
    /// How often an alert that goes on firing is told of again.
    #[serde(with = "duration::text")]
    pub renotify: Duration,
    pub dlq: DlqAlert,
    pub retry_rate: RetryRateAlert,
    pub exhausted: ExhaustedAlert,
    pub overdue: OverdueAlert,
}

/// More dead letters than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DlqAlert {
    pub enabled: bool,
    pub above: u64,
    /// How long it must last before it fires.
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// More retries than this part of all attempts within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RetryRateAlert {
    pub enabled: bool,
    /// From 0 to 1.
    pub above: f64,
    /// With fewer attempts, a rate says nothing.
    pub min_attempts: u64,
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// More jobs than this ran out of retries within the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExhaustedAlert {
    pub enabled: bool,
    pub above: u64,
    #[serde(with = "duration::text")]
    pub after: Duration,
}

/// A job that could be claimed has been due for longer than this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OverdueAlert {
    pub enabled: bool,
    #[serde(with = "duration::text")]
    pub above: Duration,
    #[serde(with = "duration::text")]
    pub after: Duration,
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
            min_attempts: 1,
            after: Duration::ZERO,
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
    pub fn check(&self) -> Result<(), Invalid> {
        within("window", self.window, limits::ALERT_WINDOW)?;
        within("renotify", self.renotify, limits::ALERT_RENOTIFY)?;
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
        }
    }

    pub(super) fn after(&self, rule: AlertRule) -> Duration {
        match rule {
            AlertRule::Dlq => self.dlq.after,
            AlertRule::RetryRate => self.retry_rate.after,
            AlertRule::Exhausted => self.exhausted.after,
            AlertRule::Overdue => self.overdue.after,
        }
    }
}

fn within(field: &str, value: Duration, range: RangeInclusive<Duration>) -> Result<(), Invalid> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let expected = format!(
        "must be between {} and {}",
        duration::format(least),
        duration::format(most)
    );
    Err(Invalid::new(field, duration::format(value), expected))
}
