//! The stored state of an alert: of one rule, for one tenant and subject.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AlertObservation, AlertRule, AlertSettings, AlertStatus, AlertSubject, AlertUnit, id::state_id,
    metric,
};
use crate::{
    failure::FailureFingerprint,
    job::webhook::EventType,
    values::{Destination, Queue, Tenant, Timestamp},
};

/// The state of one rule for one tenant and subject, as it is stored and as the API shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AlertState {
    /// Its rule.
    pub rule: AlertRule,
    /// The tenant whose jobs it watches.
    pub tenant: Tenant,
    /// The part of the tenant's jobs that it watches.
    pub subject: AlertSubject,
    /// Whether its rule is kept, broken or has been broken for long enough to fire.
    pub status: AlertStatus,
    /// Since when the rule is broken, or kept again.
    pub since: Timestamp,
    /// When it last began to fire; `None` if it never has.
    pub fired_at: Option<Timestamp>,
    /// When endpoints were last notified that it fires.
    pub notified_at: Option<Timestamp>,
    /// When it last stopped firing; `None` while it fires.
    pub resolved_at: Option<Timestamp>,
    /// The time at which `value`, `threshold` and `message` were taken.
    pub updated_at: Timestamp,
    /// The unit of `value` and `threshold`; [`AlertRule::unit`] of the rule.
    #[serde(default = "metric::stored_before_units")]
    pub unit: AlertUnit,
    /// The figure that the rule measured.
    #[serde(with = "metric")]
    pub value: f64,
    /// The limit of the rule; a value above it breaks the rule.
    #[serde(with = "metric")]
    pub threshold: f64,
    /// The queue that contributes most to a rule that is broken.
    #[serde(default)]
    pub queue: Option<Queue>,
    /// The destination, if the rule is [`AlertRule::Destination`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// The most recent of the causes of failures that break the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<FailureFingerprint>,
    /// The condition as a sentence.
    pub message: String,
    /// Who works on it: endpoints are not reminded that it fires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<AlertAcknowledgement>,
    /// Endpoints are not notified before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silenced_until: Option<Timestamp>,
}

/// Who has seen an alert that fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertAcknowledgement {
    /// The name of the key or person; absent for a caller without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// A person's answer to an alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AlertCommand {
    /// A person works on it: no reminders until it is resolved.
    Acknowledge {
        /// Who.
        by: Option<String>,
    },
    /// No notifications until this time.
    Silence {
        /// When they begin again.
        until: Timestamp,
    },
    /// Notifications begin again.
    Unsilence,
}

impl AlertState {
    pub(super) fn new(
        settings: &AlertSettings,
        rule: AlertRule,
        observed: &AlertObservation,
        now: Timestamp,
    ) -> Self {
        Self {
            rule,
            tenant: observed.tenant.clone(),
            subject: observed.subject,
            status: AlertStatus::Ok,
            since: now,
            fired_at: None,
            notified_at: None,
            resolved_at: None,
            updated_at: now,
            unit: rule.unit(),
            value: settings.value(rule, &observed.metrics, now),
            queue: None,
            destination: observed
                .destination
                .as_ref()
                .map(|observed| observed.destination.clone()),
            fingerprint: None,
            threshold: settings.threshold(rule),
            message: String::new(),
            acknowledged: None,
            silenced_until: None,
        }
    }

    /// The key of the stored state.
    pub fn id(&self) -> String {
        state_id(
            &self.tenant,
            self.subject,
            self.rule,
            self.destination.as_ref(),
        )
    }

    /// Follows a person's command. Only an alert that fires can be acknowledged; whether this one
    /// was.
    pub fn command(&mut self, command: AlertCommand, now: Timestamp) -> bool {
        match command {
            AlertCommand::Acknowledge { .. } if self.status != AlertStatus::Firing => return false,
            AlertCommand::Acknowledge { by } => {
                self.acknowledged = Some(AlertAcknowledgement { by, at: now });
            }
            AlertCommand::Silence { until } => self.silenced_until = Some(until),
            AlertCommand::Unsilence => self.silenced_until = None,
        }
        true
    }

    /// Whether endpoints are not notified at this time.
    pub fn is_silenced(&self, now: Timestamp) -> bool {
        self.silenced_until.is_some_and(|until| until > now)
    }

    /// The figure that the rule measured, for people.
    pub fn format_value(&self) -> String {
        self.rule.unit().format(self.value)
    }

    /// The limit of the rule, for people.
    pub fn format_threshold(&self) -> String {
        self.rule.unit().format(self.threshold)
    }

    /// The same state without times after `now`: a clock that was set back must not delay what is
    /// counted from them. And with the unit of its rule, which an earlier version did not store.
    pub(super) fn as_of(&self, now: Timestamp) -> Self {
        Self {
            since: self.since.min(now),
            notified_at: self.notified_at.map(|at| at.min(now)),
            updated_at: self.updated_at.min(now),
            unit: self.rule.unit(),
            ..self.clone()
        }
    }

    pub(super) fn enter(&mut self, status: AlertStatus, now: Timestamp) {
        self.status = status;
        self.since = now;
        self.acknowledged = None;
    }

    /// Begins to fire. One that is silenced notifies no endpoint; when the silence ends, a reminder does.
    pub(super) fn fire(&mut self, now: Timestamp) -> Option<EventType> {
        let is_heard = !self.is_silenced(now);
        self.status = AlertStatus::Firing;
        self.fired_at = Some(now);
        self.notified_at = is_heard.then_some(now);
        self.resolved_at = None;
        is_heard.then_some(EventType::AlertFired)
    }

    /// Stops firing. Endpoints that received that it fired are notified, also while it is silenced:
    /// what they opened for it would stay open.
    pub(super) fn resolve(&mut self, now: Timestamp) -> Option<EventType> {
        let is_heard = self.notified_at.is_some();
        self.enter(AlertStatus::Ok, now);
        self.resolved_at = Some(now);
        is_heard.then_some(EventType::AlertResolved)
    }

    pub(super) fn remind(&mut self, every: Duration, now: Timestamp) -> Option<EventType> {
        let is_fresh = |last: Timestamp| now.since(last) < every;
        let is_known = self.acknowledged.is_some() || self.notified_at.is_some_and(is_fresh);
        if is_known || self.is_silenced(now) {
            return None;
        }
        self.notified_at = Some(now);
        Some(EventType::AlertRenotified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn firing() -> AlertState {
        let state = serde_json::json!({
            "rule": "dlq", "tenant": "acme", "subject": "jobs", "status": "pending",
            "since": T0, "updatedAt": T0, "value": 9, "threshold": 0, "message": "trouble",
        });
        let mut state: AlertState = serde_json::from_value(state).unwrap();
        assert_eq!(state.fire(T0), Some(EventType::AlertFired));
        state
    }

    #[test]
    fn an_acknowledged_alert_sends_no_reminders_until_it_fires_anew() {
        let mut state = firing();
        let by = Some("ann".to_owned());
        assert!(state.command(AlertCommand::Acknowledge { by }, T0));
        assert_eq!(state.remind(HOUR, T0.plus(9 * HOUR)), None);
        assert_eq!(
            state.resolve(T0.plus(9 * HOUR)),
            Some(EventType::AlertResolved)
        );
        assert_eq!(state.acknowledged, None);
        let late = AlertCommand::Acknowledge { by: None };
        assert!(!state.command(late, T0), "nothing fires");
    }

    #[test]
    fn a_silenced_alert_notifies_no_endpoint_until_the_silence_ends() {
        let mut state = firing();
        let until = T0.plus(3 * HOUR);
        state.command(AlertCommand::Silence { until }, T0);
        assert_eq!(state.remind(HOUR, T0.plus(2 * HOUR)), None);
        // Endpoints that received that it fires receive that it no longer does.
        let resolved = state.clone().resolve(T0.plus(2 * HOUR));
        assert_eq!(resolved, Some(EventType::AlertResolved));
        assert_eq!(state.remind(HOUR, until), Some(EventType::AlertRenotified));
        // One that began to fire in silence is heard of when the silence ends, and only then.
        let mut state = firing();
        state.command(AlertCommand::Silence { until }, T0);
        state.enter(AlertStatus::Ok, T0);
        assert_eq!(state.fire(T0), None);
        assert_eq!(state.clone().resolve(until), None);
        assert_eq!(state.remind(HOUR, until), Some(EventType::AlertRenotified));
        state.command(AlertCommand::Unsilence, T0);
        assert!(!state.is_silenced(T0));
    }
}
