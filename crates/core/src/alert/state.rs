//! The stored state of an alert: of one rule, for one tenant and subject.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    AlertObservation, AlertRule, AlertSettings, AlertStatus, AlertSubject, AlertUnit, metric,
};
use crate::{
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
    /// The condition as a sentence.
    pub message: String,
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
            threshold: settings.threshold(rule),
            message: String::new(),
        }
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
    }

    pub(super) fn fire(&mut self, now: Timestamp) -> EventType {
        self.status = AlertStatus::Firing;
        self.fired_at = Some(now);
        self.notified_at = Some(now);
        self.resolved_at = None;
        EventType::AlertFired
    }

    pub(super) fn remind(&mut self, every: Duration, now: Timestamp) -> Option<EventType> {
        let is_fresh = |last: Timestamp| now.since(last) < every;
        if self.notified_at.is_some_and(is_fresh) {
            return None;
        }
        self.notified_at = Some(now);
        Some(EventType::AlertRenotified)
    }
}
