//! When a job is expected to start, and the basis of that estimate.

use std::time::Duration;

use super::{Blocker, BlockerKind, StartEstimate, StartFacts};
use crate::{state::JobState, values::Timestamp};

impl StartFacts<'_> {
    /// The latest time of all blockers that end by time.
    pub(super) fn estimate(&self, blockers: &[Blocker], now: Timestamp) -> Option<StartEstimate> {
        if self.job.progress.state != JobState::Waiting {
            return None;
        }
        let mut latest: Option<&Blocker> = None;
        let has_pace = blockers.iter().any(|blocker| {
            let is_pace = matches!(
                blocker.kind,
                BlockerKind::Rate | BlockerKind::Ramping | BlockerKind::Quota
            );
            is_pace && blocker.likely.is_some()
        });
        for blocker in blockers {
            // At a gate, those before it are part of what the gate says, and its own pace says more
            // than how many started lately.
            let is_counted = has_pace || (blockers.len() > 1 && blocker.likely.is_none());
            if blocker.kind == BlockerKind::Behind && is_counted {
                continue;
            }
            let likely = blocker.likely?;
            if latest.and_then(|latest| latest.likely) < Some(likely) {
                latest = Some(blocker);
            }
        }
        Some(match latest {
            Some(blocker) => StartEstimate {
                at: blocker.likely?,
                basis: basis(blocker),
            },
            None => StartEstimate {
                at: now,
                basis: "nothing blocks it".to_owned(),
            },
        })
    }
}

/// The basis of an estimate.
fn basis(blocker: &Blocker) -> String {
    match blocker.kind {
        BlockerKind::RunAt => "its due time",
        BlockerKind::Paused => "the end of the pause",
        BlockerKind::Held if blocker.evidence.is_none() => "the end of the hold",
        BlockerKind::Held => "the next probe, which may be this job",
        BlockerKind::RetryAfter => "the Retry-After of the destination",
        BlockerKind::Quota => "the remaining quota of the destination and the jobs ahead",
        BlockerKind::Rate => "the rate limit and the jobs ahead",
        BlockerKind::Ramping => "the ramp-up, which doubles every second, and the jobs ahead",
        BlockerKind::Usage => "what leaves the window of its rate",
        BlockerKind::RetryShare => "the end of this minute",
        BlockerKind::Behind => "the current start rate of its tenant",
        _ => "its blockers",
    }
    .to_owned()
}

/// A time after some starts at this pace.
pub(super) fn after_starts(now: Timestamp, starts: u64, interval: Duration) -> Timestamp {
    let starts = u32::try_from(starts).unwrap_or(u32::MAX);
    now.plus(interval.saturating_mul(starts))
}
