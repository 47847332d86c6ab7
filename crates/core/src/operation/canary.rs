//! A few jobs first.

use serde::{Deserialize, Serialize};

use super::Operation;
use crate::{limits, values::Invalid};

/// Tries a few jobs first, then more and more of them, and stops if too many fail again.
///
/// The stages are [`limits::CANARY_JOBS`] jobs, then as many as make up
/// [`limits::CANARY_PERCENTS`] of all. Each waits until the next attempt of every job in it has
/// ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CanaryRule {
    /// The share of the tried jobs that may fail again, from 0 to 1.
    pub fail_share_max: f64,
}

impl CanaryRule {
    /// Refuses a share that is not between 0 and 1.
    pub fn new(fail_share_max: f64) -> Result<Self, Invalid> {
        if !(0.0..=1.0).contains(&fail_share_max) {
            let expected = "must be between 0 and 1";
            return Err(Invalid::new("failShareMax", fail_share_max, expected));
        }
        Ok(Self { fail_share_max })
    }
}

impl Default for CanaryRule {
    fn default() -> Self {
        Self {
            fail_share_max: limits::CANARY_FAIL_SHARE,
        }
    }
}

impl Operation {
    /// How many jobs may be worked on up to the end of the current stage; `None` in the last, and
    /// without stages.
    pub(super) fn stage_end(&self) -> Option<u64> {
        self.canary?;
        stage_end(self.total, self.progress.stage)
    }

    /// Whether all jobs up to the end of the current stage were worked on, and the next attempt of
    /// each has ended.
    pub(super) fn is_stage_over(&self) -> bool {
        let progress = &self.progress;
        let is_worked = self.stage_end().is_some_and(|end| progress.worked >= end);
        is_worked && progress.outcomes.total() >= progress.changed
    }

    /// Whether more jobs have failed again than may at the end of the stage, even if all others of
    /// it succeed.
    #[expect(
        clippy::cast_precision_loss,
        reason = "exact up to nine quadrillion jobs"
    )]
    pub(super) fn is_too_bad(&self) -> bool {
        let Some(canary) = self.canary else {
            return false;
        };
        let progress = &self.progress;
        let refused = progress.worked.saturating_sub(progress.changed);
        let end = match progress.is_at_end {
            true => progress.worked,
            false => self.stage_end().unwrap_or(self.total),
        };
        let tried = end.saturating_sub(refused).max(progress.changed);
        progress.outcomes.failed() as f64 > canary.fail_share_max * tried as f64
    }
}

fn stage_end(total: u64, stage: usize) -> Option<u64> {
    let end = match stage.checked_sub(1) {
        None => limits::CANARY_JOBS,
        Some(index) => {
            let percent = limits::CANARY_PERCENTS.get(index)?;
            let share = u128::from(total) * u128::from(*percent);
            u64::try_from(share.div_ceil(100)).unwrap_or(u64::MAX)
        }
    };
    Some(end.clamp(limits::CANARY_JOBS.min(total), total))
}
