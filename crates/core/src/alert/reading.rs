//! What a rule reads off the figures, and the message about it.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    AlertFigures, AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, format_seconds,
};
use crate::{duration, time::Timestamp};

/// A figure that a rule measures, or the limit for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum AlertFigure {
    /// A number of jobs.
    Count(u64),
    /// A share of attempts, from 0 to 1.
    Rate(f64),
    /// How long a job has been due.
    Time(duration::Text),
}

impl fmt::Display for AlertFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Rate(rate) => write!(f, "{}%", (rate * 1_000.0).round() / 10.0),
            Self::Time(time) => f.write_str(&format_seconds(time.0)),
        }
    }
}

impl AlertSettings {
    /// Whether the figure is above the rule's limit. A rule that is switched off is never broken.
    pub(super) fn is_broken(
        &self,
        rule: AlertRule,
        figures: &AlertFigures,
        now: Timestamp,
    ) -> bool {
        let is_above = match (self.value(rule, figures, now), self.threshold(rule)) {
            (AlertFigure::Count(value), AlertFigure::Count(most)) => value > most,
            (AlertFigure::Rate(value), AlertFigure::Rate(most)) => {
                value > most && figures.recent.attempts >= self.retry_rate.min_attempts
            }
            (AlertFigure::Time(value), AlertFigure::Time(most)) => value.0 > most.0,
            _ => false,
        };
        is_above && self.is_enabled(rule)
    }

    pub(super) fn value(
        &self,
        rule: AlertRule,
        figures: &AlertFigures,
        now: Timestamp,
    ) -> AlertFigure {
        match rule {
            AlertRule::Dlq => AlertFigure::Count(figures.dead_letters),
            AlertRule::RetryRate => AlertFigure::Rate(figures.recent.retry_rate().unwrap_or(0.0)),
            AlertRule::Exhausted => AlertFigure::Count(figures.recent.exhausted),
            AlertRule::Overdue => {
                let lateness = figures
                    .oldest_ready
                    .map_or(0, |due| now.since(due).as_secs());
                AlertFigure::Time(duration::Text(Duration::from_secs(lateness)))
            }
        }
    }

    pub(super) fn threshold(&self, rule: AlertRule) -> AlertFigure {
        match rule {
            AlertRule::Dlq => AlertFigure::Count(self.dlq.above),
            AlertRule::RetryRate => AlertFigure::Rate(self.retry_rate.above),
            AlertRule::Exhausted => AlertFigure::Count(self.exhausted.above),
            AlertRule::Overdue => AlertFigure::Time(duration::Text(self.overdue.above)),
        }
    }

    pub(super) fn message(
        &self,
        state: &AlertState,
        figures: &AlertFigures,
        now: Timestamp,
    ) -> String {
        let AlertState {
            rule,
            value,
            threshold: limit,
            ..
        } = state;
        if !self.is_enabled(*rule) {
            return "the rule is switched off".to_owned();
        }
        let within = duration::format(self.window);
        let location = match state.subject {
            AlertSubject::Jobs => format!("in tenant {}", state.tenant),
            AlertSubject::Deliveries => format!("among the deliveries of tenant {}", state.tenant),
            AlertSubject::Notifications => {
                format!("among the notifications of tenant {}", state.tenant)
            }
        };
        match rule {
            AlertRule::Dlq => {
                let dead_letters = count_of(figures.dead_letters, "dead letter", "dead letters");
                let lasted = now.since(state.since);
                match state.status {
                    AlertStatus::Firing if !lasted.is_zero() => {
                        format!("{dead_letters} {location} for {}", format_seconds(lasted))
                    }
                    _ => format!("{dead_letters} {location}"),
                }
            }
            AlertRule::RetryRate if figures.recent.attempts == 0 => {
                format!("no attempts {location} within {within}")
            }
            AlertRule::RetryRate => {
                let attempts = count_of(figures.recent.attempts, "attempt", "attempts");
                let retries = figures.recent.retries;
                format!(
                    "{retries} of {attempts} {location} within {within} were retries: \
                     {value}, the limit is {limit}"
                )
            }
            AlertRule::Exhausted => {
                let jobs = count_of(figures.recent.exhausted, "job", "jobs");
                format!(
                    "{jobs} {location} ran out of retries within {within}; \
                     the limit is {limit}"
                )
            }
            AlertRule::Overdue => match figures.oldest_ready {
                Some(run_at) => format!(
                    "the oldest ready job {location} has been due for {value}, \
                     since {run_at}; the limit is {limit}"
                ),
                None => format!("no job {location} is due"),
            },
        }
    }
}

fn count_of(count: u64, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
