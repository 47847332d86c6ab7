//! Alerts: what is wrong with a tenant's jobs, said once.
//!
//! A threshold alone makes a bad alert: it speaks up at every look, and a restart makes it
//! forget that it has. So each rule has a stored state per tenant, and [`AlertRule::step`] is
//! the one place that changes it, whoever looks and however often.

mod reading;
mod settings;

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{EventType, Kind, News, Tally, Tenant, Timestamp, duration, limits, words};

pub use reading::AlertFigure;
pub use settings::{AlertSettings, DlqAlert, ExhaustedAlert, OverdueAlert, RetryRateAlert};

words! {
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

words! {
    /// Where an alert stands.
    AlertStatus, "status" {
        Ok = "ok",
        /// Its rule is broken, but not for long enough yet.
        Pending = "pending",
        Firing = "firing",
    }
}

/// One rule for one tenant, as it is stored and shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AlertState {
    pub rule: AlertRule,
    pub tenant: Tenant,
    pub status: AlertStatus,
    /// Since when the rule is broken, or kept again.
    pub since: Timestamp,
    pub fired_at: Option<Timestamp>,
    /// When somebody was last told that it fires.
    pub notified_at: Option<Timestamp>,
    pub resolved_at: Option<Timestamp>,
    /// Whether endpoints know of it. What is wrong with deliveries alone is not delivered.
    #[serde(default)]
    pub told: bool,
    /// Of which time `value` and `message` are.
    pub updated_at: Timestamp,
    pub value: AlertFigure,
    pub threshold: AlertFigure,
    pub message: String,
}

/// What a look at a tenant's jobs found.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub tenant: Tenant,
    all: Figures,
    /// Without deliveries.
    jobs: Figures,
}

/// What alerts look at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
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
    /// Whether endpoints are told as well.
    pub tell: bool,
}

impl Observation {
    /// Of a tenant that has no jobs.
    pub fn new(tenant: Tenant) -> Self {
        Self {
            tenant,
            all: Figures::default(),
            jobs: Figures::default(),
        }
    }

    /// Adds what was found of one kind.
    pub fn add(&mut self, kind: &Kind, figures: Figures) {
        self.all.add(figures);
        if *kind != Kind::webhook() {
            self.jobs.add(figures);
        }
    }
}

impl Figures {
    fn add(&mut self, other: Self) {
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
        seen: &Observation,
        now: Timestamp,
    ) -> Option<AlertChange> {
        // A failing delivery that made deliveries would feed on itself, so it is watched but not
        // delivered. A crowd of good deliveries must not hide jobs that are retried either.
        let is_about_jobs = settings.is_broken(self, &seen.jobs, now);
        let is_about_all = settings.is_broken(self, &seen.all, now);
        let is_broken = is_about_jobs || is_about_all;
        let figures = match is_about_jobs && !is_about_all {
            true => &seen.jobs,
            false => &seen.all,
        };
        let mut state = match known {
            Some(known) => known.as_of(now),
            None if !is_broken => return None,
            None => AlertState::new(settings, self, seen.tenant.clone(), now),
        };
        let before = state.status;
        let mut tell = false;
        let event = match (is_broken, before) {
            (false, AlertStatus::Ok) => None,
            (false, AlertStatus::Pending) => {
                state.enter(AlertStatus::Ok, now);
                None
            }
            (false, AlertStatus::Firing) => {
                tell = state.told;
                state.resolve(now);
                Some(EventType::AlertResolved)
            }
            (true, AlertStatus::Ok | AlertStatus::Pending) => {
                if before == AlertStatus::Ok {
                    state.enter(AlertStatus::Pending, now);
                }
                let has_lasted = now.since(state.since) >= settings.after(self);
                tell = has_lasted && is_about_jobs;
                has_lasted.then(|| state.fire(tell, now))
            }
            (true, AlertStatus::Firing) => {
                let event = state.remind(settings.renotify, is_about_jobs, now);
                tell = event.is_some() && is_about_jobs;
                event
            }
        };
        let value = settings.value(self, figures, now);
        let is_stale = state.status == AlertStatus::Firing
            && now.since(state.updated_at) >= limits::ALERT_REFRESH
            && value != state.value;
        if event.is_some() || state.status != before || is_stale {
            state.updated_at = now;
            state.value = value;
            state.threshold = settings.threshold(self);
            state.message = settings.message(&state, figures, now);
        }
        (known != Some(&state)).then_some(AlertChange { state, event, tell })
    }
}

impl AlertState {
    fn new(settings: &AlertSettings, rule: AlertRule, tenant: Tenant, now: Timestamp) -> Self {
        Self {
            rule,
            tenant,
            status: AlertStatus::Ok,
            since: now,
            fired_at: None,
            notified_at: None,
            resolved_at: None,
            told: false,
            updated_at: now,
            value: settings.value(rule, &Figures::default(), now),
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

    fn fire(&mut self, tell: bool, now: Timestamp) -> EventType {
        self.status = AlertStatus::Firing;
        self.fired_at = Some(now);
        self.notified_at = Some(now);
        self.resolved_at = None;
        self.told = tell;
        EventType::AlertFired
    }

    /// An alert that endpoints do not know of has not fired for them.
    fn remind(&mut self, every: Duration, tell: bool, now: Timestamp) -> Option<EventType> {
        let event = match self.notified_at {
            _ if tell && !self.told => EventType::AlertFired,
            Some(last) if now.since(last) < every => return None,
            _ => EventType::AlertRenotified,
        };
        self.told |= tell;
        self.notified_at = Some(now);
        Some(event)
    }

    fn resolve(&mut self, now: Timestamp) {
        self.enter(AlertStatus::Ok, now);
        self.resolved_at = Some(now);
        self.told = false;
    }
}

impl AlertChange {
    /// What endpoints are told.
    pub fn news(&self) -> Option<News> {
        let event = self.event.filter(|_| self.tell)?;
        let AlertState { rule, tenant, .. } = &self.state;
        let at = self.state.updated_at;
        Some(News {
            event,
            tenant: tenant.clone(),
            at,
            data: json!(self.state),
            text: self.sentence(event),
            seed: format!("{rule} {}", at.as_micros()),
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
