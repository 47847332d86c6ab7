//! How attempts ended that this node has settled, by destination, until the health keeper reports it.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use steadfast_core::{
    Destination, DestinationHealth, EndedAttempt, Gates, HealthReport, HealthSubject, HealthTally,
    HoldMode, Outcome, RetryAfterScope, SharedQuota, SharedRetryAfter, Tenant, Timestamp,
    limits::RETRY_AFTER_OF_TWO,
};
use tokio::sync::Notify;

use crate::limits::{
    HEALTH_REPORT_EVERY, HEALTH_REPORTS_MAX, REFUSED_HELD_MAX, TALLIES_MAX, TALLIES_PER_TENANT_MAX,
};

/// The counts of this node that it has not reported yet.
#[derive(Default)]
pub struct HealthTallies {
    tallies: Mutex<Tallies>,
    /// A destination has asked its callers to wait, or refused a call.
    urgent: Notify,
    /// Reports were stored, and claims know what follows.
    reported: Notify,
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
    /// The last `Retry-After` of a call, and its tenant, if this is about all tenants.
    told: Option<(Tenant, SharedRetryAfter)>,
    /// A call was refused since the last report, which lowers its learned pace.
    is_refused: bool,
}

impl HealthTallies {
    /// Counts an attempt whose end is stored: for its tenant, and for all if it was a call that this
    /// node has made itself. A tenant chooses which destination its jobs name, and what its workers
    /// report. `is_dead_letter` says that it ended its job `failed`.
    pub fn add(
        &self,
        ended: &EndedAttempt,
        is_own_call: bool,
        is_dead_letter: bool,
        gates: &Gates,
    ) {
        let job = ended.job();
        let Some(destination) = &job.destination else {
            return;
        };
        if matches!(ended.outcome(), Outcome::Released { started: false }) {
            return;
        }
        let is_watched = gates.hold_mode_of(&job.kind, &job.tenant, destination) != HoldMode::Off;
        let retry_after = SharedRetryAfter::of(ended, is_own_call);
        let scope = gates.retry_after_scope(Some(&job.tenant), destination);
        let quota = SharedQuota::of(ended).filter(|_| scope != RetryAfterScope::Job);
        let (own_quota, shared_quota) = match scope {
            RetryAfterScope::All if is_own_call => (None, quota),
            _ => (quota, None),
        };
        let health = |tenant| gates.health(destination, tenant).map(AsRef::as_ref);
        let for_all = HealthSubject::from(destination.clone());
        let own = HealthSubject::of_tenant(destination, &job.tenant);
        let mut tallies = self.lock();
        if let Some(entry) = tallies.entry(&own, &job.tenant) {
            if is_watched {
                entry.tally.add(ended, health(Some(&job.tenant)));
                if is_dead_letter {
                    entry.tally.add_dead_letter(ended);
                }
            }
            if let Some(retry_after) = retry_after {
                self.add_retry_after(entry, retry_after, health(Some(&job.tenant)));
            }
            if let Some(quota) = own_quota {
                self.add_quota(entry, quota, health(Some(&job.tenant)));
            }
        }
        let is_known = health(None).is_some_and(|health| !health.is_quiet());
        if !is_own_call && !is_known {
            return;
        }
        if let Some(entry) = tallies.entry(&for_all, &job.tenant) {
            match is_own_call {
                true if is_watched => {
                    entry.tally.add_for_all(ended, health(None));
                    if is_dead_letter {
                        entry.tally.add_dead_letter(ended);
                    }
                }
                true => {}
                false => entry.tally.add_unclear(ended),
            }
            if let Some(retry_after) = retry_after.filter(|_| is_own_call)
                && let Some(for_all) = entry.told(retry_after, &job.tenant, destination, gates)
            {
                self.add_retry_after(entry, for_all, health(None));
            }
            if let Some(quota) = shared_quota {
                self.add_quota(entry, quota, health(None));
            }
        }
    }

    /// Counts what the end of an attempt says about the pace of its destination. Answers whether that
    /// lowers it, which is reported at once.
    pub fn add_pace(&self, ended: &EndedAttempt, is_own_call: bool, gates: &Gates) -> bool {
        let job = ended.job();
        let Some(destination) = &job.destination else {
            return false;
        };
        let Some(subject) = gates.pace_subject(&job.kind, &job.tenant, destination) else {
            return false;
        };
        // What workers say counts for their tenant.
        if subject.tenant.is_none() && !is_own_call {
            return false;
        }
        let scope = gates.retry_after_scope(Some(&job.tenant), destination);
        // Of many independent limits, none says how many calls the destination takes.
        if ended.is_refused() && scope == RetryAfterScope::Job {
            return false;
        }
        let health = gates.health(destination, subject.tenant.as_ref());
        let mut tallies = self.lock();
        let Some(entry) = tallies.entry(&subject, &job.tenant) else {
            return false;
        };
        let is_refused = entry.tally.add_pace(ended, health.map(AsRef::as_ref));
        if is_refused {
            entry.is_refused = true;
            entry.report_at = Timestamp::EPOCH;
            self.urgent.notify_one();
        }
        is_refused
    }

    /// A call of this node has ended. If its destination has refused it and its pace is learned, waits
    /// until claims know what follows, but not for long: so the call keeps its place at the gate, and
    /// no other one is refused in its stead.
    pub async fn hold_refused(&self, ended: &EndedAttempt, gates: &Gates) {
        if !ended.is_refused() {
            return;
        }
        let reported = self.reported.notified();
        tokio::pin!(reported);
        reported.as_mut().enable();
        if self.add_pace(ended, ended.job().kind.is_call(), gates) {
            // Without a store it is not reported; the lease is renewed meanwhile.
            let _ = tokio::time::timeout(REFUSED_HELD_MAX, reported).await;
        }
    }

    /// Reports were stored, and this node knows these gates since then.
    pub fn follow(&self, gates: &Gates, now: Timestamp) {
        self.lock().see_pace(gates, now);
        self.reported.notify_waiters();
    }

    fn add_quota(&self, entry: &mut Entry, quota: SharedQuota, health: Option<&DestinationHealth>) {
        entry.tally.add_quota(quota, health);
        let is_news = entry.tally.quota() == Some(&quota);
        let known = health.and_then(|health| health.quota(quota.at));
        // Of what remains, calls that start before it is known use a part.
        let is_first = known.is_none() || (quota.remaining == 0 && known != Some(&quota));
        if is_news && is_first && entry.report_at <= quota.at {
            entry.report_at = Timestamp::EPOCH;
            self.urgent.notify_one();
        }
    }

    fn add_retry_after(
        &self,
        entry: &mut Entry,
        retry_after: SharedRetryAfter,
        health: Option<&DestinationHealth>,
    ) {
        entry.tally.add_retry_after(retry_after);
        let known = health.and_then(|health| health.retry_after(retry_after.at));
        let is_news = known.is_none_or(|known| known.until < retry_after.until);
        // Those that were under way receive the same a moment later.
        if is_news && (known.is_none() || entry.report_at <= retry_after.at) {
            entry.report_at = Timestamp::EPOCH;
            self.urgent.notify_one();
        }
    }

    /// The reports that are due: the same ones until [`HealthTallies::saved`] is called.
    pub fn reports(&self, node: &str, gates: &Gates, now: Timestamp) -> Vec<UnsavedReport> {
        let mut tallies = self.lock();
        tallies.see_pace(gates, now);
        let mut due = tallies.due(gates, now);
        due.sort_unstable();
        due.truncate(HEALTH_REPORTS_MAX);
        let due = due.into_iter();
        due.filter_map(|(_, subject)| {
            let entry = tallies.by_subject.get_mut(&subject)?;
            entry.report_at = now.plus(HEALTH_REPORT_EVERY);
            let is_refused = std::mem::take(&mut entry.is_refused);
            let report = entry
                .unsaved
                .get_or_insert_with(|| entry.tally.take_report(node, now));
            Some(UnsavedReport {
                report: report.clone(),
                tenant: entry.tenant.clone(),
                is_refused,
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
    /// Calls were refused, and wait until claims know what follows.
    pub is_refused: bool,
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
                told: None,
                is_refused: false,
            };
            by_subject.insert(subject.clone(), entry);
        }
        by_subject.get_mut(subject)
    }

    fn see_pace(&mut self, gates: &Gates, now: Timestamp) {
        for (subject, entry) in &mut self.by_subject {
            let health = gates.health(&subject.destination, subject.tenant.as_ref());
            entry.tally.see_pace(health.map(AsRef::as_ref), now);
        }
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
            let is_kept = has_news || !entry.tally.is_empty() || entry.was_told_lately(now);
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
    /// A call of a tenant received a `Retry-After`. Answers what applies to all tenants: what the
    /// operator says is for all, or what calls of another tenant received as well.
    fn told(
        &mut self,
        retry_after: SharedRetryAfter,
        tenant: &Tenant,
        destination: &Destination,
        gates: &Gates,
    ) -> Option<SharedRetryAfter> {
        let before = self.told.replace((tenant.clone(), retry_after));
        match gates.retry_after_scope(Some(tenant), destination) {
            RetryAfterScope::All => return Some(retry_after),
            RetryAfterScope::Job => return None,
            RetryAfterScope::Tenant => {}
        }
        let here = before.filter(|(other, _)| other != tenant);
        let here = here.map(|(_, told)| told);
        // What other nodes have reported of other tenants.
        let elsewhere = gates.healths_of(destination);
        let elsewhere = elsewhere.filter(|(other, _)| other.is_some_and(|other| other != tenant));
        let elsewhere = elsewhere.filter_map(|(_, it)| it.retry_after(retry_after.at).copied());
        let both = here.into_iter().chain(elsewhere);
        let both = both.filter_map(|other| retry_after.of_both(other));
        both.max_by_key(|both| both.until)
    }

    fn was_told_lately(&self, now: Timestamp) -> bool {
        let told = self.told.as_ref();
        told.is_some_and(|(_, told)| now.since(told.at) <= RETRY_AFTER_OF_TWO)
    }

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
        if self.tally.has_pace() {
            return true;
        }
        let asks_to_wait = self.tally.retry_after().is_some() || self.tally.quota().is_some();
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use steadfast_core::{Failure, GateDefaults, JobId, Kind, NewJob, Payload, Preset, WorkerName};

    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000).plus(Duration::from_secs(secs))
    }

    /// A call of a tenant that was asked to wait.
    fn told(tenant: &str, wait_secs: u64, secs: u64) -> EndedAttempt {
        let policy = Arc::new(Preset::Http.policy());
        let id = JobId::from_bits(u128::from(secs));
        let mut job = NewJob::new(id, Kind::http(), Payload::default(), policy);
        job.tenant = Tenant::new(tenant).unwrap();
        job.destination = Destination::new("https://api.example.com").ok();
        let failure = Failure::http(429, "slow down");
        let outcome = Outcome::Failure {
            failure: failure.with_retry_after(Duration::from_secs(wait_secs)),
            output: None,
        };
        let claim = job.into_job(at(secs));
        let claim = claim.claim(WorkerName::new("n").unwrap(), None, at(secs));
        claim.end(outcome, at(secs))
    }

    /// Until when the reports ask all tenants to wait, and each of them.
    fn waits(
        tallies: &HealthTallies,
        gates: &Gates,
        secs: u64,
    ) -> Vec<(Option<String>, Timestamp)> {
        let reports = tallies.reports("n", gates, at(secs));
        let waits = reports.iter().filter_map(|unsaved| {
            tallies.saved(&unsaved.subject);
            let tenant = unsaved.subject.tenant.as_ref().map(ToString::to_string);
            let health = DestinationHealth::default();
            let input = steadfast_core::HealthInput {
                report: Some(&unsaved.report),
                ..Default::default()
            };
            let rules = steadfast_core::HealthRules::default();
            let health = health.step(input, &rules, at(secs))?.health;
            Some((tenant, health.retry_after(at(secs))?.until))
        });
        let mut waits: Vec<_> = waits.collect();
        waits.sort();
        waits
    }

    #[test]
    fn a_retry_after_applies_to_its_tenant_and_to_all_if_two_tenants_received_one() {
        let gates = Gates::new([], GateDefaults::default());
        let tallies = HealthTallies::default();
        let of = |tenant: &str, secs| (Some(tenant.to_owned()), at(secs));
        tallies.add(&told("evil", 3_600, 0), true, false, &gates);
        tallies.add(&told("evil", 3_600, 1), true, false, &gates);
        assert_eq!(waits(&tallies, &gates, 2), [of("evil", 3_601)]);
        // Another one, but much later.
        tallies.add(&told("good", 10, 100), true, false, &gates);
        assert_eq!(waits(&tallies, &gates, 101), [of("good", 110)]);
        // Both were asked to wait this long.
        tallies.add(&told("evil", 3_600, 105), true, false, &gates);
        let both = [(None, at(110)), of("evil", 3_705)];
        assert_eq!(waits(&tallies, &gates, 106), both);
        // What workers report is for their tenant.
        tallies.add(&told("third", 60, 107), false, false, &gates);
        assert_eq!(waits(&tallies, &gates, 108), [of("third", 167)]);
    }

    #[test]
    fn a_retry_after_applies_to_all_if_the_operator_says_so() {
        let mut defaults = GateDefaults::default();
        defaults.destination.share_retry_after = Some(true);
        let gates = Gates::new([], defaults);
        let tallies = HealthTallies::default();
        tallies.add(&told("one", 60, 0), true, false, &gates);
        let all = [(None, at(60)), (Some("one".to_owned()), at(60))];
        assert_eq!(waits(&tallies, &gates, 1), all);
    }
}
