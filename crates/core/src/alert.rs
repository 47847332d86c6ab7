//! Alerts: what is wrong with a tenant's jobs, reported once.
//!
//! A threshold alone makes a bad alert: it notifies at every check, and forgets at a restart that it
//! has. So each rule has a stored state per tenant, and [`AlertRule::step`] is the one place that
//! changes it, whichever node checks and however often.

mod change;
mod id;
mod metric;
mod observation;
mod reading;
mod settings;
mod state;

use std::{fmt, str::FromStr, time::Duration};

use crate::{
    explain,
    values::{Kind, Queue, string_enum},
};

pub use change::AlertChange;
pub use observation::{
    AlertMetrics, AlertObservation, ForecastTrust, ObservedDestination, UpcomingJobs,
};
pub use settings::{
    AlertSettings, DlqAlert, ExhaustedAlert, NewFailureAlert, OverdueAlert, RetryRateAlert,
    SimpleAlert, StormAlert,
};
pub use state::{AlertAcknowledgement, AlertCommand, AlertState};

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
        /// Nodes cannot use the TLS certificate in their files. Of the default tenant: nodes
        /// belong to none.
        Certificate = "certificate",
        /// A kept certificate says that a system would not recover from an outage.
        Fragile = "fragile",
        /// Nodes had to correct stored times: a clock was ahead, or a schedule had lost its next
        /// tick. Of the default tenant: nodes belong to none.
        Corrected = "corrected",
        /// Nodes refuse most creates because commits take too long. Of the default tenant, too.
        StoreSlow = "store_slow",
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
            Self::Certificate | Self::Corrected | Self::StoreSlow => AlertUnit::Nodes,
            Self::Fragile => AlertUnit::Certificates,
        }
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
        /// A number of nodes.
        Nodes = "nodes",
        /// A number of kept certificates.
        Certificates = "certificates",
    }
}

impl AlertUnit {
    /// A figure, for people: `3`, `12.5%` or `7m`.
    pub fn format(self, figure: f64) -> String {
        match self {
            Self::Jobs | Self::Causes | Self::Nodes | Self::Certificates => figure.to_string(),
            Self::Share => format!("{}%", (figure * 1_000.0).round() / 10.0),
            Self::Seconds => {
                format_seconds(Duration::try_from_secs_f64(figure).unwrap_or_default())
            }
        }
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

/// A duration in two units at most, without fractions of a second, which mean nothing in an alert.
fn format_seconds(duration: Duration) -> String {
    explain::brief(Duration::from_secs(duration.as_secs()))
}
