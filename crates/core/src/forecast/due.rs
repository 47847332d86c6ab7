//! How many jobs will be due, minute by minute, and whether they can be worked off.
//!
//! Waiting jobs are known to the minute. Which of their attempts will fail and come back is unknown,
//! so the forecast simulates them: each minute as many start as the recent throughput of the
//! destination allows, the measured share of them fails and is due again after the measured delay.
//! The error of past forecasts is recorded, so that people can judge their accuracy.

use std::{collections::VecDeque, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{explain::brief, job::tally::Tally, limits, policy::RetryPolicy, values::Timestamp};

/// The input of a forecast: counts and measurements of a queue or destination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DueFacts {
    /// Jobs that wait, by when they are due and how often they were retried.
    pub waiting: Vec<DueCount>,
    /// Jobs that were lately created in a minute, and due at once.
    pub created_per_minute: f64,
    /// What became of attempts lately, by the number of the retry; the last stands for all after
    /// it. Without any, none fails.
    pub retries: Vec<RetryRate>,
    /// Attempts that lately succeeded in a minute without trouble; see [`throughput_per_minute`].
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

/// Successes and failures of one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinuteOutcomes {
    /// Attempts that succeeded.
    pub successes: u64,
    /// Attempts that failed.
    pub failures: u64,
}

/// The recent throughput of a destination: the most successes in a minute in which at most one
/// attempt in [`limits::THROUGHPUT_FAILURES_DIVISOR`] failed. `None` if there was no such minute.
/// The destination may be capable of more, if more was never tried.
pub fn throughput_per_minute(minutes: &[MinuteOutcomes]) -> Option<u64> {
    let is_fine = |minute: &&MinuteOutcomes| {
        let attempts = minute.successes + minute.failures;
        minute.successes > 0 && minute.failures * limits::THROUGHPUT_FAILURES_DIVISOR <= attempts
    };
    let fine = minutes.iter().filter(is_fine);
    fine.map(|minute| minute.successes).max()
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
            arrivals[0] += facts.created_per_minute.max(0.0);
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
}

/// The forecast as a sentence.
impl fmt::Display for DueForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let due: f64 = self.minutes.iter().map(|minute| minute.due).sum();
        let most = self.minutes.iter().map(|minute| minute.due);
        // A part of a job is due in some minute, but a whole one starts.
        let most = match due.round() {
            0.0 => 0.0,
            _ => most.fold(0.0, f64::max).ceil(),
        };
        let span = Duration::from_secs(60 * self.minutes.len() as u64);
        let span = brief(span);
        write!(
            f,
            "{:.0} due within {span}, at most {most} per minute",
            due.round()
        )?;
        match (self.throughput_per_minute, self.longest_wait()) {
            (Some(throughput), Some(wait)) => {
                write!(f, "; recently up to {throughput} per minute succeeded")?;
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

/// How wrong forecasts of the last hours were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastError {
    /// The newest last.
    hours: VecDeque<HourError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HourError {
    /// The number of the hour since 1970.
    hour: i64,
    due: f64,
    /// The sum of what each minute was wrong by.
    wrong_by: f64,
}

const HOUR_MICROS: i64 = 60 * 60 * 1_000_000; // not a limit: an hour

impl ForecastError {
    /// Adds a minute that has passed: what was forecast for it, and what really became due.
    pub fn record(&mut self, minute: Timestamp, forecast: f64, due: u64) {
        let hour = minute.as_micros() / HOUR_MICROS;
        // A clock that was set back: what it wrote in the future tells nothing.
        self.hours.retain(|other| other.hour <= hour);
        if self.hours.back().is_none_or(|last| last.hour < hour) {
            self.hours.push_back(HourError {
                hour,
                due: 0.0,
                wrong_by: 0.0,
            });
        }
        self.hours
            .retain(|other| hour - other.hour < limits::FORECAST_ERROR_HOURS);
        if let Some(last) = self.hours.back_mut() {
            #[expect(clippy::cast_precision_loss, reason = "people read a few digits")]
            let due = due as f64;
            last.due += due;
            last.wrong_by += (forecast - due).abs();
        }
    }

    /// By which part of the jobs that became due the forecasts of the last hours were wrong: 0 for
    /// not at all, 1 for as many as there were. `None` if none became due.
    pub fn share(&self) -> Option<f64> {
        let due: f64 = self.hours.iter().map(|hour| hour.due).sum();
        let wrong_by: f64 = self.hours.iter().map(|hour| hour.wrong_by).sum();
        (due > 0.0).then(|| wrong_by / due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpcomingJobs;
    use crate::policy::{Jitter, PolicyPatch};

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const MINUTE: Duration = Duration::from_secs(60);

    fn waiting(minute: u32, jobs: u64) -> DueCount {
        DueCount {
            at: T0.plus(minute * MINUTE),
            retry_count: 0,
            jobs,
        }
    }

    fn rate(retried: u64, delay: Duration) -> RetryRate {
        RetryRate {
            attempts: 100,
            retried,
            delay,
        }
    }

    fn due(forecast: &DueForecast) -> Vec<f64> {
        let minutes = forecast.minutes.iter();
        minutes
            .map(|minute| (minute.due * 10.0).round() / 10.0)
            .collect()
    }

    #[test]
    fn waiting_jobs_are_due_in_their_minute_and_overdue_jobs_now() {
        let facts = DueFacts {
            waiting: vec![
                DueCount {
                    at: T0.minus(MINUTE),
                    ..waiting(0, 7)
                },
                waiting(0, 1),
                waiting(2, 5),
                waiting(999_999, 5),
            ],
            ..DueFacts::default()
        };
        let forecast = DueForecast::new(&facts, T0, 4);
        assert_eq!(due(&forecast), [8.0, 0.0, 5.0, 0.0]);
        assert_eq!(forecast.minutes[0].starts, 8.0);
    }

    #[test]
    fn the_measured_part_fails_and_comes_back_after_the_measured_delay() {
        let facts = DueFacts {
            waiting: vec![waiting(0, 1000)],
            retries: vec![rate(50, 2 * MINUTE), rate(10, Duration::ZERO)],
            ..DueFacts::default()
        };
        // Half of them three minutes later, because they fail at the end of their minute; then a
        // tenth each minute.
        let expected = [1000.0, 0.0, 0.0, 500.0, 50.0, 5.0];
        assert_eq!(due(&DueForecast::new(&facts, T0, 6)), expected);
    }

    #[test]
    fn rates_come_from_ended_attempts_and_delays_from_the_policy() {
        let mut facts = DueFacts::default();
        let recent = Tally {
            attempts: 150,
            successes: 90,
            failures: 60,
            retries: 50,
            successful_retries: 10,
            exhausted: 15,
        };
        let patch = PolicyPatch::fixed(2 * MINUTE).jitter(Jitter::None);
        facts.set_rates(recent, &patch.max_retries(2).build().unwrap());
        assert_eq!(facts.created_per_minute, 10.0);
        let rates: Vec<_> = facts
            .retries
            .iter()
            .map(|it| (it.attempts, it.retried))
            .collect();
        assert_eq!(rates, [(100, 20), (50, 25), (0, 0)]);
        assert_eq!(facts.retries[1].delay, 2 * MINUTE);
        facts.add_waiting(T0, 5, 2);
        let waiting: Vec<_> = facts
            .waiting
            .iter()
            .map(|it| (it.retry_count, it.jobs))
            .collect();
        assert_eq!(waiting, [(0, 3), (1, 2)]);
    }

    #[test]
    fn created_and_retried_jobs_settle_at_the_computed_rate() {
        let facts = DueFacts {
            created_per_minute: 60.0,
            retries: vec![rate(40, MINUTE)],
            ..DueFacts::default()
        };
        let forecast = DueForecast::new(&facts, T0, 120);
        // 60 / (1 - 0.4)
        let last = forecast.minutes.last().unwrap().due;
        assert!((last - 100.0).abs() < 0.1, "{last}");
    }

    #[test]
    fn nothing_is_lost_between_due_started_and_backlog() {
        let facts = DueFacts {
            waiting: vec![waiting(0, 500), waiting(3, 1000)],
            created_per_minute: 10.0,
            retries: vec![rate(20, MINUTE)],
            throughput_per_minute: Some(90),
        };
        let forecast = DueForecast::new(&facts, T0, 60);
        let mut backlog = 0.0;
        for minute in &forecast.minutes {
            assert!(minute.starts <= 90.0 + 1e-9);
            assert!((backlog + minute.due - minute.starts - minute.backlog).abs() < 1e-6);
            backlog = minute.backlog;
        }
    }

    #[test]
    fn jobs_that_cannot_be_completed_in_time_are_a_storm() {
        let upcoming = |jobs, throughput| DueFacts {
            waiting: vec![waiting(5, jobs)],
            throughput_per_minute: throughput,
            ..DueFacts::default()
        };
        let is_storm = |jobs, throughput| {
            let forecast = DueForecast::new(&upcoming(jobs, throughput), T0, 60);
            UpcomingJobs::of(&forecast).is_some_and(|upcoming| upcoming.wait > 15 * MINUTE)
        };
        assert!(is_storm(10_000, Some(100)));
        assert!(!is_storm(1_000, Some(100)));
        // A few jobs are not, however slow, and without a measurement it is not known.
        assert!(!is_storm(50, Some(1)));
        assert!(!is_storm(10_000, None));
        let forecast = DueForecast::new(&upcoming(10_100, Some(100)), T0, 60);
        let sentence = "10100 due within 1h, at most 10100 per minute; recently up to 100 per minute \
                        succeeded, so some will wait 1h 40m";
        assert_eq!(forecast.to_string(), sentence);
        assert_eq!(forecast.longest_wait(), Some(100 * MINUTE));
    }

    #[test]
    fn minutes_with_many_failures_do_not_count_as_throughput() {
        let minute = |successes, failures| MinuteOutcomes {
            successes,
            failures,
        };
        assert_eq!(
            throughput_per_minute(&[minute(50, 0), minute(80, 5), minute(500, 300)]),
            Some(80)
        );
        assert_eq!(throughput_per_minute(&[minute(0, 0), minute(1, 9)]), None);
    }

    #[test]
    fn it_knows_how_wrong_it_was_in_the_last_hours() {
        let mut error = ForecastError::default();
        assert_eq!(error.share(), None);
        error.record(T0, 80.0, 100);
        error.record(T0.plus(MINUTE), 120.0, 100);
        assert_eq!(error.share(), Some(0.2));
        // A day later, only what is new counts; and so it does if the clock is set back.
        let later = T0.plus(limits::DAY);
        error.record(later, 50.0, 100);
        assert_eq!(error.share(), Some(0.5));
        error.record(T0, 100.0, 100);
        assert_eq!(error.share(), Some(0.0));
    }

    #[test]
    fn numbers_without_sense_make_no_panic() {
        let facts = DueFacts {
            waiting: vec![DueCount {
                at: Timestamp::MAX,
                retry_count: u32::MAX,
                jobs: u64::MAX,
            }],
            created_per_minute: f64::NAN,
            retries: vec![RetryRate {
                attempts: 1,
                retried: u64::MAX,
                delay: Duration::MAX,
            }],
            throughput_per_minute: Some(0),
        };
        let forecast = DueForecast::new(&facts, T0, usize::MAX);
        assert_eq!(forecast.minutes.len(), limits::FORECAST_MINUTES_MAX);
        assert_eq!(UpcomingJobs::of(&forecast), None);
    }
}
