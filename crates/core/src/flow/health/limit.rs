//! The limit that the health of a destination puts on claims.

use std::{sync::Arc, time::Duration};

use super::{DestinationHealth, Incident, ManualHold, Phase, SharedRetryAfter};
use crate::{
    flow::{
        gate_state::{ClosedBy, GateState},
        hold::HoldMode,
        pace::LearnedPace,
        rate::Rate,
        shared_quota::SharedQuota,
    },
    limits,
    state::Guarantee,
    values::Timestamp,
};

/// The limit that the health of a destination puts on jobs that call it.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationLimit {
    retry_after: Option<SharedRetryAfter>,
    hold: Option<HoldLimit>,
    /// In a limit of its own, because it has a state of its own.
    quota: Option<SharedQuota>,
}

#[derive(Clone, Debug, PartialEq)]
enum HoldLimit {
    /// One start, not before a time; the gate's `next_start` is that of the last probe.
    Probe {
        not_before: Timestamp,
        incident: Arc<Incident>,
    },
    ByHand {
        until: Option<Timestamp>,
        hold: Arc<ManualHold>,
    },
    Ramp(Rate),
}

impl DestinationHealth {
    /// The limit for jobs with this setting; `None` if there is none.
    pub fn limit(&self, mode: HoldMode, shares_retry_after: bool) -> Option<DestinationLimit> {
        let is_held = mode == HoldMode::Auto || self.by_hand.is_some();
        let hold = match (self.phase, &self.by_hand, &self.incident) {
            (Phase::HeldByHand { until }, Some(hold), _) => Some(HoldLimit::ByHand {
                until,
                hold: Arc::new(hold.clone()),
            }),
            (Phase::Held { next_probe_at }, _, Some(incident)) => Some(HoldLimit::Probe {
                not_before: next_probe_at,
                incident: Arc::new(incident.clone()),
            }),
            (Phase::Ramping { level, .. }, _, _) => {
                let limit = 2_u32.pow(level.min(limits::RAMP_LEVEL_MAX));
                Some(HoldLimit::Ramp(Rate {
                    limit,
                    per: Duration::from_secs(1),
                    burst: limit / limits::RAMP_CLAIMS_PER_SECOND,
                }))
            }
            _ => None,
        };
        let limit = DestinationLimit {
            retry_after: self.retry_after.filter(|_| shares_retry_after),
            hold: hold.filter(|_| is_held),
            quota: None,
        };
        (limit.retry_after.is_some() || limit.hold.is_some()).then_some(limit)
    }

    /// The limit that follows from what the destination says of its own limits.
    pub fn quota_limit(&self) -> Option<DestinationLimit> {
        self.quota.map(|quota| DestinationLimit {
            retry_after: None,
            hold: None,
            quota: Some(quota),
        })
    }

    /// Whether claims let the same jobs through as with another health, whatever the settings.
    pub(in crate::flow) fn means_the_same(&self, other: &Self) -> bool {
        let modes = [HoldMode::Auto, HoldMode::Watch];
        let is_same =
            modes.into_iter().all(
                |mode| match (self.limit(mode, true), other.limit(mode, true)) {
                    (Some(one), Some(other)) => one.means_the_same(&other),
                    (one, other) => one.is_none() && other.is_none(),
                },
            );
        let pace = |health: &Self| health.pace.as_ref().map(LearnedPace::limit);
        is_same && self.quota == other.quota && pace(self) == pace(other)
    }
}

impl DestinationLimit {
    /// Without what is only shown to people: an incident is counted while it lasts.
    fn means_the_same(&self, other: &Self) -> bool {
        let hold = match (&self.hold, &other.hold) {
            (
                Some(HoldLimit::Probe { not_before, .. }),
                Some(HoldLimit::Probe {
                    not_before: other, ..
                }),
            ) => not_before == other,
            (one, other) => one == other,
        };
        hold && self.retry_after == other.retry_after
    }

    /// How many may start, or why none may.
    pub(in crate::flow) fn starts(
        &self,
        state: &GateState,
        guarantee: Guarantee,
        now: Timestamp,
    ) -> Result<u32, ClosedBy> {
        let retry_after = self
            .retry_after
            .filter(|retry_after| retry_after.until > now);
        if let Some(HoldLimit::ByHand { until, hold }) = &self.hold {
            return Err(ClosedBy::ManualHold {
                until: until.filter(|until| *until > now),
                hold: hold.clone(),
            });
        }
        if let Some(retry_after) = retry_after {
            return Err(ClosedBy::RetryAfter(retry_after));
        }
        if let Some(quota) = self.quota {
            let starts = quota.starts_at(state.next_start, now);
            return starts.map_err(|until| ClosedBy::Quota { until, quota });
        }
        match &self.hold {
            None | Some(HoldLimit::ByHand { .. }) => Ok(u32::MAX),
            Some(HoldLimit::Ramp(rate)) => rate
                .starts_at(state.next_start, now)
                .map_err(|until| ClosedBy::Ramp { until, rate: *rate }),
            Some(HoldLimit::Probe {
                not_before,
                incident,
            }) => {
                let mut opens_at = probe_opens_at(*not_before, state.next_start, now);
                if guarantee == Guarantee::AtMostOnce {
                    opens_at = opens_at.max(at_most_once_opens_at(*not_before));
                }
                if opens_at <= now {
                    return Ok(1);
                }
                Err(ClosedBy::Hold {
                    until: opens_at,
                    incident: incident.clone(),
                })
            }
        }
    }

    /// The name of its state. Jobs that are held, and jobs that only wait as they were asked to, pass
    /// different gates.
    pub(in crate::flow) fn state_name(&self) -> &'static str {
        match (&self.hold, self.quota) {
            (Some(_), _) => "health",
            (None, None) => "retry-after",
            (None, Some(_)) => "quota",
        }
    }

    /// What the destination says of its own limits, if that is the limit.
    pub(in crate::flow) fn quota(&self) -> Option<&SharedQuota> {
        self.quota.as_ref()
    }

    pub(in crate::flow) fn is_for_probes(&self) -> bool {
        matches!(self.hold, Some(HoldLimit::Probe { .. }))
    }

    pub(in crate::flow) fn at_most_once_from(&self) -> Option<Timestamp> {
        match self.hold {
            Some(HoldLimit::Probe { not_before, .. }) => Some(at_most_once_opens_at(not_before)),
            _ => None,
        }
    }

    /// When the next start would come, after some.
    pub(in crate::flow) fn after_starts(
        &self,
        next_start: Timestamp,
        starts: u32,
        now: Timestamp,
    ) -> Timestamp {
        if let Some(quota) = self.quota {
            return quota.after(next_start, starts, now);
        }
        match &self.hold {
            Some(HoldLimit::Ramp(rate)) => rate.after(next_start, starts, now),
            // Later than the time from which a probe may start.
            Some(HoldLimit::Probe { .. }) => now.plus(Duration::from_micros(1)),
            Some(HoldLimit::ByHand { .. }) | None => next_start,
        }
    }
}

/// When a job that starts at most once may be the probe: it is likely to fail, and such a job is not
/// tried again.
fn at_most_once_opens_at(not_before: Timestamp) -> Timestamp {
    not_before.plus(limits::PROBE_AT_MOST_ONCE_AFTER)
}

/// When a probe may start. Once one has, the next may when the outcome is known, which gives a new
/// `not_before`; or else when it must be taken for lost.
fn probe_opens_at(not_before: Timestamp, last: Timestamp, now: Timestamp) -> Timestamp {
    let is_under_way = last > not_before && last <= now.plus(limits::CLOCK_STEP_MAX);
    match is_under_way {
        true => last.plus(limits::PROBE_LOST_AFTER),
        false => not_before,
    }
}
