//! The health of a destination: whether it can be called now.
//!
//! Every node counts how the attempts that it settles ended (`tally`), and now and then adds its
//! counts to one document for each destination. [`DestinationHealth::step`] decides what follows;
//! it takes and returns the whole document, which stores replace if it is still the one that was
//! read. So it does not matter which node takes a step, nor that several do, nor that one does so
//! twice: a report that was added already is recognised.
//!
//! Destinations without failures have no document, and cost nothing.

mod counts;
mod incident;
mod limit;
mod minutes;
mod rules;
mod step;
mod subject;
mod tally;
mod tenants;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use super::{hold::HoldMode, pace::LearnedPace, shared_quota::SharedQuota};
use crate::{
    limits,
    values::{Tenant, Timestamp, string_enum},
};

pub(super) use rules::HealthFields;
pub use {
    counts::OutcomeCounts,
    incident::{Incident, IncidentCause, ManualHold, SharedRetryAfter},
    limit::DestinationLimit,
    rules::{HealthPatch, HealthRules},
    step::{HealthChange, HealthEvent, HealthInput, HoldCommand},
    subject::HealthSubject,
    tally::{HealthReport, HealthTally},
};

use incident::HoldInterval;
use minutes::OutcomeMinutes;
use tenants::TenantCounts;

string_enum! {
    /// The health status of a destination.
    HealthStatus, "status" {
        /// Nothing is wrong with it.
        Healthy = "healthy",
        /// Its attempts fail, and it is not yet time to look again.
        Held = "held",
        /// Its attempts fail, and the next one shows whether that is still so.
        Probing = "probing",
        /// An attempt has succeeded, and jobs start faster from second to second.
        Ramping = "ramping",
    }
}

/// The stored health of a destination.
///
/// What it means for jobs depends on the setting `hold` of each tenant and destination; the
/// document is the same for all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DestinationHealth {
    phase: Phase,
    /// Attempts that started earlier are not counted: they say nothing about the current phase.
    #[serde(skip_serializing_if = "Timestamp::is_epoch")]
    counted_from: Timestamp,
    #[serde(skip_serializing_if = "OutcomeCounts::is_empty")]
    counts: OutcomeCounts,
    #[serde(skip_serializing_if = "OutcomeMinutes::is_empty")]
    minutes: OutcomeMinutes,
    /// The same by tenant, if those of several are counted.
    #[serde(skip_serializing_if = "TenantCounts::is_empty")]
    by_tenant: TenantCounts,
    /// Tenants with recent failures, while there is no incident.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    tenants: BTreeSet<Tenant>,
    /// The newest starts of attempts that ended well, badly, or without saying anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good_start: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_bad_start: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_unclear_start: Option<Timestamp>,
    /// The newest report of each node, so that none is added twice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    reports: BTreeMap<String, Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<SharedRetryAfter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<SharedQuota>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pace: Option<LearnedPace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incident: Option<Incident>,
    /// The newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    past_incidents: Vec<Incident>,
    /// The person who holds it, or has just released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_hand: Option<ManualHold>,
    /// Since when jobs are held.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<HoldInterval>,
    /// When jobs were held before, the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    past_holds: Vec<HoldInterval>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Phase {
    #[default]
    Healthy,
    /// Nothing starts but one probe, not before a time.
    Held { next_probe_at: Timestamp },
    /// Nothing starts until a person releases it, or until a time.
    HeldByHand { until: Option<Timestamp> },
    /// Starts are let through, twice as many with each level.
    Ramping { level: u32, since: Timestamp },
    /// It was held for as long as it may be: jobs follow their policies, though it is not well.
    GivenUp,
}

impl DestinationHealth {
    /// In a word.
    pub fn status(&self, now: Timestamp) -> HealthStatus {
        match self.phase {
            Phase::Healthy => HealthStatus::Healthy,
            Phase::Held { next_probe_at } if next_probe_at <= now => HealthStatus::Probing,
            Phase::Held { .. } | Phase::HeldByHand { .. } | Phase::GivenUp => HealthStatus::Held,
            Phase::Ramping { .. } => HealthStatus::Ramping,
        }
    }

    /// Whether jobs follow their policies again because it was held for as long as it may be.
    pub fn is_given_up(&self) -> bool {
        self.phase == Phase::GivenUp
    }

    /// When the next probe may start, if that is what it waits for.
    pub fn next_probe_at(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::Held { next_probe_at } => Some(next_probe_at),
            _ => None,
        }
    }

    /// Who holds it, if a person does.
    pub fn manual_hold(&self) -> Option<&ManualHold> {
        let is_held = matches!(self.phase, Phase::HeldByHand { .. });
        self.by_hand.as_ref().filter(|_| is_held)
    }

    /// When the hold of a person ends by itself, if one holds it and has said so.
    pub fn manual_hold_until(&self) -> Option<Timestamp> {
        match self.phase {
            Phase::HeldByHand { until } => until,
            _ => None,
        }
    }

    /// Whether it currently holds back jobs with this setting, or lets them through slowly.
    pub fn keeps_back(&self, mode: HoldMode) -> bool {
        self.limit(mode, false).is_some()
    }

    /// The current incident.
    pub fn incident(&self) -> Option<&Incident> {
        self.incident.as_ref()
    }

    /// Past incidents, newest first.
    pub fn past_incidents(&self) -> &[Incident] {
        &self.past_incidents
    }

    /// The last `Retry-After` of the destination, if it has not passed.
    pub fn retry_after(&self, now: Timestamp) -> Option<&SharedRetryAfter> {
        self.retry_after
            .as_ref()
            .filter(|retry_after| retry_after.until > now)
    }

    /// What the destination says remains of its own limits, if that is so little that it counts.
    pub fn quota(&self, now: Timestamp) -> Option<&SharedQuota> {
        self.quota.as_ref().filter(|quota| quota.until > now)
    }

    /// The learned pace, if it is learned.
    pub fn pace(&self) -> Option<&LearnedPace> {
        self.pace.as_ref()
    }

    /// The outcomes of the last minute or so.
    pub fn counts(&self) -> &OutcomeCounts {
        &self.counts
    }

    /// Outcomes of the last minutes in which there was something to report, the oldest first: when
    /// each began, how many attempts ended, and how many of them failed because of the destination.
    pub fn minutes(&self) -> impl Iterator<Item = (Timestamp, u32, u32)> {
        self.minutes.iter()
    }

    /// From when attempts count: for [`HealthTally::add`].
    pub fn counted_from(&self) -> Timestamp {
        self.counted_from
    }

    /// Whether attempts of a tenant failed there, now or in an incident that is kept. Of very many
    /// tenants only some are known.
    pub fn concerns(&self, tenant: &Tenant) -> bool {
        let incidents = self.incident.iter().chain(&self.past_incidents);
        let mut known = incidents
            .map(|incident| &incident.tenants)
            .chain([&self.tenants]);
        known.any(|tenants| tenants.contains(tenant))
    }

    /// Whether it can be forgotten: it is quiet, and what was wrong is long over.
    pub fn is_forgettable(&self, now: Timestamp) -> bool {
        let last = self.past_incidents.first().and_then(|last| last.ended_at);
        let has_no_pace = self
            .pace
            .as_ref()
            .is_none_or(|pace| pace.is_forgettable(now));
        self.is_quiet()
            && has_no_pace
            && last.is_none_or(|ended| now.since(ended) >= limits::INCIDENTS_KEPT)
    }

    /// Whether there is nothing to say about it, so that nodes need not report.
    pub fn is_quiet(&self) -> bool {
        let asks_to_wait = self.retry_after.is_some() || self.quota.is_some();
        self.phase == Phase::Healthy && self.counts.is_empty() && !asks_to_wait
    }
}

#[cfg(test)]
mod tests;
