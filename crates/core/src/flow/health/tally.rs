//! The counts of one node for a destination.

use std::{collections::BTreeSet, time::Duration};

use super::{DestinationHealth, HealthRules, OutcomeCounts, SharedRetryAfter, TenantCounts};
use crate::{
    explain,
    failure::{Failure, FailureClass},
    flow::{
        pace::{PaceAnswer, PaceCounts, PaceTally},
        shared_quota::SharedQuota,
    },
    job::attempt::{EndedAttempt, Outcome},
    limits,
    values::{Tenant, Timestamp},
};

/// The counts of one node for a destination since its last report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HealthTally {
    content: ReportContent,
    pace: PaceTally,
    /// When the last report was made; the next one is later.
    last_report: Timestamp,
}

/// The report of one node about a destination. Adding it twice changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthReport {
    pub(super) node: String,
    pub(super) at: Timestamp,
    pub(super) content: ReportContent,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReportContent {
    /// From when attempts were counted, as the node knew it.
    pub counted_from: Timestamp,
    pub counts: OutcomeCounts,
    /// The same by tenant, if the report is about all.
    pub by_tenant: TenantCounts,
    pub last_good_start: Option<Timestamp>,
    pub last_bad_start: Option<Timestamp>,
    pub last_unclear_start: Option<Timestamp>,
    pub newest_failure: Option<String>,
    /// Jobs that ended `failed` because of the destination.
    pub dead_letters: u32,
    /// The tenants whose attempts failed because of the destination.
    pub tenants: BTreeSet<Tenant>,
    pub retry_after: Option<SharedRetryAfter>,
    pub quota: Option<SharedQuota>,
    pub pace: Option<PaceCounts>,
}

/// The evidence of an attempt about its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// It answered.
    Good,
    /// It cannot be reached, or says that it does not work.
    Bad,
    /// The attempt counts, but does not say whether the system answered.
    Unclear,
    /// The attempt did not get as far, or its end is not known.
    None,
}

impl HealthTally {
    /// Counts an attempt that ended, of the tenant whose health it is. `health` is what the node
    /// knows of the destination.
    pub fn add(&mut self, ended: &EndedAttempt, health: Option<&DestinationHealth>) {
        self.add_group(ended, health, 1);
    }

    /// Counts a call of the node itself, which counts for all tenants.
    pub fn add_for_all(&mut self, ended: &EndedAttempt, health: Option<&DestinationHealth>) {
        let Some(is_bad) = self.add_group(ended, health, 1) else {
            return;
        };
        let by_tenant = &mut self.content.by_tenant;
        by_tenant.add(&ended.job().tenant, is_bad, ended.at);
    }

    /// An attempt has ended of which only a tenant has said how. That counts for the tenant; here, a
    /// probe that it took is over.
    pub fn add_unclear(&mut self, ended: &EndedAttempt) {
        let start = ended.job().progress.started_at.unwrap_or(ended.at);
        let newest = &mut self.content.last_unclear_start;
        *newest = (*newest).max(Some(start));
    }

    /// Counts attempts of this many jobs that ended together in the same way. Answers whether they
    /// failed because of the destination; `None` if they are not counted.
    pub(crate) fn add_group(
        &mut self,
        ended: &EndedAttempt,
        health: Option<&DestinationHealth>,
        count: u32,
    ) -> Option<bool> {
        let counted_from = health.map_or(Timestamp::EPOCH, DestinationHealth::counted_from);
        let content = &mut self.content;
        if content.counted_from != counted_from {
            content.counted_from = counted_from;
            content.counts = OutcomeCounts::default();
            content.by_tenant = TenantCounts::default();
        }
        let job = ended.job();
        let start = job.progress.started_at.unwrap_or(ended.at);
        let evidence = evidence(ended.outcome());
        let newest = match evidence {
            Evidence::Good => &mut content.last_good_start,
            Evidence::Bad => &mut content.last_bad_start,
            Evidence::Unclear | Evidence::None => &mut content.last_unclear_start,
        };
        *newest = (*newest).max(Some(start));
        let is_counted = evidence != Evidence::None && start >= counted_from;
        if is_counted {
            content
                .counts
                .add(job.id, evidence == Evidence::Bad, ended.at, count);
        }
        if let Outcome::Failure { failure, .. } = ended.outcome()
            && evidence == Evidence::Bad
        {
            let text = failure.to_string();
            let text = explain::shorten(&text, limits::INCIDENT_FAILURE_CHARS_MAX);
            content.newest_failure = Some(text);
            if content.tenants.len() < limits::HEALTH_TENANTS_MAX {
                content.tenants.insert(job.tenant.clone());
            }
        }
        is_counted.then_some(evidence == Evidence::Bad)
    }

    /// An attempt has ended its job `failed`. That is a dead letter of the destination if it failed
    /// because of the destination.
    pub fn add_dead_letter(&mut self, ended: &EndedAttempt) {
        if evidence(ended.outcome()) == Evidence::Bad {
            self.content.dead_letters = self.content.dead_letters.saturating_add(1);
        }
    }

    /// Takes in what the destination asked its callers for.
    pub fn add_retry_after(&mut self, retry_after: SharedRetryAfter) {
        let known = self.content.retry_after;
        self.content.retry_after = SharedRetryAfter::later(known, Some(retry_after));
    }

    /// Takes in what the destination said remains of its own limits, unless that is known.
    pub fn add_quota(&mut self, quota: SharedQuota, health: Option<&DestinationHealth>) {
        let known = health.and_then(|health| health.quota(quota.at));
        let is_news = known.is_none_or(|known| {
            !quota.is_like(known) && SharedQuota::current(Some(*known), Some(quota)) == Some(quota)
        });
        if is_news || self.content.quota.is_some() {
            self.content.quota = SharedQuota::current(self.content.quota, Some(quota));
        }
    }

    /// Takes in what the end of an attempt says about the pace of the destination. Answers whether
    /// the destination refused it, so that it should be reported at once.
    pub fn add_pace(&mut self, ended: &EndedAttempt, health: Option<&DestinationHealth>) -> bool {
        let Some(answer) = PaceAnswer::of(ended) else {
            return false;
        };
        self.see_pace(health, ended.at);
        self.pace.add(ended, answer);
        matches!(answer, PaceAnswer::Refused(_))
    }

    /// The node knows this pace at this time: what starts later counts for it.
    pub fn see_pace(&mut self, health: Option<&DestinationHealth>, now: Timestamp) {
        self.pace.see(health.and_then(DestinationHealth::pace), now);
    }

    /// Whether calls have ended whose answers count for the pace.
    pub fn has_pace(&self) -> bool {
        !self.pace.is_empty()
    }

    /// The tenants, if attempts of several are counted.
    pub fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.content.by_tenant.tenants()
    }

    /// Whether nothing is counted.
    pub fn is_empty(&self) -> bool {
        let asks_to_wait = self.retry_after().is_some() || self.quota().is_some();
        self.content.counts.is_empty() && !asks_to_wait && self.pace.is_empty()
    }

    /// The `Retry-After` received since the last report.
    pub fn retry_after(&self) -> Option<&SharedRetryAfter> {
        self.content.retry_after.as_ref()
    }

    /// What remains of the destination's own limits, if that was news since the last report.
    pub fn quota(&self) -> Option<&SharedQuota> {
        self.content.quota.as_ref()
    }

    /// Whether the document would say something else with a report of this. The whole share of
    /// failures is an average of the nodes' shares, so that a destination that does not work is
    /// first reported by a node that sees many failures; then all report.
    pub fn is_worth_reporting(
        &mut self,
        health: Option<&DestinationHealth>,
        rules: &HealthRules,
        now: Timestamp,
    ) -> bool {
        let content = &mut self.content;
        content.counts.keep_window(rules.window, now);
        content.by_tenant.keep_window(rules.window, now);
        let is_watched = health.is_some_and(|health| !health.is_quiet());
        let has_news = !content.counts.is_empty() || content.last_unclear_start.is_some();
        let is_suspicious = content.counts.failed_share() >= rules.failed_share / 2.0;
        content.retry_after.is_some()
            || content.quota.is_some()
            || !self.pace.is_empty()
            || (has_news && is_watched)
            || (content.counts.failed() > 0 && is_suspicious)
    }

    /// Takes out what was counted. Until it is known to be stored, the same report must be added
    /// again, not a new one.
    pub fn take_report(&mut self, node: &str, now: Timestamp) -> HealthReport {
        // Unless the clock was set back by so much that the last report is forgotten.
        let next = self.last_report.plus(Duration::from_micros(1));
        let is_ahead = next > now.plus(limits::HEALTH_REPORT_MEMORY);
        self.last_report = if is_ahead { now } else { next.max(now) };
        HealthReport {
            node: node.to_owned(),
            at: self.last_report,
            content: ReportContent {
                pace: self.pace.take(),
                ..std::mem::take(&mut self.content)
            },
        }
    }
}

fn evidence(outcome: &Outcome) -> Evidence {
    match outcome {
        Outcome::Success { .. } => Evidence::Good,
        Outcome::Failure { failure, .. } => failure_evidence(failure),
        // The worker has died, or gave the job back, or asked another address than the job calls.
        Outcome::Lost
        | Outcome::Answered { .. }
        | Outcome::Snoozed(_)
        | Outcome::Cancelled { .. }
        | Outcome::Released { .. } => Evidence::None,
    }
}

fn failure_evidence(failure: &Failure) -> Evidence {
    if failure.counts_against_destination() {
        Evidence::Bad
    } else if !failure.calls_destination() {
        Evidence::None
    } else if failure.http_status.is_some() {
        Evidence::Good
    } else {
        Evidence::Unclear
    }
}

impl Failure {
    /// Whether the attempt reached the destination, by its class.
    pub(in crate::flow) fn calls_destination(&self) -> bool {
        const NOT_CALLED: [FailureClass; 5] = [
            FailureClass::BLOCKED,
            FailureClass::PAYLOAD,
            FailureClass::SECRET,
            FailureClass::PANIC,
            FailureClass::LOST,
        ];
        !NOT_CALLED.contains(&self.class)
    }

    /// Whether it shows that the called system does not work: no connection, no answer in time, or
    /// status 502, 503 or 504. A failure that is about the job itself does not.
    pub fn counts_against_destination(&self) -> bool {
        const CLASSES: [FailureClass; 4] = [
            FailureClass::CONNECTION,
            FailureClass::DNS,
            FailureClass::TLS,
            FailureClass::TIMEOUT,
        ];
        CLASSES.contains(&self.class) || matches!(self.http_status, Some(502..=504))
    }
}

impl SharedRetryAfter {
    /// What the destination asked for with status 429 or 503.
    pub fn of(ended: &EndedAttempt, by_call: bool) -> Option<Self> {
        match ended.outcome() {
            Outcome::Failure { failure, .. } => retry_after_of(failure, ended, by_call),
            _ => None,
        }
    }

    /// What calls of two tenants received within a minute applies to all, for as long as both were
    /// asked to wait.
    pub fn of_both(self, other: Self) -> Option<Self> {
        let (first, last) = (self.at.min(other.at), self.at.max(other.at));
        let is_near = last.since(first) <= limits::RETRY_AFTER_OF_TWO;
        (is_near && self.by_call && other.by_call).then(|| Self {
            until: self.until.min(other.until),
            ..self
        })
    }
}

fn retry_after_of(
    failure: &Failure,
    ended: &EndedAttempt,
    by_call: bool,
) -> Option<SharedRetryAfter> {
    let status = failure
        .http_status
        .filter(|status| matches!(status, 429 | 503))?;
    // What a counter says is shared as a quota.
    let header = failure.retry_after_header;
    if !header.is_of_refusal() {
        return None;
    }
    let delay = failure.retry_after?.min(limits::RETRY_AFTER_MAX);
    (!delay.is_zero()).then(|| SharedRetryAfter {
        until: ended.at.plus(delay),
        job: ended.job().id,
        at: ended.at,
        status,
        header,
        by_call,
    })
}
