use super::*;
use crate::policy::{Jitter, PolicyPatch};
use crate::{ForecastTrust, UpcomingJobs};

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
        created_minutes: 5,
        created_per_minute_hourly: Some(5.0),
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
    let trust = ForecastTrust {
        oldest_attempt: Some(T0.minus(60 * MINUTE)),
        error: None,
    };
    let is_storm = |jobs, throughput| {
        let forecast = DueForecast::new(&upcoming(jobs, throughput), T0, 60);
        UpcomingJobs::of(&forecast, trust).is_some_and(|upcoming| upcoming.wait > 15 * MINUTE)
    };
    assert!(is_storm(10_000, Some(100)));
    assert!(!is_storm(1_000, Some(100)));
    // A few jobs are not, however slow, and without a measurement it is not known.
    assert!(!is_storm(50, Some(1)));
    assert!(!is_storm(10_000, None));
    let forecast = DueForecast::new(&upcoming(10_100, Some(100)), T0, 60);
    let sentence = "10,100 due within 1h, at most 10,100 per minute; recently up to 100 per minute \
                    succeeded, so some will wait 1h 40m";
    assert_eq!(forecast.to_string(), sentence);
    assert_eq!(forecast.longest_wait(), Some(100 * MINUTE));
}

#[test]
fn the_throughput_is_the_most_successes_in_any_minute() {
    assert_eq!(throughput_per_minute([3, 81, 79]), Some(81));
    assert_eq!(throughput_per_minute([0, 0]), None);
    assert_eq!(throughput_per_minute([]), None);
}

#[test]
fn a_burst_of_minutes_is_not_continued_for_hours() {
    let facts = DueFacts {
        created_per_minute: 90.0,
        created_minutes: 9,
        created_per_minute_hourly: Some(15.0),
        ..DueFacts::default()
    };
    let forecast = due(&DueForecast::new(&facts, T0, 13));
    assert_eq!(forecast[..11], [90.0; 11]);
    assert_eq!(forecast[11..], [15.0; 2]);
    // Nor does what was before come back.
    let facts = DueFacts {
        created_per_minute: 3.0,
        created_per_minute_hourly: Some(75.0),
        ..DueFacts::default()
    };
    assert_eq!(due(&DueForecast::new(&facts, T0, 12)), [3.0; 12]);
}

#[test]
fn a_storm_needs_an_hour_of_history_and_a_forecast_that_was_right() {
    let facts = DueFacts {
        waiting: vec![waiting(5, 10_000)],
        throughput_per_minute: Some(100),
        ..DueFacts::default()
    };
    let forecast = DueForecast::new(&facts, T0, 60);
    let is_said = |minutes: u32, error: Option<f64>| {
        let record = ForecastTrust {
            oldest_attempt: Some(T0.minus(minutes * MINUTE)),
            error,
        };
        UpcomingJobs::of(&forecast, record).is_some()
    };
    for (minutes, error, said) in [
        (60, None, true),
        (600, Some(0.5), true),
        (59, None, false),
        (600, Some(0.51), false),
        (600, Some(11.56), false),
    ] {
        assert_eq!(is_said(minutes, error), said, "{minutes} {error:?}");
    }
    assert!(UpcomingJobs::of(&forecast, ForecastTrust::default()).is_none());
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
        created_minutes: usize::MAX,
        created_per_minute_hourly: Some(f64::NAN),
        retries: vec![RetryRate {
            attempts: 1,
            retried: u64::MAX,
            delay: Duration::MAX,
        }],
        throughput_per_minute: Some(0),
    };
    let forecast = DueForecast::new(&facts, T0, usize::MAX);
    assert_eq!(forecast.minutes.len(), limits::FORECAST_MINUTES_MAX);
    assert_eq!(UpcomingJobs::of(&forecast, ForecastTrust::default()), None);
}
