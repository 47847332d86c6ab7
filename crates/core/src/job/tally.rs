//! Counts of attempts: each is counted once, in the transaction that ends it.

use std::ops::AddAssign;

use crate::{
    job::attempt::{Attempt, AttemptStatus},
    state::EndReason,
};

/// Counts of ended attempts, without those that were snoozed or released, and without questions.
// Exhaustive on purpose: every store adds up each field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All attempts.
    pub attempts: u64,
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that failed or were lost; a cancelled one is neither success nor failure.
    pub failures: u64,
    /// Attempts that were retries.
    pub retries: u64,
    /// Retries that succeeded.
    pub successful_retries: u64,
    /// Jobs given up because no retry was left.
    pub exhausted: u64,
}

impl Tally {
    pub(crate) fn of(record: Option<&Attempt>, reason: Option<EndReason>) -> Self {
        let record = record.filter(|record| {
            !matches!(
                record.status,
                AttemptStatus::Snoozed | AttemptStatus::Released
            )
        });
        let Some(record) = record else {
            return Self::default();
        };
        let exhausted = (reason == Some(EndReason::Exhausted)).into();
        if record.status == AttemptStatus::Asked {
            return Self {
                exhausted,
                ..Self::default()
            };
        }
        let success = record.status == AttemptStatus::Success;
        let failure = matches!(record.status, AttemptStatus::Failed | AttemptStatus::Lost);
        let retry = record.retry_count() > 0;
        Self {
            attempts: 1,
            successes: success.into(),
            failures: failure.into(),
            retries: retry.into(),
            successful_retries: (retry && success).into(),
            exhausted,
        }
    }

    /// The share of retries that succeeded, from 0 to 1; `None` without any retry.
    #[expect(
        clippy::cast_precision_loss,
        reason = "people read a few digits of a rate"
    )]
    pub fn retry_success_rate(&self) -> Option<f64> {
        (self.retries > 0).then(|| self.successful_retries as f64 / self.retries as f64)
    }

    /// The share of attempts that were retries, from 0 to 1; `None` without any attempt.
    #[expect(
        clippy::cast_precision_loss,
        reason = "people read a few digits of a rate"
    )]
    pub fn retry_rate(&self) -> Option<f64> {
        (self.attempts > 0).then(|| self.retries as f64 / self.attempts as f64)
    }

    /// The share of attempts that failed, from 0 to 1; `None` without attempts.
    #[expect(
        clippy::cast_precision_loss,
        reason = "people read a few digits of a rate"
    )]
    pub fn failure_rate(&self) -> Option<f64> {
        (self.attempts > 0).then(|| self.failures as f64 / self.attempts as f64)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.successes += other.successes;
        self.failures += other.failures;
        self.retries += other.retries;
        self.successful_retries += other.successful_retries;
        self.exhausted += other.exhausted;
    }
}
