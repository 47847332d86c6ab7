//! Replay: another policy applied to recorded jobs.
//!
//! The first attempt of a job is the same under every policy, so it is taken from the record. Each
//! later one is decided by the one decider on a virtual clock, and what would have come of it is
//! read off what was observed near its time: of the job itself, of retries of other jobs after a
//! failure of the same cause, or, if the job failed together with most others, of any attempt.
//! That keeps apart what time heals (an outage) and what it does not (a bad payload).
//!
//! It does not know what was never observed, and counts how often that is so. Nor does it know
//! that other retries would have made another load: where a system refuses what is too much for
//! it, the figures are those of the load that it had.

mod history;
mod measure;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use serde::Serialize;

use crate::{
    explain::brief,
    failure::{Failure, FailureFingerprint},
    job::{
        Job, NewJob,
        attempt::{Attempt, AttemptStatus, Outcome},
    },
    lifecycle::after_attempt,
    limits,
    policy::{Dice, DiceSequence, RetryPolicy},
    state::JobState,
    values::{Destination, Invalid, JobId, Kind, Payload, Timestamp, WorkerName, duration},
    webhook::delivery::Subscriptions,
};

pub use history::ReplayHistory;
use history::Run;
pub use measure::MeasuredTarget;

/// One attempt that was really made.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedAttempt {
    /// The job of the attempt.
    pub job: JobId,
    /// Retries of its budget before it.
    pub retry_count: u32,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// The failure; `None` if it succeeded.
    pub failure: Option<RecordedFailure>,
    /// Whether the job ended with it.
    pub ends_job: bool,
}

/// The failure of a recorded attempt, with its fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedFailure {
    /// The fingerprint.
    pub fingerprint: FailureFingerprint,
    /// The failure, without its trace.
    pub failure: Arc<Failure>,
}

impl RecordedAttempt {
    /// What a replay needs of an attempt's record; `None` for one that was snoozed, released or
    /// cancelled, which no policy decides.
    pub fn of(record: &Attempt, kind: &Kind, destination: Option<&Destination>) -> Option<Self> {
        let failure = match record.status {
            AttemptStatus::Success => None,
            AttemptStatus::Failed | AttemptStatus::Lost => {
                let failure = record.failure.as_ref()?;
                let fingerprint = failure.fingerprint;
                let of_now = || FailureFingerprint::of(failure, kind, destination);
                Some(RecordedFailure {
                    fingerprint: fingerprint.unwrap_or_else(of_now),
                    failure: Arc::new(failure.without_trace()),
                })
            }
            AttemptStatus::Snoozed
            | AttemptStatus::Released
            | AttemptStatus::Cancelled
            | AttemptStatus::Asked => return None,
        };
        let decision = record.decision.as_ref();
        let is_retried = decision.is_some_and(|decision| decision.next_run_at.is_some());
        Some(Self {
            job: record.job,
            retry_count: record.retry_count(),
            started_at: record.started_at,
            finished_at: record.finished_at,
            failure,
            ends_job: !is_retried,
        })
    }

    fn duration(&self) -> Duration {
        self.finished_at.since(self.started_at)
    }

    fn outcome(&self) -> Outcome {
        match &self.failure {
            None => Outcome::Success { output: None },
            Some(recorded) => Outcome::Failure {
                failure: Failure::clone(&recorded.failure),
                output: None,
            },
        }
    }
}

/// The policies of one job that are compared.
#[derive(Clone, Copy, Debug)]
pub struct ReplayPolicies<'p> {
    /// The one that was used.
    pub old: &'p Arc<RetryPolicy>,
    /// The other one.
    pub new: &'p Arc<RetryPolicy>,
}

/// The results of jobs under a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayMetrics {
    /// Jobs whose first attempt is in the record; a requeued one counts again.
    pub jobs: u64,
    /// Attempts that were made for them.
    pub attempts: u64,
    /// How many of them succeeded.
    pub successes: u64,
    /// How many of them became dead letters.
    pub dead_letters: u64,
    /// From the start of the first attempt to success, for half of those that succeeded.
    #[serde(with = "duration::text_option")]
    pub time_to_success_p50: Option<Duration>,
    /// The same for 95 of 100.
    #[serde(with = "duration::text_option")]
    pub time_to_success_p95: Option<Duration>,
    /// Attempts that started in the fullest minute.
    pub peak_starts_per_minute: u64,
}

/// The results of a policy, beside the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ReplayReport {
    /// The recorded results.
    pub recorded: ReplayMetrics,
    /// The policy that was used, replayed as the other one: how far it is from the record is how
    /// far the other one may be from the truth. `None` if too little was observed.
    pub old: Option<ReplayMetrics>,
    /// The other policy; `None` if too little was observed to know.
    pub new: Option<ReplayMetrics>,
    /// The share of the other policy's retries that fall near an attempt on record, from 0 to 1; 1 if
    /// it makes none. First attempts are on record, and do not count.
    pub observed_share: f64,
}

impl ReplayReport {
    /// Whether enough was observed to know what the other policy would have done.
    pub fn is_known(&self) -> bool {
        self.new.is_some()
    }
}

/// The report as sentences.
impl fmt::Display for ReplayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.recorded.jobs == 0 {
            return f.write_str("there are no attempts to replay");
        }
        let percent = |share: f64| (share * 100.0).floor();
        let Some(new) = &self.new else {
            let near = duration::format(limits::REPLAY_NEAR);
            return write!(
                f,
                "the effect of this policy is unknown: only {} % of its retries are backed by \
                 attempts observed within {near}, and {} % are required",
                percent(self.observed_share),
                percent(limits::REPLAY_OBSERVED_MIN),
            );
        };
        let recorded = &self.recorded;
        let time = |time: Option<Duration>| time.map_or("–".to_owned(), brief);
        write!(
            f,
            "{} jobs: {} attempts instead of {}, {} dead letters instead of {}, \
             95 % of successes within {} instead of {}, at most {} starts per minute instead of {}",
            recorded.jobs,
            new.attempts,
            recorded.attempts,
            new.dead_letters,
            recorded.dead_letters,
            time(new.time_to_success_p95),
            time(recorded.time_to_success_p95),
            new.peak_starts_per_minute,
            recorded.peak_starts_per_minute,
        )
    }
}

impl ReplayHistory {
    /// Runs two policies of each job over the record: the one that was used, and another one. Jobs
    /// without policies are only used to see what happened. The seed decides every roll, so that a
    /// replay can be repeated; [`limits::REPLAY_STEPS_MAX`] attempts are the most.
    pub fn replay<'p>(
        &self,
        policies: impl Fn(JobId) -> Option<ReplayPolicies<'p>>,
        seed: u64,
    ) -> Result<ReplayReport, Invalid> {
        let policies = self.runs().iter().filter_map(|run| {
            let first = self.attempts_of(run).first()?;
            Some((run, policies(first.job)?))
        });
        let policies: Vec<(&Run, ReplayPolicies<'_>)> = policies.collect();
        let recorded = self.recorded(policies.iter().map(|(run, _)| *run));
        let most = limits::REPLAY_STEPS_MAX;
        let old = policies.iter().map(|(run, of)| (*run, of.old));
        let old = self.simulate(old, seed, most)?;
        let new = policies.iter().map(|(run, of)| (*run, of.new));
        let new = self.simulate(new, seed, most)?;
        let known = |simulation: &Simulation| {
            let is_known = simulation.observed_share() >= limits::REPLAY_OBSERVED_MIN;
            is_known.then(|| simulation.counter.metrics())
        };
        Ok(ReplayReport {
            recorded,
            old: known(&old),
            new: known(&new),
            observed_share: new.observed_share(),
        })
    }

    fn recorded<'r>(&self, runs: impl Iterator<Item = &'r Run>) -> ReplayMetrics {
        let mut counter = Counter::default();
        for run in runs {
            counter.metrics.jobs += 1;
            let attempts = self.attempts_of(run);
            for attempt in attempts {
                counter.start(attempt.started_at);
            }
            let (Some(first), Some(last)) = (attempts.first(), attempts.last()) else {
                continue;
            };
            match last.failure {
                None => counter.succeed(last.finished_at.since(first.started_at)),
                Some(_) if last.ends_job => counter.metrics.dead_letters += 1,
                Some(_) => {}
            }
        }
        counter.metrics()
    }

    fn simulate<'r>(
        &'r self,
        runs: impl Iterator<Item = (&'r Run, &'r Arc<RetryPolicy>)>,
        seed: u64,
        most: u64,
    ) -> Result<Simulation, Invalid> {
        let mut simulation = Simulation::default();
        for (run, policy) in runs {
            self.simulate_run(run, policy, seed, &mut simulation);
            if simulation.counter.metrics.attempts > most {
                let expected = format!(
                    "must simulate at most {most} attempts over this history; choose a shorter time range"
                );
                return Err(Invalid::new("retry", "too many attempts", expected));
            }
        }
        Ok(simulation)
    }

    fn simulate_run(
        &self,
        run: &Run,
        policy: &Arc<RetryPolicy>,
        seed: u64,
        simulation: &mut Simulation,
    ) {
        let Some(mut expected) = self.first(run) else {
            return;
        };
        let first = expected.attempt;
        let counter = &mut simulation.counter;
        counter.metrics.jobs += 1;
        let new = NewJob::new(first.job, Kind::http(), Payload::default(), policy.clone());
        let mut job = new.into_job(first.started_at);
        let mut rolls = rolls_of(first, seed);
        loop {
            let at = job.progress.run_at;
            counter.start(at);
            let end = at.plus(expected.attempt.duration());
            job = after(job, expected.attempt.outcome(), at, end, rolls.next());
            match job.progress.state {
                JobState::Succeeded => counter.succeed(end.since(first.started_at)),
                JobState::Failed | JobState::Cancelled => counter.metrics.dead_letters += 1,
                JobState::Waiting | JobState::Running => {
                    let due = job.progress.run_at;
                    self.expect_next(&mut expected, at, due, rolls.next());
                    simulation.retries += 1;
                    simulation.observed += u64::from(expected.is_observed);
                    continue;
                }
            }
            return;
        }
    }
}

/// The job after one attempt, as the one decider says.
fn after(job: Job, outcome: Outcome, at: Timestamp, end: Timestamp, dice: Dice) -> Job {
    // A constant that is a name.
    let Ok(worker) = WorkerName::new("replay") else {
        return job;
    };
    let claim = job.claim(worker, None, at);
    let ended = claim.end(outcome, end);
    let transition = after_attempt(&ended, &Subscriptions::default(), dice);
    let mut job = Job::clone(ended.job());
    job.progress = transition.to;
    job
}

#[derive(Default)]
struct Simulation {
    counter: Counter,
    retries: u64,
    observed: u64,
}

impl Simulation {
    #[expect(
        clippy::cast_precision_loss,
        reason = "people read a few digits of a share"
    )]
    fn observed_share(&self) -> f64 {
        match self.retries {
            0 => 1.0,
            retries => self.observed as f64 / retries as f64,
        }
    }
}

#[derive(Default)]
struct Counter {
    metrics: ReplayMetrics,
    times: Vec<Duration>,
    starts: HashMap<i64, u64>,
}

const MINUTE_MICROS: i64 = 60_000_000; // not a limit: a minute

impl Counter {
    fn start(&mut self, at: Timestamp) {
        self.metrics.attempts += 1;
        *self
            .starts
            .entry(at.as_micros() / MINUTE_MICROS)
            .or_default() += 1;
    }

    fn succeed(&mut self, time: Duration) {
        self.metrics.successes += 1;
        self.times.push(time);
    }

    fn metrics(&self) -> ReplayMetrics {
        let mut times = self.times.clone();
        times.sort_unstable();
        // The least time that this part of all is not above.
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100);
            times.get(rank.saturating_sub(1)).copied()
        };
        ReplayMetrics {
            time_to_success_p50: percentile(50),
            time_to_success_p95: percentile(95),
            peak_starts_per_minute: self.starts.values().copied().max().unwrap_or(0),
            ..self.metrics
        }
    }
}

/// The rolls of one job: the same whatever other jobs there are, and for both policies.
fn rolls_of(first: &RecordedAttempt, seed: u64) -> DiceSequence {
    let bytes = first.job.bits().to_be_bytes();
    let (high, low) = bytes.split_at(8);
    let part = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_be_bytes);
    let start = first.started_at.as_micros().unsigned_abs();
    DiceSequence::from_seed(seed ^ part(high).rotate_left(32) ^ part(low) ^ start)
}

#[cfg(test)]
mod tests;
