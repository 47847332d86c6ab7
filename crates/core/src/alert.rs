//! Alerts: what is wrong with a tenant's jobs, said once.
//!
//! A threshold alone makes a bad alert: it speaks up at every look, and a restart makes it
//! forget that it has. So each rule has a stored state per tenant, and [`AlertRule::step`] is
//! the one place that changes it, whoever looks and however often.

mod reading;
mod settings;

use std::{collections::BTreeMap, fmt, ops::AddAssign, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    EventType, Kind, Queue, Tally, Tenant, Timestamp, WebhookEvent, duration, limits, string_enum,
};

pub use reading::AlertFigure;
pub use settings::{AlertSettings, DlqAlert, ExhaustedAlert, OverdueAlert, RetryRateAlert};

string_enum! {
    /// What is watched.
    AlertRule, "rule" {
        /// There are dead letters.
        Dlq = "dlq",
        /// Too many of the attempts are retries.
        RetryRate = "retry_rate",
        /// Too many jobs ran out of retries.
        Exhausted = "exhausted",
        /// A job that could be claimed has waited too long.
        Overdue = "overdue",
    }
}

string_enum! {
    /// Where an alert stands.
    AlertStatus, "status" {
        Ok = "ok",
        /// Its rule is broken, but not for long enough yet.
        Pending = "pending",
        Firing = "firing",
    }
}

string_enum! {
    /// Which of a tenant's jobs an alert is about. Each has states of its own, so that a delivery
    /// that nobody deals with does not hide what becomes of jobs.
    AlertSubject, "subject" {
        Jobs = "jobs",
        /// Webhooks that tell of jobs.
        Deliveries = "deliveries",
        /// Webhooks that tell of alerts. Watched, but not told to endpoints: one that fails would
        /// feed on itself.
        Notifications = "notifications",
    }
}

impl AlertSubject {
    pub fn of(kind: &Kind, queue: &Queue) -> Self {
        match *kind == Kind::webhook() {
            true if *queue == Queue::alerts() => Self::Notifications,
            true => Self::Deliveries,
            false => Self::Jobs,
        }
    }
}

/// One rule for one tenant, as it is stored and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertState {
    pub rule: AlertRule,
    pub tenant: Tenant,
    pub subject: AlertSubject,
    pub status: AlertStatus,
    /// Since when the rule is broken, or kept again.
    pub since: Timestamp,
    pub fired_at: Option<Timestamp>,
    /// When somebody was last told that it fires.
    pub notified_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    /// Of which time `value` and `message` are.
    pub updated_at: Timestamp,
    pub value: AlertFigure,
    pub threshold: AlertFigure,
    pub message: String,
}

/// What a look at a tenant's jobs, or at its deliveries, found.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertObservation {
    pub tenant: Tenant,
    pub subject: AlertSubject,
    pub figures: AlertFigures,
}

/// What alerts look at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AlertFigures {
    pub dead_letters: u64,
    /// Attempts that ended within the window.
    pub recent: Tally,
    /// Since when the job that has been due longest could have been claimed.
    pub oldest_ready: Option<Timestamp>,
}

/// What is to be written, and told.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertChange {
    pub state: AlertState,
    /// What happened, if it is worth saying.
    pub event: Option<EventType>,
}

impl AddAssign for AlertFigures {
    fn add_assign(&mut self, other: Self) {
        self.dead_letters += other.dead_letters;
        self.recent += other.recent;
        let both = self.oldest_ready.into_iter().chain(other.oldest_ready);
        self.oldest_ready = both.min();
    }
}

impl AlertRule {
    /// Decides what a look makes of an alert. `None` if there is nothing to write.
    pub fn step(
        self,
        settings: &AlertSettings,
        known: Option<&AlertState>,
        seen: &AlertObservation,
        now: Timestamp,
    ) -> Option<AlertChange> {
        let is_broken = settings.is_broken(self, &seen.figures, now);
        let mut state = match known {
            Some(known) => known.as_of(now),
            None if !is_broken => return None,
            None => AlertState::new(settings, self, seen, now),
        };
        let before = state.status;
        let event = match (is_broken, before) {
            (false, AlertStatus::Ok) => None,
            (false, AlertStatus::Pending) => {
                state.enter(AlertStatus::Ok, now);
                None
            }
            (false, AlertStatus::Firing) => {
                state.enter(AlertStatus::Ok, now);
                state.resolved_at = Some(now);
                Some(EventType::AlertResolved)
            }
            (true, AlertStatus::Ok | AlertStatus::Pending) => {
                if before == AlertStatus::Ok {
                    state.enter(AlertStatus::Pending, now);
                }
                let has_lasted = now.since(state.since) >= settings.after(self);
                has_lasted.then(|| state.fire(now))
            }
            (true, AlertStatus::Firing) => state.remind(settings.renotify, now),
        };
        let value = settings.value(self, &seen.figures, now);
        let is_stale = state.status == AlertStatus::Firing
            && now.since(state.updated_at) >= limits::ALERT_REFRESH
            && value != state.value;
        if event.is_some() || state.status != before || is_stale {
            state.updated_at = now;
            state.value = value;
            state.threshold = settings.threshold(self);
            state.message = settings.message(&state, &seen.figures, now);
        }
        (known != Some(&state)).then_some(AlertChange { state, event })
    }
}

impl AlertState {
    fn new(
        settings: &AlertSettings,
        rule: AlertRule,
        seen: &AlertObservation,
        now: Timestamp,
    ) -> Self {
        Self {
            rule,
            tenant: seen.tenant.clone(),
            subject: seen.subject,
            status: AlertStatus::Ok,
            since: now,
            fired_at: None,
            notified_at: None,
            resolved_at: None,
            updated_at: now,
            value: settings.value(rule, &seen.figures, now),
            threshold: settings.threshold(rule),
            message: String::new(),
        }
    }

    /// A clock that was set back must not put off what is counted from a time to come.
    fn as_of(&self, now: Timestamp) -> Self {
        Self {
            since: self.since.min(now),
            notified_at: self.notified_at.map(|at| at.min(now)),
            updated_at: self.updated_at.min(now),
            ..self.clone()
        }
    }

    fn enter(&mut self, status: AlertStatus, now: Timestamp) {
        self.status = status;
        self.since = now;
    }

    fn fire(&mut self, now: Timestamp) -> EventType {
        self.status = AlertStatus::Firing;
        self.fired_at = Some(now);
        self.notified_at = Some(now);
        self.resolved_at = None;
        EventType::AlertFired
    }

    fn remind(&mut self, every: Duration, now: Timestamp) -> Option<EventType> {
        let is_fresh = |last: Timestamp| now.since(last) < every;
        if self.notified_at.is_some_and(is_fresh) {
            return None;
        }
        self.notified_at = Some(now);
        Some(EventType::AlertRenotified)
    }
}

impl AlertChange {
    /// What endpoints are told, if they are.
    pub fn news(&self) -> Option<WebhookEvent> {
        let event = self.event?;
        let AlertState { rule, tenant, .. } = &self.state;
        if self.state.subject == AlertSubject::Notifications {
            return None;
        }
        let at = self.state.updated_at;
        Some(WebhookEvent {
            event,
            tenant: tenant.clone(),
            at,
            data: json!(self.state),
            text: self.sentence(event),
            seed: format!("{} {rule} {}", self.state.subject, at.as_micros()),
            tags: BTreeMap::from([("alert".to_owned(), rule.to_string())]),
        })
    }

    /// What happened, for people.
    pub fn sentence(&self, event: EventType) -> String {
        let AlertState {
            rule,
            fired_at,
            message,
            updated_at,
            ..
        } = &self.state;
        let lasted = in_seconds(updated_at.since(fired_at.unwrap_or(*updated_at)));
        match event {
            EventType::AlertResolved => {
                format!("alert {rule} resolved after {lasted}: {message}")
            }
            EventType::AlertRenotified => {
                format!("alert {rule} has been firing for {lasted}: {message}")
            }
            _ => format!("alert {rule} fired: {message}"),
        }
    }
}

/// Nobody reads an alert to the microsecond.
fn in_seconds(duration: Duration) -> String {
    duration::format(Duration::from_secs(duration.as_secs()))
}
