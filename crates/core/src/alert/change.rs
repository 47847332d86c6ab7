//! How a check changes an alert: the new state, and the event that endpoints are sent.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    AlertObservation, AlertRule, AlertSettings, AlertState, AlertStatus, AlertSubject, AlertUnit,
    format_seconds,
};
use crate::{job::webhook::EventType, limits, values::Timestamp, webhook::delivery::WebhookEvent};

/// A change of an alert's state, to be written and, if it has an event, notified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AlertChange {
    /// The new state.
    pub state: AlertState,
    /// The event for endpoints; `None` if there is none.
    pub event: Option<EventType>,
}

impl AlertRule {
    /// Decides how an observation changes an alert; `None` if there is nothing to write. `stored` is
    /// the state after the last check, if there was one.
    pub fn step(
        self,
        settings: &AlertSettings,
        stored: Option<&AlertState>,
        observed: &AlertObservation,
        now: Timestamp,
    ) -> Option<AlertChange> {
        let is_broken = settings.is_broken(self, &observed.metrics, now);
        let mut state = match stored {
            Some(stored) => stored.as_of(now),
            None if !is_broken => return None,
            None => AlertState::new(settings, self, observed, now),
        };
        let before = state.status;
        let value = settings.value(self, &observed.metrics, now);
        let event = match (is_broken, before) {
            (false, AlertStatus::Ok) => None,
            (false, AlertStatus::Pending) => {
                state.enter(AlertStatus::Ok, now);
                None
            }
            (false, AlertStatus::Firing) => state.resolve(now),
            (true, AlertStatus::Ok | AlertStatus::Pending) => {
                if before == AlertStatus::Ok {
                    state.enter(AlertStatus::Pending, now);
                }
                let has_lasted = now.since(state.since) >= settings.after(self);
                if has_lasted { state.fire(now) } else { None }
            }
            (true, AlertStatus::Firing) => {
                // Another cause is news, but of many that come together one notification is enough.
                let is_news = self.unit() == AlertUnit::Causes && value > state.value;
                if is_news {
                    state.acknowledged = None;
                }
                let every = match is_news {
                    true => limits::ALERT_CAUSES_EVERY.min(settings.renotify),
                    false => settings.renotify,
                };
                state.remind(every, now)
            }
        };
        let is_kept = state.status == AlertStatus::Ok;
        let worst = if is_kept {
            None
        } else {
            observed.worst_queue(self)
        };
        let queue = worst.map(|(queue, _)| queue);
        let is_stale = !is_kept
            && now.since(state.updated_at) >= limits::ALERT_REFRESH
            && (value != state.value
                || queue != state.queue.as_ref()
                || self.names_another(settings, &state, observed, now));
        if event.is_some() || state.status != before || is_stale {
            state.updated_at = now;
            state.unit = self.unit();
            state.value = value;
            state.queue = queue.cloned();
            let newest = observed.newest_failures.get(&self);
            state.fingerprint = newest.filter(|_| !is_kept).copied();
            state.threshold = settings.threshold(self);
            let is_only = worst.is_some_and(|(_, is_only)| is_only);
            state.message = settings.sentence(&state, observed, is_only, now);
        }
        (stored != Some(&state)).then_some(AlertChange { state, event })
    }
}

impl AlertRule {
    /// Whether as many nodes or certificates as before are bad, but not the same ones.
    fn names_another(
        self,
        settings: &AlertSettings,
        state: &AlertState,
        observed: &AlertObservation,
        now: Timestamp,
    ) -> bool {
        let is_named = matches!(self, Self::Certificate | Self::Fragile | Self::Corrected);
        is_named && settings.sentence(state, observed, false, now) != state.message
    }
}

impl AlertChange {
    /// What the tenant's endpoints are sent; `None` if there is no event, or if it is about
    /// notifications themselves.
    pub fn webhook_event(&self) -> Option<WebhookEvent> {
        let event = self.event?;
        let AlertState { rule, tenant, .. } = &self.state;
        if self.state.subject == AlertSubject::Notifications {
            return None;
        }
        let at = self.state.updated_at;
        let about = self.state.destination.as_ref();
        let about = about.map_or(String::new(), |destination| format!(" {destination}"));
        Some(WebhookEvent {
            event,
            tenant: tenant.clone(),
            at,
            data: json!(self.state),
            text: self.sentence(event),
            seed: format!("{} {rule} {}{about}", self.state.subject, at.as_micros()),
            tags: BTreeMap::from([("alert".to_owned(), rule.to_string())]),
            traceparent: None,
        })
    }

    /// The event as a sentence for people.
    pub fn sentence(&self, event: EventType) -> String {
        let AlertState {
            rule,
            fired_at,
            message,
            updated_at,
            ..
        } = &self.state;
        let lasted = format_seconds(updated_at.since(fired_at.unwrap_or(*updated_at)));
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
