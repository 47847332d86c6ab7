//! How attempts ended that this node has settled, by destination, until the health keeper reports it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{
    Destination, DestinationHealth, EndedAttempt, Gates, HealthReport, HealthSubject, HealthTally,
    HoldMode, Outcome, Tenant, Timestamp,
};
use tokio::sync::Notify;

use crate::limits::{HEALTH_REPORT_EVERY, HEALTH_REPORTS_MAX, TALLIES_MAX, TALLIES_PER_TENANT_MAX};

/// The counts of this node that it has not reported yet.
#[derive(Default)]
pub struct HealthTallies {
    tallies: Mutex<Tallies>,
    /// A destination has asked its callers to wait.
    urgent: Notify,
}

#[derive(Default)]
struct Tallies {
    by_subject: HashMap<HealthSubject, Entry>,
    /// How many of them were first called for a tenant.
    by_tenant: HashMap<Tenant, usize>,
}

struct Entry {
    tally: HealthTally,
    /// The tenant of the first counted attempt.
    tenant: Tenant,
    /// Taken out, and not known to be stored.
    unsaved: Option<HealthReport>,
    /// The next report is made no earlier.
    report_at: Timestamp,
}

impl HealthTallies {
    /// Counts an attempt whose end is stored: for its tenant, and for all if it was a call that this
    /// node has made itself. A tenant chooses which destination its jobs name, and what its workers
    /// report.
    pub fn add(&self, ended: &EndedAttempt, is_own_call: bool, gates: &Gates) {
        let job = ended.job();
        let Some(destination) = &job.destination else {
            return;
        };
        if matches!(ended.outcome(), Outcome::Released { started: false }) {
            return;
        }
        let is_watched = gates.hold_mode(&job.tenant, destination) != HoldMode::Off;
        let health = |tenant| gates.health(destination, tenant).map(AsRef::as_ref);
        let for_all = HealthSubject::from(destination.clone());
        let own = HealthSubject::of_tenant(destination, &job.tenant);
        let mut tallies = self.lock();
        if let Some(entry) = tallies.entry(&own, &job.tenant) {
            if is_watched {
                entry.tally.add(ended, health(Some(&job.tenant)));
            }
            if !is_own_call {
                self.add_retry_after(entry, ended, health(Some(&job.tenant)));
            }
        }
        let is_known = health(None).is_some_and(|health| !health.is_quiet());
        if !is_own_call && !is_known {
            return;
        }
        if let Some(entry) = tallies.entry(&for_all, &job.tenant) {
            match is_own_call {
                true if is_watched => entry.tally.add_for_all(ended, health(None)),
                true => {}
                false => entry.tally.add_unclear(ended),
            }
            if is_own_call {
                self.add_retry_after(entry, ended, health(None));
            }
        }
    }

    fn add_retry_after(
        &self,
        entry: &mut Entry,
        ended: &EndedAttempt,
        health: Option<&DestinationHealth>,
    ) {
        entry.tally.add_retry_after(ended);
        let Some(retry_after) = entry.tally.retry_after() else {
            return;
        };
        let known = health.and_then(|health| health.retry_after(ended.ended_at()));
        let is_news = known.is_none_or(|known| known.until < retry_after.until);
        // Those that were under way receive the same a moment later.
        if is_news && (known.is_none() || entry.report_at <= ended.ended_at()) {
            entry.report_at = Timestamp::EPOCH;
            self.urgent.notify_one();
        }
    }

    /// The reports that are due: the same ones until [`HealthTallies::saved`] is called.
    pub fn reports(&self, node: &str, gates: &Gates, now: Timestamp) -> Vec<UnsavedReport> {
        let mut tallies = self.lock();
        let mut due = tallies.due(gates, now);
        due.sort_unstable();
        due.truncate(HEALTH_REPORTS_MAX);
        let due = due.into_iter();
        due.filter_map(|(_, subject)| {
            let entry = tallies.by_subject.get_mut(&subject)?;
            entry.report_at = now.plus(HEALTH_REPORT_EVERY);
            let report = entry
                .unsaved
                .get_or_insert_with(|| entry.tally.take_report(node, now));
            Some(UnsavedReport {
                report: report.clone(),
                tenant: entry.tenant.clone(),
                subject,
            })
        })
        .collect()
    }

    /// A report is stored, or of no use.
    pub fn saved(&self, subject: &HealthSubject) {
        if let Some(entry) = self.lock().by_subject.get_mut(subject) {
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
    pub subject: HealthSubject,
    pub report: HealthReport,
    pub tenant: Tenant,
}

impl Tallies {
    /// `None` if there are too many: those that come later are not watched.
    fn entry(&mut self, subject: &HealthSubject, tenant: &Tenant) -> Option<&mut Entry> {
        let Self {
            by_subject,
            by_tenant,
        } = self;
        if !by_subject.contains_key(subject) {
            let of_tenant = by_tenant.entry(tenant.clone()).or_default();
            if by_subject.len() >= TALLIES_MAX || *of_tenant >= TALLIES_PER_TENANT_MAX {
                return None;
            }
            *of_tenant += 1;
            let entry = Entry {
                tally: HealthTally::default(),
                tenant: tenant.clone(),
                unsaved: None,
                report_at: Timestamp::EPOCH,
            };
            by_subject.insert(subject.clone(), entry);
        }
        by_subject.get_mut(subject)
    }

    /// What there is news of, and since when it waits to be reported. Forgets the rest.
    fn due(&mut self, gates: &Gates, now: Timestamp) -> Vec<(Timestamp, HealthSubject)> {
        let Self {
            by_subject,
            by_tenant,
        } = self;
        let mut due = Vec::new();
        by_subject.retain(|subject, entry| {
            let has_news = entry.unsaved.is_some() || entry.has_news(subject, gates, now);
            // A time further ahead was set before the clock was.
            let may_report =
                entry.report_at <= now || entry.report_at > now.plus(HEALTH_REPORT_EVERY);
            if has_news && may_report {
                due.push((entry.report_at, subject.clone()));
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

impl Entry {
    fn has_news(&mut self, subject: &HealthSubject, gates: &Gates, now: Timestamp) -> bool {
        let HealthSubject {
            destination,
            tenant,
        } = subject;
        let health = gates.health(destination, tenant.as_ref());
        let health = health.map(AsRef::as_ref);
        let rules = gates.health_rules(destination);
        if !self.tally.is_worth_reporting(health, &rules, now) {
            return false;
        }
        let asks_to_wait = self.tally.retry_after().is_some();
        let has_incident = |health: Option<&DestinationHealth>| {
            health.is_some_and(|health| health.incident().is_some())
        };
        match tenant {
            // What is wrong for all is wrong for this one as well.
            Some(_) => {
                let for_all = gates.health(destination, None).map(AsRef::as_ref);
                asks_to_wait || has_incident(health) || !has_incident(for_all)
            }
            // What only one tenant sees is its own affair.
            None => asks_to_wait || health.is_some() || self.is_seen_by_several(destination, gates),
        }
    }

    fn is_seen_by_several(&self, destination: &Destination, gates: &Gates) -> bool {
        let elsewhere = gates.healths_of(destination);
        let elsewhere = elsewhere.filter_map(|(tenant, _)| tenant);
        let tenants: HashSet<&Tenant> = self.tally.tenants().chain(elsewhere).collect();
        tenants.len() > 1
    }
}
