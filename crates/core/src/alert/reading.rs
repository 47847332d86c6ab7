//! The value of a rule, computed from the counts, and its message.

use super::{
    AlertMetrics, AlertObservation, AlertRule, AlertSettings, AlertState, AlertStatus,
    AlertSubject, AlertUnit, ObservedDestination, format_seconds,
};
use crate::{
    explain::{self, brief, thousands, whole_second, with_most_recent},
    values::Timestamp,
};

impl AlertSettings {
    /// Whether the figure is above the rule's limit. A rule that is switched off is never broken.
    pub(super) fn is_broken(
        &self,
        rule: AlertRule,
        metrics: &AlertMetrics,
        now: Timestamp,
    ) -> bool {
        let is_enough =
            rule != AlertRule::RetryRate || metrics.recent.attempts >= self.retry_rate.min_attempts;
        is_enough && self.is_enabled(rule) && self.value(rule, metrics, now) > self.threshold(rule)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to nine quadrillion jobs"
    )]
    pub(super) fn value(&self, rule: AlertRule, metrics: &AlertMetrics, now: Timestamp) -> f64 {
        match rule {
            AlertRule::Dlq => metrics.dead_letters as f64,
            AlertRule::RetryRate => metrics.recent.retry_rate().unwrap_or(0.0),
            AlertRule::Exhausted => metrics.recent.exhausted as f64,
            AlertRule::Overdue => {
                let lateness = metrics.oldest_ready.map(|due| now.since(due).as_secs());
                lateness.unwrap_or(0) as f64
            }
            AlertRule::Destination => metrics.failed_share,
            AlertRule::NewFailure => metrics.new_causes as f64,
            AlertRule::Regressed => metrics.regressed_causes as f64,
            AlertRule::Certificate => metrics.bad_certificates as f64,
            AlertRule::Fragile => metrics.fragile as f64,
            AlertRule::Corrected => metrics.corrections as f64,
            AlertRule::StoreSlow => metrics.nodes_with_slow_store as f64,
            AlertRule::Storm => metrics
                .upcoming
                .map_or(0, |upcoming| upcoming.wait.as_secs())
                as f64,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to nine quadrillion jobs"
    )]
    pub(super) fn threshold(&self, rule: AlertRule) -> f64 {
        match rule {
            AlertRule::Dlq => self.dlq.above as f64,
            AlertRule::RetryRate => self.retry_rate.above,
            AlertRule::Exhausted => self.exhausted.above as f64,
            AlertRule::Overdue => self.overdue.above.as_secs_f64(),
            AlertRule::Storm => self.storm.above.as_secs_f64(),
            AlertRule::Destination
            | AlertRule::NewFailure
            | AlertRule::Regressed
            | AlertRule::Certificate
            | AlertRule::Fragile
            | AlertRule::Corrected
            | AlertRule::StoreSlow => 0.0,
        }
    }

    /// What is wrong, or that nothing is, in the words of the rule.
    pub(super) fn sentence(
        &self,
        state: &AlertState,
        observed: &AlertObservation,
        is_only: bool,
        now: Timestamp,
    ) -> String {
        let newest = observed.newest_causes.get(&state.rule);
        match &observed.destination {
            Some(observed) => self.destination_message(state, observed),
            None if state.rule.unit() == AlertUnit::Causes => self.cause_message(state, newest),
            None => self
                .counted_message(state, newest)
                .unwrap_or_else(|| self.message(state, is_only, &observed.metrics, now)),
        }
    }

    /// What is wrong, or that nothing is. `is_only` says that all of it is in the state's queue.
    fn message(
        &self,
        state: &AlertState,
        is_only: bool,
        metrics: &AlertMetrics,
        now: Timestamp,
    ) -> String {
        let rule = &state.rule;
        let (value, limit) = (state.format_value(), state.format_threshold());
        if !self.is_enabled(*rule) {
            return "the rule is disabled".to_owned();
        }
        let within = brief(self.window);
        let (location, most) = location(state, is_only);
        match rule {
            AlertRule::Dlq => {
                let dead_letters = count_of(metrics.dead_letters, "dead letter", "dead letters");
                let lasted = now.since(state.since);
                match state.status {
                    AlertStatus::Firing if !lasted.is_zero() => {
                        let lasted = format_seconds(lasted);
                        format!("{dead_letters} {location} for {lasted}{most}")
                    }
                    _ => format!("{dead_letters} {location}{most}"),
                }
            }
            AlertRule::RetryRate if metrics.recent.attempts == 0 => {
                format!("no attempts {location} within {within}")
            }
            AlertRule::RetryRate => {
                let attempts = count_of(metrics.recent.attempts, "attempt", "attempts");
                let retries = thousands(metrics.recent.retries);
                format!(
                    "{retries} of {attempts} {location} within {within} were retries{most}: \
                     {value}, the limit is {limit}"
                )
            }
            AlertRule::Exhausted => {
                let jobs = count_of(metrics.recent.exhausted, "job", "jobs");
                format!(
                    "{jobs} {location} ran out of retries within {within}{most}; \
                     the limit is {limit}"
                )
            }
            AlertRule::Overdue => match metrics.oldest_ready {
                Some(run_at) => format!(
                    "the oldest ready job {location} has been due for {value}, \
                     since {}; the limit is {limit}",
                    whole_second(run_at)
                ),
                None => format!("no job {location} is due"),
            },
            AlertRule::Storm => match metrics.upcoming {
                Some(upcoming) => format!(
                    "{} {location} will be due at once, but at most {} per minute succeeded recently: the \
                     last of them will wait {value}; the limit is {limit}",
                    count_of(upcoming.jobs, "job", "jobs"),
                    thousands(upcoming.throughput_per_minute),
                ),
                None => format!("the upcoming jobs {location} can be completed in time"),
            },
            // These have functions of their own, which `sentence` calls.
            AlertRule::Destination
            | AlertRule::NewFailure
            | AlertRule::Regressed
            | AlertRule::Certificate
            | AlertRule::Fragile
            | AlertRule::Corrected
            | AlertRule::StoreSlow => String::new(),
        }
    }

    /// How many causes of failures are news, and the newest of them.
    fn cause_message(&self, state: &AlertState, newest: Option<&String>) -> String {
        if !self.is_enabled(state.rule) {
            return "the rule is disabled".to_owned();
        }
        let is_one = state.value <= 1.0;
        let which = match state.rule {
            AlertRule::Regressed => "that was marked as fixed",
            _ if is_one => "that is new",
            _ => "that are new",
        };
        let tenant = &state.tenant;
        if state.status == AlertStatus::Ok {
            return format!("jobs of tenant {tenant} no longer fail for a cause {which}");
        }
        let value = state.format_value();
        let causes = if is_one { "cause" } else { "causes" };
        let text = format!("jobs of tenant {tenant} fail for {value} {causes} {which}");
        with_most_recent(&text, newest.map(String::as_str))
    }

    /// How many nodes or certificates are bad, and what the first of them says; `None` for a rule
    /// that counts something else.
    fn counted_message(&self, state: &AlertState, first: Option<&String>) -> Option<String> {
        let tenant = &state.tenant;
        let (none, several) = match state.rule {
            AlertRule::Certificate => (
                "all nodes can use their TLS certificates again".to_owned(),
                "nodes cannot use their TLS certificates".to_owned(),
            ),
            AlertRule::Corrected => (
                "no node has corrected stored times recently".to_owned(),
                "nodes have corrected stored times".to_owned(),
            ),
            AlertRule::StoreSlow => (
                "the store is fast again: no node refuses creates for it".to_owned(),
                "nodes refuse most creates because the store is slow".to_owned(),
            ),
            AlertRule::Fragile => (
                format!(
                    "no kept certificate of tenant {tenant} shows a system that does not recover"
                ),
                format!("kept certificates of tenant {tenant} show systems that do not recover"),
            ),
            _ => return None,
        };
        Some(match (state.status, first) {
            _ if !self.is_enabled(state.rule) => "the rule is disabled".to_owned(),
            (AlertStatus::Ok, _) | (_, None) => none,
            (_, Some(first)) if state.value <= 1.0 => first.clone(),
            (_, Some(first)) => format!("{} {several}; {first}", state.format_value()),
        })
    }

    /// What is wrong with a destination, or that nothing is.
    fn destination_message(&self, state: &AlertState, observed: &ObservedDestination) -> String {
        if !self.is_enabled(state.rule) {
            return "the rule is disabled".to_owned();
        }
        let (destination, share) = (&observed.destination, state.format_value());
        let tenant = &state.tenant;
        if state.status == AlertStatus::Ok {
            return format!("{destination} has recovered for tenant {tenant}");
        }
        let text = format!(
            "{destination} is unhealthy: {share} of recent attempts failed, including attempts of \
             tenant {tenant}"
        );
        with_most_recent(&text, observed.newest_failure.as_deref())
    }
}

/// Where it is, and which queue has most of it if there are several.
fn location(state: &AlertState, is_only: bool) -> (String, String) {
    let tenant = &state.tenant;
    let location = match (state.subject, &state.queue) {
        (AlertSubject::Jobs, Some(queue)) if is_only => {
            format!("in queue {queue} of tenant {tenant}")
        }
        (AlertSubject::Jobs, Some(queue)) => {
            let most = format!(", most in queue {queue}");
            return (format!("in tenant {tenant}"), most);
        }
        (AlertSubject::Jobs, None) => format!("in tenant {tenant}"),
        // These are all in one queue.
        (AlertSubject::Deliveries, _) => format!("among the deliveries of tenant {tenant}"),
        (AlertSubject::Notifications, _) => format!("among the notifications of tenant {tenant}"),
    };
    (location, String::new())
}

fn count_of(count: u64, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        _ => explain::count_of(count, one, many),
    }
}
