//! What blocks a job at a destination that does not work, has recovered just now, or asked its
//! callers to wait.

use super::{Blocker, BlockerKind, GateSnapshot, StartFacts, estimate::after_starts, subject};
use crate::{
    explain::{brief, whole_second},
    flow::{GateId, Incident, IncidentCause, Rate, SharedQuota, SharedRetryAfter},
    limits,
    state::Guarantee,
    values::Timestamp,
};

impl StartFacts<'_> {
    pub(super) fn hold(
        &self,
        reading: &GateSnapshot,
        until: Timestamp,
        incident: &Incident,
        now: Timestamp,
    ) -> Blocker {
        let id = &reading.gate.id;
        let mut sentence = format!(
            "{} has been held since {}: {}.",
            subject(id),
            incident.began_at,
            self.cause(&incident.cause)
        );
        let wait = brief(until.since(now));
        sentence.push_str(&match self.job.guarantee {
            Guarantee::AtLeastOnce => format!(" The next probe may start in {wait}."),
            Guarantee::AtMostOnce => format!(
                " This job starts at most once, so it is used as a probe only if no other job can be: \
                 in {wait} at the earliest."
            ),
        });
        let action = format!("Release {id} if you know that it works.");
        let is_next = reading.ahead == 0;
        Blocker {
            since: Some(incident.began_at),
            evidence: Some(self.visible_cause(&incident.cause)),
            // Behind others it is not the probe, and when one succeeds is not known.
            likely: is_next.then_some(until),
            ..Blocker::new(BlockerKind::Held, sentence, Some(until), action)
        }
    }

    pub(super) fn retry_after(
        &self,
        id: &GateId,
        retry_after: &SharedRetryAfter,
        now: Timestamp,
    ) -> Blocker {
        // The job may be another tenant's.
        let is_visible = !self.is_of_tenant || id.tenant.is_some();
        let by = match is_visible {
            true => format!("by {} ", retry_after.job),
            false => String::new(),
        };
        let sentence = format!(
            "{} asked callers to wait ({} with status {}, received {by}at {}); {} remaining.",
            subject(id),
            retry_after.header,
            retry_after.status,
            whole_second(retry_after.at),
            brief(retry_after.until.since(now))
        );
        let action = match &id.tenant {
            Some(_) => format!("Set shareRetryAfter of {id} to false if waiting is unnecessary."),
            None => format!("Release {id} if you know that waiting is unnecessary."),
        };
        Blocker {
            retry_after: is_visible.then_some(*retry_after),
            ..Blocker::new(
                BlockerKind::RetryAfter,
                sentence,
                Some(retry_after.until),
                action,
            )
        }
    }

    pub(super) fn quota(
        &self,
        reading: &GateSnapshot,
        until: Timestamp,
        quota: &SharedQuota,
        now: Timestamp,
    ) -> Blocker {
        let id = &reading.gate.id;
        // The job may be another tenant's.
        let is_visible = !self.is_of_tenant || id.tenant.is_some();
        let source = match is_visible {
            true => format!(", received by {}", quota.job),
            false => String::new(),
        };
        let wait = brief(until.since(now));
        let wait = match quota.remaining {
            0 => format!("{wait} remaining"),
            _ => format!("next slot in {wait}"),
        };
        let sentence = format!(
            "{} says that {}{source}; {wait}.",
            subject(id),
            quota.describe()
        );
        let action = match &id.tenant {
            Some(_) => format!("Set shareRetryAfter of {id} to false if waiting is unnecessary."),
            None => format!("Release {id} if you know that waiting is unnecessary."),
        };
        // Those before it start first, at this pace.
        let likely = match quota.remaining {
            0 => until,
            _ => after_starts(until, reading.ahead, quota.interval()).min(quota.until.max(until)),
        };
        Blocker {
            quota: is_visible.then_some(*quota),
            likely: Some(likely),
            ..Blocker::new(BlockerKind::Quota, sentence, Some(until), action)
        }
    }

    fn cause(&self, of: &IncidentCause) -> String {
        cause(&self.visible_cause(of))
    }

    /// The text of a failure may belong to another tenant.
    fn visible_cause(&self, of: &IncidentCause) -> IncidentCause {
        let mut visible = of.clone();
        if self.is_of_tenant
            && let IncidentCause::Failures { newest, .. } = &mut visible
        {
            *newest = None;
        }
        visible
    }
}

pub(super) fn ramp(
    reading: &GateSnapshot,
    until: Timestamp,
    rate: &Rate,
    now: Timestamp,
) -> Blocker {
    let id = &reading.gate.id;
    let sentence = format!(
        "{} has recovered, and starts ramp up gradually, currently {rate}; \
         next slot in {}.",
        subject(id),
        brief(until.since(now))
    );
    let mut blocker = Blocker::new(BlockerKind::Ramping, sentence, Some(until), String::new());
    // Twice as many each second: after n seconds, as many times the current rate as 2^n - 1.
    let turns = reading.ahead / u64::from(rate.limit.max(1)) + 1;
    let seconds = u64::BITS - turns.leading_zeros() - 1;
    blocker.likely = Some(until.plus(limits::RAMP_STEP * seconds));
    blocker
}

fn cause(cause: &IncidentCause) -> String {
    match cause {
        IncidentCause::Failures { .. } => cause.describe(true),
        IncidentCause::ByHand { by, .. } => match by {
            Some(by) => format!("it was held by {by}"),
            None => "it was held manually".to_owned(),
        },
    }
}
