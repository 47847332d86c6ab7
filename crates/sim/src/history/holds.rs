//! Destinations that are held: what may start there is found anew from what nodes knew of them, without
//! asking the rules of claims.

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::{
    Claim, Destination, DestinationHealth, EndReason, Gates, Guarantee, HoldMode, Incident, Job,
    JobState, RetryAfterScope, SharedQuota, Tenant, Timestamp, Transition, limits,
};

use super::History;
use crate::{Invariant, expected::ExpectedJob};

/// A retry may be due so much after the end of its attempt, and is given up if that is too late.
const DELAY_MAX: Duration = Duration::from_secs(20);
/// How far the clock is set back at most.
const CLOCK_BACK_MAX: Duration = Duration::from_secs(5);

/// Probes of destinations, as all tenants see them or as one does: from when one might start, and when
/// one did.
#[derive(Default)]
pub struct ExpectedProbes(BTreeMap<(Destination, Option<Tenant>), (Timestamp, Timestamp)>);

impl ExpectedProbes {
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

type QuotaKey = (Destination, Option<Tenant>);

/// What destinations said remains of their limits, and how many jobs started since then.
#[derive(Default)]
pub struct ExpectedQuotas(BTreeMap<QuotaKey, (SharedQuota, u32)>);

impl ExpectedQuotas {
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl History {
    /// One claim, before it is noted.
    pub(super) fn check_holds(&mut self, claim: &Claim, now: Timestamp) {
        let (job, gates) = (claim.job(), self.flow.gates.clone());
        let Some(destination) = &job.destination else {
            return;
        };
        let mode = gates.hold_mode_of(&job.kind, &job.tenant, destination);
        let scope = gates.retry_after_scope(Some(&job.tenant), destination);
        let for_all = gates.health(destination, None);
        let own = gates.health(destination, Some(&job.tenant));
        for (tenant, health) in [(None, for_all), (Some(&job.tenant), own)] {
            let Some(health) = health else {
                continue;
            };
            if let Some(quota) = health.quota(now)
                && scope != RetryAfterScope::Job
            {
                self.check_quota(job, (destination.clone(), tenant.cloned()), quota);
            }
            if health.manual_hold().is_some() {
                let why = "claimed while a person holds its destination";
                self.broken(Invariant::HoldsLetProbesPass, job.id, why);
            }
            if health.retry_after(now).is_some() && scope != RetryAfterScope::Job {
                let why = "claimed before the time that its destination asked for";
                self.broken(Invariant::WaitsAreShared, job.id, why);
            }
        }
        if mode != HoldMode::Auto {
            return;
        }
        // Calls tell nothing of what workers do there; what a person holds and releases is for all.
        let mode_for_all = match job.kind.is_call() {
            true => mode,
            false => HoldMode::Off,
        };
        match for_all.filter(|health| health.keeps_back(mode_for_all)) {
            Some(health) => self.check_probe(job, health, None, now),
            None => {
                if let Some(health) = own {
                    self.check_probe(job, health, Some(&job.tenant), now);
                }
            }
        }
    }

    /// No more start than remained when the destination said so.
    fn check_quota(&mut self, job: &Job, of: QuotaKey, quota: &SharedQuota) {
        let (known, starts) = self.quotas.0.entry(of).or_insert((*quota, 0));
        if *known != *quota {
            (*known, *starts) = (*quota, 0);
        }
        *starts += 1;
        let starts = *starts;
        self.count_check(Invariant::WaitsAreShared);
        if starts > quota.remaining {
            let why = format!("claimed as number {starts} though {}", quota.describe());
            self.broken(Invariant::WaitsAreShared, job.id, why);
        }
    }

    fn check_probe(
        &mut self,
        job: &Job,
        health: &DestinationHealth,
        tenant: Option<&Tenant>,
        now: Timestamp,
    ) {
        let (Some(due), Some(destination)) = (health.next_probe_at(), &job.destination) else {
            return;
        };
        let key = (destination.clone(), tenant.cloned());
        let last = self.probes.0.insert(key, (due, now));
        let is_second = last.is_some_and(|(of, started)| {
            of == due && now.since(started) < limits::PROBE_LOST_AFTER
        });
        self.count_check(Invariant::HoldsLetProbesPass);
        let opens_at = match job.guarantee {
            Guarantee::AtLeastOnce => due,
            Guarantee::AtMostOnce => due.plus(limits::PROBE_AT_MOST_ONCE_AFTER),
        };
        if now < opens_at || is_second {
            let why = format!("claimed while its destination is held until a probe at {due}");
            self.broken(Invariant::HoldsLetProbesPass, job.id, why);
        }
    }

    /// For how long a job was held since its first attempt, as its claimant knows.
    pub(super) fn held(job: &Job, gates: &Gates, now: Timestamp) -> Duration {
        let (Some(destination), Some(first)) = (&job.destination, job.progress.first_started_at)
        else {
            return Duration::ZERO;
        };
        if gates.hold_mode_of(&job.kind, &job.tenant, destination) != HoldMode::Auto {
            return Duration::ZERO;
        }
        let for_all = gates.health(destination, None);
        let for_all = for_all.filter(|_| job.kind.is_call());
        let own = gates.health(destination, Some(&job.tenant));
        let held = |health: &DestinationHealth| {
            let past = health.past_incidents().iter().chain(health.incident());
            past.map(|incident| overlap(incident, first, now))
                .sum::<Duration>()
        };
        let known = for_all.into_iter().chain(own);
        // Those of both may overlap.
        known
            .map(|health| held(health))
            .max()
            .unwrap_or(Duration::ZERO)
    }

    /// An attempt failed: the time in which its destination was held does not make a job too old.
    pub(super) fn check_age(&mut self, transition: &Transition, job: Option<&Job>, now: Timestamp) {
        let is_given_up = transition.to.reason == Some(EndReason::Expired);
        let is_failed = is_given_up || transition.to.state == JobState::Waiting;
        // The node that finds a lost attempt may know less than its claimant did.
        let is_checked = is_failed && !transition.guard.lease_expired;
        let Some(job) = job.filter(|_| is_checked) else {
            return;
        };
        let known: Option<&ExpectedJob> = self.jobs.get(&job.id);
        let claim = known.and_then(|known| known.claims.get(&transition.guard.fence));
        let (Some(claim), Some(most)) = (claim, job.policy.max_elapsed()) else {
            return;
        };
        let Some(first) = job.progress.first_started_at else {
            return;
        };
        let (held, age) = (claim.held, now.since(first));
        if held.is_zero() || age < most {
            return;
        }
        self.count_check(Invariant::HeldTimeIsFree);
        let age = age.saturating_sub(held);
        if is_given_up && age + DELAY_MAX + CLOCK_BACK_MAX * self.set_backs < most {
            let why = format!("given up at the age of {age:?}, {held:?} of it held, of {most:?}");
            self.broken(Invariant::HeldTimeIsFree, job.id, why);
        }
    }
}

fn overlap(incident: &Incident, from: Timestamp, to: Timestamp) -> Duration {
    let end = incident.given_up_at.or(incident.ended_at).unwrap_or(to);
    end.min(to).since(incident.began_at.max(from))
}
