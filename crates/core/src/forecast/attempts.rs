//! The attempts that a job has ahead of it, if all of them fail.

use crate::{
    job::Job,
    policy::Dice,
    state::{Guarantee, JobState},
    values::Timestamp,
};

/// A future attempt of a job, if all attempts before it fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptForecast {
    /// Its number in the job's history.
    pub attempt: u32,
    /// Its number within the retry budget: 0 for the first attempt.
    pub retry_count: u32,
    /// When it starts, if the ones before it fail at once and jitter takes typical values.
    pub at: Timestamp,
}

impl Job {
    /// The attempts to come if every one of them fails at once, the next one first; none for a
    /// job that has ended, nor for one that waits for other jobs, whose times are unknown.
    pub fn forecast(&self, now: Timestamp) -> Vec<AttemptForecast> {
        if self.is_blocked() {
            return Vec::new();
        }
        let progress = &self.progress;
        let retries_used = progress.retries_used();
        let (mut attempts, first) = match progress.state {
            JobState::Succeeded | JobState::Failed | JobState::Cancelled => return Vec::new(),
            JobState::Running => (Vec::new(), (progress.attempt, retries_used, now)),
            JobState::Waiting => {
                let counted = progress.attempt - progress.attempts_before.min(progress.attempt);
                let next = AttemptForecast {
                    attempt: progress.attempt + 1,
                    retry_count: counted,
                    at: progress.run_at.max(now),
                };
                (vec![next], (next.attempt, counted, next.at))
            }
        };
        if self.guarantee == Guarantee::AtMostOnce {
            return attempts;
        }
        let (mut attempt, mut retry_count, mut at) = first;
        let elapsed = at.since(progress.first_started_at.unwrap_or(at));
        let typical = || Dice::TYPICAL;
        for delay in self
            .policy
            .delays_after(retry_count, elapsed, progress.last_delay, typical)
        {
            (attempt, retry_count, at) = (attempt + 1, retry_count + 1, at.plus(delay.jittered));
            attempts.push(AttemptForecast {
                attempt,
                retry_count,
                at,
            });
        }
        attempts
    }
}
