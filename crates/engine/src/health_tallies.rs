//! How attempts ended that this node has settled, by destination, until the health keeper reports it.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{
    Destination, EndedAttempt, Gates, HealthReport, HealthTally, HoldMode, Outcome, Tenant,
    Timestamp,
};
use tokio::sync::Notify;

use crate::limits::{HEALTH_REPORT_EVERY, HEALTH_REPORTS_MAX, TALLIES_MAX, TALLIES_PER_TENANT_MAX};

/// What this node has counted and not yet reported.
#[derive(Default)]
pub struct HealthTallies {
    tallies: Mutex<Tallies>,
    /// A destination has asked its callers to wait.
    urgent: Notify,
}

#[derive(Default)]
struct Tallies {
    by_destination: HashMap<Destination, Entry>,
    /// How many of them a tenant was the first to call.
    by_tenant: HashMap<Tenant, usize>,
}

struct Entry {
    tally: HealthTally,
    /// Whose attempt was counted first.
    tenant: Tenant,
    /// Taken out, and not known to be stored.
    unsaved: Option<HealthReport>,
    /// The next report is made no earlier.
    report_at: Timestamp,
}

impl HealthTallies {
    /// Counts an attempt whose end is stored.
    pub fn add(&self, ended: &EndedAttempt, gates: &Gates) {
        let job = ended.job();
        let Some(destination) = &job.destination else {
            return;
        };
        if matches!(ended.outcome(), Outcome::Released { started: false }) {
            return;
        }
        let mut tallies = self.lock();
        let Some(entry) = tallies.entry(destination, &job.tenant) else {
            return;
        };
        let health = gates.health(destination).map(AsRef::as_ref);
        match gates.hold_mode(&job.tenant, destination) {
            HoldMode::Off => entry.tally.add_unwatched(ended),
            HoldMode::Watch | HoldMode::Auto => entry.tally.add(ended, health),
        }
        if let Some(told) = entry.tally.retry_after() {
            let known = health.and_then(|health| health.retry_after(ended.ended_at()));
            let is_news = known.is_none_or(|known| known.until < told.until);
            // Those that were under way receive the same a moment later.
            if is_news && (known.is_none() || entry.report_at <= ended.ended_at()) {
                entry.report_at = Timestamp::EPOCH;
                self.urgent.notify_one();
            }
        }
    }

    /// What should be reported now: the same again until [`HealthTallies::saved`] is called.
    pub fn reports(&self, node: &str, gates: &Gates, now: Timestamp) -> Vec<UnsavedReport> {
        let mut tallies = self.lock();
        let mut due = tallies.due(gates, now);
        due.sort_unstable();
        due.truncate(HEALTH_REPORTS_MAX);
        let due = due.into_iter();
        due.filter_map(|(_, destination)| {
            let entry = tallies.by_destination.get_mut(&destination)?;
            entry.report_at = now.plus(HEALTH_REPORT_EVERY);
            let report = entry
                .unsaved
                .get_or_insert_with(|| entry.tally.take_report(node, now));
            Some(UnsavedReport {
                report: report.clone(),
                tenant: entry.tenant.clone(),
                destination,
            })
        })
        .collect()
    }

    /// A report is stored, or of no use.
    pub fn saved(&self, destination: &Destination) {
        if let Some(entry) = self.lock().by_destination.get_mut(destination) {
            entry.unsaved = None;
        }
    }

    /// Returns when a report should not wait.
    pub async fn urgent(&self) {
        self.urgent.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A report that the keeper should add to what is stored.
pub struct UnsavedReport {
    pub destination: Destination,
    pub report: HealthReport,
    pub tenant: Tenant,
}

impl Tallies {
    /// `None` if there are too many: those that come later are not watched.
    fn entry(&mut self, destination: &Destination, tenant: &Tenant) -> Option<&mut Entry> {
        let Self {
            by_destination,
            by_tenant,
        } = self;
        if !by_destination.contains_key(destination) {
            let of_tenant = by_tenant.entry(tenant.clone()).or_default();
            if by_destination.len() >= TALLIES_MAX || *of_tenant >= TALLIES_PER_TENANT_MAX {
                return None;
            }
            *of_tenant += 1;
            let entry = Entry {
                tally: HealthTally::default(),
                tenant: tenant.clone(),
                unsaved: None,
                report_at: Timestamp::EPOCH,
            };
            by_destination.insert(destination.clone(), entry);
        }
        by_destination.get_mut(destination)
    }

    /// Destinations with news, and since when they wait to be reported. Forgets those without.
    fn due(&mut self, gates: &Gates, now: Timestamp) -> Vec<(Timestamp, Destination)> {
        let Self {
            by_destination,
            by_tenant,
        } = self;
        let mut due = Vec::new();
        by_destination.retain(|destination, entry| {
            let health = gates.health(destination).map(AsRef::as_ref);
            let rules = gates.health_rules(destination);
            let has_news =
                entry.unsaved.is_some() || entry.tally.is_worth_reporting(health, &rules, now);
            // A time further ahead was set before the clock was.
            let may_report =
                entry.report_at <= now || entry.report_at > now.plus(HEALTH_REPORT_EVERY);
            if has_news && may_report {
                due.push((entry.report_at, destination.clone()));
            }
            let is_kept = has_news || !entry.tally.is_empty();
            if !is_kept && let Some(of_tenant) = by_tenant.get_mut(&entry.tenant) {
                *of_tenant -= 1;
                if *of_tenant == 0 {
                    by_tenant.remove(&entry.tenant);
                }
            }
            is_kept
        });
        due
    }
}
