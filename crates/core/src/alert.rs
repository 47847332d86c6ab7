//! Alerts: what is wrong with a tenant's jobs, reported once.
//!
//! A threshold alone makes a bad alert: it notifies at every check, and forgets at a restart that it
//! has. So each rule has a stored state per tenant, and [`AlertRule::step`] is the one place that
//! changes it, whichever node checks and however often.

mod metric;
mod reading;
mod settings;

use std::{collections::BTreeMap, fmt, ops::AddAssign, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    explain,
    failure_group::{FailureGroup, FailureState},
    flow::{Incident, IncidentCause},
    forecast::due::DueForecast,
    job::{tally::Tally, webhook::EventType},
    limits,
    values::{Destination, Kind, Queue, Tenant, Timestamp, string_enum},
    webhook::delivery::WebhookEvent,
};

pub use settings::{
    AlertSettings, DestinationAlert, DlqAlert, ExhaustedAlert, NewFailureAlert, OverdueAlert,
    RegressedAlert, RetryRateAlert, StormAlert,
};

string_enum! {
    /// The rule of an alert.
    #[non_exhaustive]
    AlertRule, "rule" {
        /// There are dead letters.
        Dlq = "dlq",
        /// Too many of the attempts are retries.
        RetryRate = "retry_rate",
        /// Too many jobs ran out of retries.
        Exhausted = "exhausted",
        /// A job that could be claimed has waited too long.
        Overdue = "overdue",
        /// A system that jobs call does not work. Each has a state of its own.
        Destination = "destination",
        /// Jobs fail for a cause that was never seen before.
        NewFailure = "new_failure",
        /// Jobs fail for a cause that counted as fixed.
        Regressed = "regressed",
        /// More jobs are coming than can be worked off in time.
        Storm = "storm",
    }
}

string_enum! {
    /// The unit of the numbers of an alert.
    // Exhaustive on purpose: pages must format each.
    AlertUnit, "unit" {
        /// A number of jobs.
        Jobs = "jobs",
        /// A share of attempts, from 0 to 1.
        Share = "share",
        /// A time in seconds.
        Seconds = "seconds",
        /// A number of causes of failures.
        Causes = "causes",
    }
}

string_enum! {
    /// Where an alert stands.
    // Exhaustive on purpose: pages and notifications must handle each.
    AlertStatus, "status" {
        /// Its rule is kept.
        Ok = "ok",
        /// Its rule is broken, but not for long enough yet.
        Pending = "pending",
        /// Its rule has been broken for long enough: endpoints are notified.
        Firing = "firing",
    }
}

string_enum! {
    /// Which of a tenant's jobs an alert is about. Each subject has states of its own, so that a
    /// failed delivery that waits for a person does not hide failed jobs.
    #[non_exhaustive]
    AlertSubject, "subject" {
        /// All jobs that are not deliveries.
        Jobs = "jobs",
        /// Deliveries of job events to webhooks.
        Deliveries = "deliveries",
        /// Deliveries of alert events. Watched, but endpoints are not notified: a failed
        /// notification would cause the next one.
        Notifications = "notifications",
    }
}

impl AlertSubject {
    /// The subject that a job of this kind and queue belongs to.
    pub fn of(kind: &Kind, queue: &Queue) -> Self {
        if *kind != Kind::webhook() {
            Self::Jobs
        } else if *queue == Queue::alerts() {
            Self::Notifications
        } else {
            Self::Deliveries
        }
    }
}

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

/// The figures of one tenant and subject at one check.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertObservation {
    /// The tenant whose jobs were counted.
    pub tenant: Tenant,
    /// The part of the tenant's jobs that was counted.
    pub subject: AlertSubject,
    /// The counts of all queues together.
    pub metrics: AlertMetrics,
    /// The counts of each queue.
    pub queues: BTreeMap<Queue, AlertMetrics>,
    /// The system that was looked at, if it was one, and not the tenant's jobs.
    pub destination: Option<ObservedDestination>,
    /// The newest cause of failures that a rule counts, for people.
    pub newest_causes: BTreeMap<AlertRule, String>,
}

/// A system that jobs call, as an alert sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedDestination {
    /// Which one.
    pub destination: Destination,
    /// The newest failure there, for people.
    pub newest_failure: Option<String>,
}

/// The figures that alert rules measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AlertMetrics {
    /// Jobs that ended `failed` and were not resolved yet.
    pub dead_letters: u64,
    /// Attempts that ended within the window.
    pub recent: Tally,
    /// `runAt` of the ready job that has been due longest; `None` if no job is ready.
    pub oldest_ready: Option<Timestamp>,
    /// The share of attempts that failed at a destination that does not work; 0 if it works.
    pub failed_share: f64,
    /// Causes of failures that are new, and have made enough of them.
    pub new_causes: u64,
    /// Causes of failures that counted as fixed.
    pub regressed_causes: u64,
    /// The upcoming jobs, if they are more than the throughput allows.
    pub upcoming: Option<UpcomingJobs>,
}

/// Jobs that are coming, of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UpcomingJobs {
    /// How long the last of those that are due at the same time has to wait.
    pub wait: Duration,
    /// How many are due at the same time.
    pub jobs: u64,
    /// Attempts that lately succeeded in a minute.
    pub throughput_per_minute: u64,
}

impl UpcomingJobs {
    /// The upcoming jobs of a forecast, if they are more than the throughput allows. Few jobs do not
    /// count, nor do forecasts without measurements.
    pub fn of(forecast: &DueForecast) -> Option<Self> {
        let jobs = forecast.peak_backlog();
        let (wait, throughput) = (forecast.longest_wait()?, forecast.throughput_per_minute?);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of jobs"
        )]
        (jobs >= limits::STORM_JOBS_MIN).then_some(Self {
            wait,
            jobs: jobs as u64,
            throughput_per_minute: throughput,
        })
    }
}

/// A change of an alert's state, to be written and, if it has an event, notified.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AlertChange {
    /// The new state.
    pub state: AlertState,
    /// The event for endpoints; `None` if there is none.
    pub event: Option<EventType>,
}

impl AddAssign for AlertMetrics {
    fn add_assign(&mut self, other: Self) {
        self.dead_letters += other.dead_letters;
        self.recent += other.recent;
        let both = self.oldest_ready.into_iter().chain(other.oldest_ready);
        self.oldest_ready = both.min();
        self.failed_share = self.failed_share.max(other.failed_share);
        self.new_causes += other.new_causes;
        self.regressed_causes += other.regressed_causes;
        self.upcoming = self.upcoming.max(other.upcoming);
    }
}

impl AlertRule {
    /// The unit of the rule.
    pub fn unit(self) -> AlertUnit {
        match self {
            Self::Dlq | Self::Exhausted => AlertUnit::Jobs,
            Self::RetryRate | Self::Destination => AlertUnit::Share,
            Self::Overdue | Self::Storm => AlertUnit::Seconds,
            Self::NewFailure | Self::Regressed => AlertUnit::Causes,
        }
    }

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
            (true, AlertStatus::Firing) => {
                // Another cause is news, but of many that come together one notification is enough.
                let is_news = self.unit() == AlertUnit::Causes && value > state.value;
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
            && (value != state.value || queue != state.queue.as_ref());
        if event.is_some() || state.status != before || is_stale {
            state.updated_at = now;
            state.unit = self.unit();
            state.value = value;
            state.queue = queue.cloned();
            state.threshold = settings.threshold(self);
            let is_only = worst.is_some_and(|(_, is_only)| is_only);
            state.message = match &observed.destination {
                Some(observed) => settings.destination_message(&state, observed),
                None if self.unit() == AlertUnit::Causes => {
                    settings.cause_message(&state, observed.newest_causes.get(&self))
                }
                None => settings.message(&state, is_only, &observed.metrics, now),
            };
        }
        (stored != Some(&state)).then_some(AlertChange { state, event })
    }
}

impl AlertObservation {
    /// The counts of the queues of a tenant.
    pub fn new(
        tenant: Tenant,
        subject: AlertSubject,
        queues: BTreeMap<Queue, AlertMetrics>,
    ) -> Self {
        let mut metrics = AlertMetrics::default();
        for of_queue in queues.values() {
            metrics += *of_queue;
        }
        Self {
            tenant,
            subject,
            metrics,
            queues,
            destination: None,
            newest_causes: BTreeMap::new(),
        }
    }

    /// Adds a group of failures of the tenant that is new or regressed; the newest come first.
    pub fn add_failure(&mut self, group: &FailureGroup, settings: &AlertSettings, now: Timestamp) {
        let (rule, count) = match group.state(now) {
            FailureState::New if group.tally.count >= settings.new_failure.min_failures => {
                (AlertRule::NewFailure, &mut self.metrics.new_causes)
            }
            FailureState::Regressed => (AlertRule::Regressed, &mut self.metrics.regressed_causes),
            _ => return,
        };
        *count += 1;
        self.newest_causes
            .entry(rule)
            .or_insert_with(|| format!("{} ({})", group.summary(), group.key.fingerprint));
    }

    /// The state of a system that a tenant's jobs call.
    pub fn of_destination(
        tenant: Tenant,
        destination: Destination,
        incident: Option<&Incident>,
    ) -> Self {
        let mut observed = Self::new(tenant, AlertSubject::Jobs, BTreeMap::new());
        let mut newest_failure = None;
        if let Some(IncidentCause::Failures {
            attempts,
            failed,
            newest,
            ..
        }) = incident.map(|incident| &incident.cause)
        {
            observed.metrics.failed_share = f64::from(*failed) / f64::from((*attempts).max(1));
            newest_failure.clone_from(newest);
        }
        observed.destination = Some(ObservedDestination {
            destination,
            newest_failure,
        });
        observed
    }

    /// The rules that it is about.
    pub fn rules(&self) -> impl Iterator<Item = AlertRule> {
        let is_of_destination = self.destination.is_some();
        let all = AlertRule::ALL.iter().copied();
        all.filter(move |rule| (*rule == AlertRule::Destination) == is_of_destination)
    }

    /// The key of the stored state of a rule.
    pub fn state_id(&self, rule: AlertRule) -> String {
        let id = format!("{}/{}/{rule}", self.tenant, self.subject);
        match &self.destination {
            Some(observed) => format!("{id}/{}", observed.destination),
            None => id,
        }
    }

    /// The queue that contributes most to what the rule measures, and whether it is the only one.
    fn worst_queue(&self, rule: AlertRule) -> Option<(&Queue, bool)> {
        let share = |metrics: &AlertMetrics| match rule {
            AlertRule::Dlq => metrics.dead_letters,
            AlertRule::RetryRate => metrics.recent.retries,
            AlertRule::Exhausted => metrics.recent.exhausted,
            // Only the oldest job counts.
            AlertRule::Overdue => {
                let oldest = self.metrics.oldest_ready;
                u64::from(oldest.is_some() && metrics.oldest_ready == oldest)
            }
            // Only the longest wait counts.
            AlertRule::Storm => {
                let worst = self.metrics.upcoming;
                u64::from(worst.is_some() && metrics.upcoming == worst)
            }
            AlertRule::Destination | AlertRule::NewFailure | AlertRule::Regressed => 0,
        };
        let (mut worst, mut queues) = (None, 0_usize);
        for (queue, metrics) in &self.queues {
            let share = share(metrics);
            queues += usize::from(share > 0);
            if share > worst.map_or(0, |(most, _)| most) {
                worst = Some((share, queue));
            }
        }
        worst.map(|(_, queue)| (queue, queues == 1))
    }
}

impl AlertUnit {
    /// A figure, for people: `3`, `12.5%` or `7m`.
    pub fn format(self, figure: f64) -> String {
        match self {
            Self::Jobs | Self::Causes => figure.to_string(),
            Self::Share => format!("{}%", (figure * 1_000.0).round() / 10.0),
            Self::Seconds => {
                format_seconds(Duration::try_from_secs_f64(figure).unwrap_or_default())
            }
        }
    }
}

impl AlertState {
    fn new(
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
    fn as_of(&self, now: Timestamp) -> Self {
        Self {
            since: self.since.min(now),
            notified_at: self.notified_at.map(|at| at.min(now)),
            updated_at: self.updated_at.min(now),
            unit: self.rule.unit(),
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

/// A duration in two units at most, without fractions of a second, which mean nothing in an alert.
fn format_seconds(duration: Duration) -> String {
    explain::brief(Duration::from_secs(duration.as_secs()))
}
