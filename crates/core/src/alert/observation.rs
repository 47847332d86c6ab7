//! The figures that a check of the rules finds: counts of jobs, the health of a destination, causes
//! of failures and upcoming jobs.

use std::{collections::BTreeMap, ops::AddAssign, time::Duration};

use super::{AlertRule, AlertSettings, AlertSubject, id::state_id};
use crate::{
    failure::FailureFingerprint,
    failure_group::{FailureGroup, FailureState},
    flow::{Incident, IncidentCause},
    forecast::due::DueForecast,
    job::tally::Tally,
    limits,
    values::{Destination, Queue, Tenant, Timestamp},
};

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
    /// The fingerprints of those that are failures of jobs.
    pub newest_failures: BTreeMap<AlertRule, FailureFingerprint>,
}

/// A system that jobs call, as an alert sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedDestination {
    /// Which one.
    pub destination: Destination,
    /// The newest failure there, for people.
    pub newest_failure: Option<String>,
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
            newest_failures: BTreeMap::new(),
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
        let fingerprint = group.key.fingerprint;
        self.newest_failures.entry(rule).or_insert(fingerprint);
        self.newest_causes
            .entry(rule)
            .or_insert_with(|| format!("{} ({fingerprint})", group.summary()));
    }

    /// Adds a node that cannot use its certificate, and why.
    pub fn add_certificate_problem(&mut self, problem: String) {
        self.metrics.bad_certificates += 1;
        let first = self.newest_causes.entry(AlertRule::Certificate);
        first.or_insert(problem);
    }

    /// Adds a kept certificate that says that its system does not recover, and its words.
    pub fn add_fragile(&mut self, sentence: String) {
        self.metrics.fragile += 1;
        let first = self.newest_causes.entry(AlertRule::Fragile);
        first.or_insert(sentence);
    }

    /// Adds a node that had to correct stored times, and what it corrected.
    pub fn add_correction(&mut self, correction: String) {
        self.metrics.corrections += 1;
        let first = self.newest_causes.entry(AlertRule::Corrected);
        first.or_insert(correction);
    }

    /// Adds a node that refuses most creates because the store is slow, and how slow it is.
    pub fn add_store_problem(&mut self, problem: String) {
        self.metrics.nodes_with_slow_store += 1;
        let first = self.newest_causes.entry(AlertRule::StoreSlow);
        first.or_insert(problem);
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
        let destination = self.destination.as_ref().map(|it| &it.destination);
        state_id(&self.tenant, self.subject, rule, destination)
    }

    /// The queue that contributes most to what the rule measures, and whether it is the only one.
    pub(super) fn worst_queue(&self, rule: AlertRule) -> Option<(&Queue, bool)> {
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
            AlertRule::Destination
            | AlertRule::NewFailure
            | AlertRule::Regressed
            | AlertRule::Certificate
            | AlertRule::Fragile
            | AlertRule::Corrected
            | AlertRule::StoreSlow => 0,
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
    /// Nodes that cannot use the TLS certificate in their files.
    pub bad_certificates: u64,
    /// Kept certificates that say that their systems do not recover.
    pub fragile: u64,
    /// Nodes that had to correct stored times lately.
    pub corrections: u64,
    /// Nodes that refuse most creates because the store is slow.
    pub nodes_with_slow_store: u64,
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
        self.bad_certificates += other.bad_certificates;
        self.fragile += other.fragile;
        self.corrections += other.corrections;
        self.nodes_with_slow_store += other.nodes_with_slow_store;
    }
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

/// How far a forecast can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForecastTrust {
    /// When the first attempt of the last day ended.
    pub oldest_attempt: Option<Timestamp>,
    /// The relative error of the forecasts of the last hours, if it is known.
    pub error: Option<f64>,
}

impl UpcomingJobs {
    /// The upcoming jobs of a forecast, if they are more than the throughput allows. Few jobs do not
    /// count, nor do forecasts without measurements, of young queues, or that were wrong lately.
    pub fn of(forecast: &DueForecast, trust: ForecastTrust) -> Option<Self> {
        let history = forecast.from.since(trust.oldest_attempt?);
        let is_wrong = trust.error.is_some_and(|it| it > limits::STORM_ERROR_MAX);
        if history < limits::STORM_HISTORY_MIN || is_wrong {
            return None;
        }
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
