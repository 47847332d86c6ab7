//! Defects in how gates and fair shares are kept.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
};

use steadfast_core::{
    Claim, Destination, DestinationHealth, Gate, GateId, GateLimits, GateScope, Gates, HoldMode,
    Job, JobLabel, Tenant,
};
use steadfast_store::{ClaimRequest, ClaimResult, JobFilter, StoreError};

use super::{Bug, BuggyStore};
use crate::workload::{self, TENANTS};

/// The input of a twist.
struct Facts {
    /// How many attempts run whose lease has expired.
    expired: u32,
    /// How many were lost so far.
    lost: u32,
    retrying: Vec<Job>,
}

impl BuggyStore {
    /// The gates as a store with this bug has them.
    pub(super) async fn twist_gates(&self, gates: &Gates) -> Result<Gates, StoreError> {
        let facts = self.facts().await?;
        let mut set: BTreeMap<GateId, GateLimits> = gates
            .iter()
            .map(|(id, limits)| (id.clone(), GateLimits::clone(limits)))
            .collect();
        let mut known = self.gates.lock().unwrap();
        for (id, limits) in &mut set {
            self.twist_limits(id, limits, &facts);
        }
        if self.bug == Bug::DeletedGateHolds {
            let deleted = known.iter().filter(|(id, _)| !set.contains_key(id));
            let deleted: Vec<_> = deleted
                .map(|(id, limits)| (id.clone(), limits.clone()))
                .collect();
            set.extend(deleted);
        }
        known.extend(set.clone());
        let set = set.into_iter().map(|(id, limits)| Gate { id, limits });
        // Which setting there is can be seen from what it does to any destination.
        let anywhere = Destination::new("https://anywhere.example.org").unwrap();
        let mut defaults = workload::defaults(gates.usual_hold_mode(&anywhere));
        match self.bug {
            Bug::HoldIgnored => defaults.destination.hold = Some(HoldMode::Watch),
            Bug::WaitNotShared => defaults.destination.share_retry_after = Some(false),
            _ => {}
        }
        let health = gates.healths();
        let health = health.map(|(subject, health)| (subject, health.clone()));
        Ok(Gates::new(set, defaults).with_health(health))
    }

    fn twist_limits(&self, id: &GateId, limits: &mut GateLimits, facts: &Facts) {
        match self.bug {
            Bug::OneTooManyRuns => add(&mut limits.max_running, 1),
            Bug::LostNotCounted => add(&mut limits.max_running, facts.expired),
            Bug::TokenLost => {
                limits.max_running = limits
                    .max_running
                    .map(|most| most.saturating_sub(facts.lost));
            }
            Bug::RateTooFast => limits.rate.iter_mut().for_each(|rate| rate.limit *= 2),
            Bug::BurstTooLarge => {
                let rates = limits.rate.iter_mut();
                rates.for_each(|rate| rate.burst += rate.limit);
            }
            Bug::OrderForgotten => forget_order(limits),
            Bug::RetryLosesPlace => {
                let is_of_key = |job: &Job| {
                    let key = job.concurrency_key.as_ref().map(|key| key.as_str());
                    id.scope == GateScope::Key
                        && id.tenant.as_ref() == Some(&job.tenant)
                        && key == Some(id.key.as_str())
                };
                if facts.retrying.iter().any(is_of_key) {
                    forget_order(limits);
                }
            }
            Bug::PauseIgnored => limits.paused = None,
            Bug::PauseWithoutEnd => {
                let pauses = limits.paused.iter_mut();
                pauses.for_each(|pause| pause.until = None);
            }
            Bug::RetryShareIgnored => limits.retry_share = None,
            Bug::WeightIgnored => limits.weight = None,
            // Those that are set have taken over what was set for all.
            Bug::HoldIgnored => limits.hold = None,
            Bug::WaitNotShared => limits.share_retry_after = None,
            Bug::PaceIgnored => limits.pace = None,
            Bug::PacePassesGate if limits.pace.is_some() => limits.max_running = None,
            _ => {}
        }
    }

    async fn facts(&self) -> Result<Facts, StoreError> {
        let now = self.inner.now();
        let is_over = |claim: &Claim| claim.job().progress.lease_until <= Some(now);
        let expired = self
            .running()
            .await?
            .iter()
            .filter(|claim| is_over(claim))
            .count();
        let retrying = JobFilter {
            label: Some(JobLabel::Retrying),
            ..JobFilter::default()
        };
        Ok(Facts {
            expired: u32::try_from(expired).unwrap(),
            lost: u32::try_from(self.turns.load(Ordering::Relaxed)).unwrap(),
            retrying: self.some(retrying).await?,
        })
    }

    /// One tenant has whatever it wants before others have anything.
    pub(super) async fn claim_for_first(
        &self,
        request: ClaimRequest,
    ) -> Result<ClaimResult, StoreError> {
        let first = ClaimRequest {
            tenant: Some(Tenant::new(TENANTS[0]).unwrap()),
            ..request.clone()
        };
        let mut claims = self.inner.claim(first).await?.claims;
        let others = ClaimRequest {
            max: request.max - claims.len(),
            ..request
        };
        let others = self.inner.claim(others).await?;
        claims.extend(others.claims);
        let next_due = others.next_due;
        Ok(ClaimResult { claims, next_due })
    }
}

/// Destinations that look as if they had never been held.
pub(super) fn forget_holds(gates: &Gates) -> Gates {
    let health = gates.healths().map(|(subject, health)| {
        let mut body = serde_json::to_value(&**health).unwrap();
        if let Some(fields) = body.as_object_mut() {
            fields.remove("hold");
            fields.remove("pastHolds");
        }
        let health: DestinationHealth = serde_json::from_value(body).unwrap();
        (subject, Arc::new(health))
    });
    gates.clone().with_health(health)
}

fn add(limit: &mut Option<u32>, more: u32) {
    limit.iter_mut().for_each(|most| *most += more);
}

/// Still one at a time.
fn forget_order(limits: &mut GateLimits) {
    if limits.ordered {
        limits.ordered = false;
        limits.max_running = Some(1);
    }
}
