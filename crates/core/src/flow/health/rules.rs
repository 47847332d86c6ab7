//! When a destination counts as unhealthy: settings and their defaults.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::checks::in_range;
use crate::{
    limits,
    values::{Invalid, duration},
};

/// The settings of a gate for when a destination counts as unhealthy. In JSON every field is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HealthPatch {
    /// At least this many attempts must have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_attempts: Option<u32>,
    /// They must have been of at least this many different jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_jobs: Option<u32>,
    /// At least this part of them must have failed because of the destination.
    #[serde(
        serialize_with = "crate::values::finite::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub failed_share: Option<f64>,
    /// All of it within this time.
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub window: Option<Duration>,
    /// How long jobs are held at most; after that they follow their policy again.
    #[serde(
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_hold: Option<Duration>,
}

/// As [`HealthPatch`], refusing fields that are not known: what people send, not what is stored.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(in crate::flow) struct HealthFields {
    min_attempts: Option<u32>,
    min_jobs: Option<u32>,
    failed_share: Option<f64>,
    window: Option<duration::Text>,
    max_hold: Option<duration::Text>,
}

impl From<HealthFields> for HealthPatch {
    fn from(fields: HealthFields) -> Self {
        Self {
            min_attempts: fields.min_attempts,
            min_jobs: fields.min_jobs,
            failed_share: fields.failed_share,
            window: fields.window.map(|text| text.0),
            max_hold: fields.max_hold.map(|text| text.0),
        }
    }
}

/// When a destination counts as unhealthy, complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HealthRules {
    /// At least this many attempts must have ended; 20 by default.
    pub min_attempts: u32,
    /// They must have been of at least this many different jobs; 5 by default.
    pub min_jobs: u32,
    /// At least this part of them must have failed because of the destination; 0.8 by default.
    pub failed_share: f64,
    /// All of it within this time; a minute by default.
    pub window: Duration,
    /// How long jobs are held at most; an hour by default.
    pub max_hold: Duration,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            min_attempts: 20,
            min_jobs: 5,
            failed_share: 0.8,
            window: Duration::from_secs(60),
            max_hold: Duration::from_secs(60 * 60),
        }
    }
}

impl HealthPatch {
    /// Whether it sets nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// This, with what it leaves out from another.
    #[must_use]
    pub fn or(self, below: &Self) -> Self {
        Self {
            min_attempts: self.min_attempts.or(below.min_attempts),
            min_jobs: self.min_jobs.or(below.min_jobs),
            failed_share: self.failed_share.or(below.failed_share),
            window: self.window.or(below.window),
            max_hold: self.max_hold.or(below.max_hold),
        }
    }

    /// The rules, with defaults for what is not set.
    pub fn rules(&self) -> HealthRules {
        let defaults = HealthRules::default();
        HealthRules {
            min_attempts: self.min_attempts.unwrap_or(defaults.min_attempts),
            min_jobs: self.min_jobs.unwrap_or(defaults.min_jobs),
            failed_share: self.failed_share.unwrap_or(defaults.failed_share),
            window: self.window.unwrap_or(defaults.window),
            max_hold: self.max_hold.unwrap_or(defaults.max_hold),
        }
    }

    /// Refuses what is outside of its limits.
    pub fn check(&self) -> Result<(), Invalid> {
        let HealthRules {
            min_attempts,
            min_jobs,
            failed_share,
            window,
            max_hold,
        } = self.rules();
        let most = limits::HEALTH_MIN_ATTEMPTS_MAX;
        in_range("minAttempts", min_attempts.into(), 1, most)?;
        in_range("minJobs", min_jobs.into(), 1, limits::HEALTH_MIN_JOBS_MAX)?;
        // 0 would hold a destination that never fails.
        if !(failed_share > 0.0 && failed_share <= 1.0) {
            let expected = "must be above 0 and at most 1: the fraction of attempts";
            return Err(Invalid::new("failedShare", failed_share, expected));
        }
        duration::check("window", window, limits::HEALTH_WINDOW)?;
        duration::check("maxHold", max_hold, limits::MAX_HOLD)
    }
}
