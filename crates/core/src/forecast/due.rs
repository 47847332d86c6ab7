//! How many jobs will be due, minute by minute, and whether they can be worked off.
//!
//! Waiting jobs are known to the minute. Which of their attempts will fail and come back is unknown,
//! so the forecast simulates them: each minute as many start as the recent throughput of the
//! destination allows, the measured share of them fails and is due again after the measured delay.
//! The error of past forecasts is recorded, so that people can judge their accuracy.

use std::{collections::VecDeque, fmt, time::Duration};

use serde::Serialize;

use crate::{
    explain::{brief, thousands},
    job::tally::Tally,
    limits,
    policy::RetryPolicy,
    values::Timestamp,
};

/// The input of a forecast: counts and measurements of a queue or destination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DueFacts {
    /// Jobs that wait, by when they are due and how often they were retried.
    pub waiting: Vec<DueCount>,
    /// Jobs that were created in a minute of the last [`limits::FORECAST_RATE_MINUTES`], and due at
    /// once. They are expected for as many minutes, or as long as they have come for.
    pub created_per_minute: f64,
    /// In how many minutes of the last hour jobs were created.
    pub created_minutes: usize,
    /// The same over the last hour: what comes after those minutes is no more, because a burst of
    /// minutes does not go on for hours.
    pub created_per_minute_hourly: Option<f64>,
    /// What became of attempts lately, by the number of the retry; the last stands for all after
    /// it. Without any, none fails.
    pub retries: Vec<RetryRate>,
    /// The most attempts that succeeded in a minute; see [`throughput_per_minute`].
    pub throughput_per_minute: Option<u64>,
}

/// Jobs that are due in the same minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueCount {
    /// A time in that minute; one that has passed means now.
    pub at: Timestamp,
    /// Attempts of their retry budget so far.
    pub retry_count: u32,
    /// How many.
    pub jobs: u64,
}

/// The outcomes of attempts with the same retry count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryRate {
    /// Attempts that ended.
    pub attempts: u64,
    /// Those that failed and are tried again.
    pub retried: u64,
    /// The typical delay before that.
    pub delay: Duration,
}

/// The recent throughput of a queue or destination, from the successes of each minute: the most in
/// any of them, however many attempts failed beside them. `None` if none succeeded. It may be capable
/// of more, if more was never tried.
pub fn throughput_per_minute(successes: impl IntoIterator<Item = u64>) -> Option<u64> {
    let most = successes.into_iter().max()?;
    (most > 0).then_some(most)
}

/// How many jobs will be due, from a time on, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DueForecast {
    /// Where the first minute begins.
    pub from: Timestamp,
    /// One minute after the other.
    pub minutes: Vec<DueMinute>,
    /// The recent throughput, if it is known.
    pub throughput_per_minute: Option<u64>,
}

/// One minute of a forecast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DueMinute {
    /// Jobs that become due in it.
    pub due: f64,
    /// Attempts that can start in it.
    pub starts: f64,
    /// Jobs that are due and have not started at its end.
    pub backlog: f64,
}

/// Jobs by the number of their retries.
type ByRetry = [f64; limits::FORECAST_RETRIES_MAX];

const NONE: ByRetry = [0.0; limits::FORECAST_RETRIES_MAX];

impl DueForecast {
    /// Plays the next minutes through, at most [`limits::FORECAST_MINUTES_MAX`].
    pub fn new(facts: &DueFacts, now: Timestamp, minutes: usize) -> Self {
        let minutes = minutes.min(limits::FORECAST_MINUTES_MAX);
        let mut due: VecDeque<ByRetry> = VecDeque::from(vec![NONE; minutes]);
        for count in &facts.waiting {
            let minute = whole_minutes(count.at.since(now));
            if let Some(minute) = due.get_mut(minute) {
                #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
                let jobs = count.jobs as f64;
                minute[bucket(count.retry_count)] += jobs;
            }
        }
        let mut backlog = NONE;
        let mut forecast = Self {
            from: now,
            minutes: Vec::with_capacity(minutes),
            throughput_per_minute: facts.throughput_per_minute,
        };
        while let Some(mut arrivals) = due.pop_front() {
            arrivals[0] += facts.created_in(forecast.minutes.len());
            for (waiting, arrived) in backlog.iter_mut().zip(arrivals) {
                *waiting += arrived;
            }
            let share = facts.started_share(total(&backlog));
            let mut starts = 0.0;
            for (retry, waiting) in backlog.iter_mut().enumerate() {
                let started = *waiting * share;
                *waiting -= started;
                starts += started;
                let (failed, later) = facts.retried(retry, started);
                if let Some(later) = due.get_mut(later) {
                    later[(retry + 1).min(limits::FORECAST_RETRIES_MAX - 1)] += failed;
                }
            }
            forecast.minutes.push(DueMinute {
                due: total(&arrivals),
                starts,
                backlog: total(&backlog),
            });
        }
        forecast
    }

    /// How long the last of the jobs that are due at the same time has to wait, at worst; `None` if
    /// the throughput is unknown.
    pub fn longest_wait(&self) -> Option<Duration> {
        let throughput = self.throughput_per_minute.filter(|most| *most > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
        let minutes = self.peak_backlog() / throughput as f64;
        Some(Duration::try_from_secs_f64(minutes * 60.0).unwrap_or(Duration::MAX))
    }

    /// How many jobs are due and have not started, in the worst minute.
    pub fn peak_backlog(&self) -> f64 {
        let backlogs = self.minutes.iter().map(|minute| minute.backlog);
        backlogs.fold(0.0, f64::max)
    }

    /// The upcoming jobs as a sentence, without the rate at which they can start.
    pub fn demand(&self) -> String {
        let due: f64 = self.minutes.iter().map(|minute| minute.due).sum();
        let most = self.minutes.iter().map(|minute| minute.due);
        // A part of a job is due in some minute, but a whole one starts.
        let most = match due.round() {
            0.0 => 0.0,
            _ => most.fold(0.0, f64::max).ceil(),
        };
        let span = Duration::from_secs(60 * self.minutes.len() as u64);
        format!(
            "{} due within {}, at most {} per minute",
            whole(due),
            brief(span),
            whole(most)
        )
    }
}

/// The forecast as a sentence.
impl fmt::Display for DueForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.demand())?;
        match (self.throughput_per_minute, self.longest_wait()) {
            (Some(throughput), Some(wait)) => {
                write!(
                    f,
                    "; recently up to {} per minute succeeded",
                    thousands(throughput)
                )?;
                if wait.as_secs() >= 60 {
                    let wait = Duration::from_secs(wait.as_secs() / 60 * 60);
                    write!(f, ", so some will wait {}", brief(wait))?;
                }
                Ok(())
            }
            _ => f.write_str("; the sustainable rate is unknown"),
        }
    }
}

impl DueFacts {
    /// Adds jobs that wait for a time, some of them for a retry.
    pub fn add_waiting(&mut self, at: Timestamp, jobs: u64, retries: u64) {
        let retries = retries.min(jobs);
        for (retry_count, jobs) in [(0, jobs - retries), (1, retries)] {
            if jobs > 0 {
                self.waiting.push(DueCount {
                    at,
                    retry_count,
                    jobs,
                });
            }
        }
    }

    /// Sets the rates: from attempts that ended in the last
    /// [`limits::FORECAST_RATE_MINUTES`] minutes, and the delays of a policy.
    pub fn set_rates(&mut self, recent: Tally, policy: &RetryPolicy) {
        let first = recent.attempts.saturating_sub(recent.retries);
        let first_successes = recent.successes.saturating_sub(recent.successful_retries);
        #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
        let per_minute = first as f64 / f64::from(limits::FORECAST_RATE_MINUTES);
        self.created_per_minute = per_minute;
        let retried = recent.retries.saturating_sub(recent.successful_retries);
        let rates = [
            (first, first.saturating_sub(first_successes)),
            (recent.retries, retried.saturating_sub(recent.exhausted)),
        ];
        self.set_retry_rates(rates, policy);
    }

    /// Sets how many of the first attempts, and how many of the retries, come back, with the delays
    /// of a policy. The last attempt of a policy does not.
    pub fn set_retry_rates(&mut self, rates: [(u64, u64); 2], policy: &RetryPolicy) {
        let delays = policy.preview().rows.into_iter().skip(1);
        let delays = delays.take(limits::FORECAST_RETRIES_MAX - 1).enumerate();
        let rates = delays.map(|(index, row)| {
            let (attempts, retried) = rates[index.min(1)];
            RetryRate {
                attempts,
                retried,
                delay: row.delay.typical,
            }
        });
        self.retries = rates.chain([RetryRate::default()]).collect();
    }

    /// Jobs that are created in a minute ahead.
    fn created_in(&self, minute: usize) -> f64 {
        let is_soon = minute
            <= self
                .created_minutes
                .max(limits::FORECAST_RATE_MINUTES as usize);
        let hourly = self.created_per_minute_hourly.filter(|_| !is_soon);
        let created = self.created_per_minute;
        hourly
            .map_or(created, |hourly| hourly.min(created))
            .max(0.0)
    }

    /// The share of due jobs that can start within a minute.
    fn started_share(&self, due: f64) -> f64 {
        match self.throughput_per_minute {
            #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
            Some(most) if due > most as f64 => most as f64 / due,
            _ => 1.0,
        }
    }

    /// How many of these attempts come back, and how many minutes after this one.
    fn retried(&self, retry: usize, started: f64) -> (f64, usize) {
        let rate = self.retries.get(retry).or(self.retries.last());
        match rate.filter(|rate| rate.attempts > 0) {
            None => (0.0, 0),
            Some(rate) => {
                #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
                let share = rate.retried.min(rate.attempts) as f64 / rate.attempts as f64;
                // The next minute is the first of the queue by then.
                (started * share, whole_minutes(rate.delay))
            }
        }
    }
}

/// A number of jobs, for people.
fn whole(jobs: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of jobs"
    )]
    thousands(jobs.round() as u64)
}

fn total(jobs: &ByRetry) -> f64 {
    jobs.iter().sum()
}

fn bucket(retry_count: u32) -> usize {
    let most = limits::FORECAST_RETRIES_MAX - 1;
    usize::try_from(retry_count).map_or(most, |retry| retry.min(most))
}

fn whole_minutes(time: Duration) -> usize {
    usize::try_from(time.as_secs() / 60).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
