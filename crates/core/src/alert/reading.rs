//! What a rule reads off the figures, and how it is said.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    AlertFigures, AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, in_seconds,
};
use crate::{Timestamp, duration};

/// What a rule measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AlertFigure {
    Count(u64),
    /// From 0 to 1.
    Rate(f64),
    Time(duration::Text),
}

impl fmt::Display for AlertFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Rate(rate) => write!(f, "{}%", (rate * 1_000.0).round() / 10.0),
            Self::Time(time) => f.write_str(&in_seconds(time.0)),
        }
    }
}

impl AlertSettings {
    /// A rule that is switched off is never broken.
    pub(super) fn is_broken(&self, rule: AlertRule, seen: &AlertFigures, now: Timestamp) -> bool {
        let is_above = match (self.value(rule, seen, now), self.threshold(rule)) {
            (AlertFigure::Count(value), AlertFigure::Count(most)) => value > most,
            (AlertFigure::Rate(value), AlertFigure::Rate(most)) => {
                value > most && seen.recent.attempts >= self.retry_rate.min_attempts
            }
            (AlertFigure::Time(value), AlertFigure::Time(most)) => value.0 > most.0,
            _ => false,
        };
        is_above && self.is_enabled(rule)
    }

    pub(super) fn value(
        &self,
        rule: AlertRule,
        seen: &AlertFigures,
        now: Timestamp,
    ) -> AlertFigure {
        match rule {
            AlertRule::Dlq => AlertFigure::Count(seen.dead_letters),
            AlertRule::RetryRate => AlertFigure::Rate(seen.recent.retry_rate().unwrap_or(0.0)),
            AlertRule::Exhausted => AlertFigure::Count(seen.recent.exhausted),
            AlertRule::Overdue => {
                let lateness = seen.oldest_ready.map_or(0, |due| now.since(due).as_secs());
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
        seen: &AlertFigures,
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
        let place = match state.subject {
            AlertSubject::Jobs => format!("in tenant {}", state.tenant),
            AlertSubject::Deliveries => format!("among the deliveries of tenant {}", state.tenant),
            AlertSubject::Notifications => {
                format!("among the notifications of tenant {}", state.tenant)
            }
        };
        match rule {
            AlertRule::Dlq => {
                let letters = counted(seen.dead_letters, "dead letter", "dead letters");
                let lasted = now.since(state.since);
                match state.status {
                    AlertStatus::Firing if !lasted.is_zero() => {
                        format!("{letters} {place} for {}", in_seconds(lasted))
                    }
                    _ => format!("{letters} {place}"),
                }
            }
            AlertRule::RetryRate if seen.recent.attempts == 0 => {
                format!("no attempts {place} within {within}")
            }
            AlertRule::RetryRate => {
                let attempts = counted(seen.recent.attempts, "attempt", "attempts");
                let retries = seen.recent.retries;
                format!(
                    "{retries} of {attempts} {place} within {within} were retries: \
                     {value}, the limit is {limit}"
                )
            }
            AlertRule::Exhausted => {
                let jobs = counted(seen.recent.exhausted, "job", "jobs");
                format!(
                    "{jobs} {place} ran out of retries within {within}; \
                     the limit is {limit}"
                )
            }
            AlertRule::Overdue => match seen.oldest_ready {
                Some(run_at) => format!(
                    "the oldest ready job {place} has been due for {value}, \
                     since {run_at}; the limit is {limit}"
                ),
                None => format!("no job {place} is due"),
            },
        }
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}
