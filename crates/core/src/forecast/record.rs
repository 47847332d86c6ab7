//! What forecasts were worth: each minute they say what they expect of a later one, and are held
//! against what came.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{
    forecast::{due::DueForecast, error::ForecastError},
    limits,
    values::Timestamp,
};

/// The expectations of some subjects, as queues, and how wrong those of the last hours were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForecastRecord {
    /// The minute that was added last.
    #[serde(default)]
    last: Option<Timestamp>,
    #[serde(default)]
    subjects: BTreeMap<String, SubjectRecord>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SubjectRecord {
    /// Starts that are expected in the minutes to come, the next first.
    #[serde(default)]
    expected: VecDeque<(Timestamp, f64)>,
    #[serde(default)]
    error: ForecastError,
}

impl ForecastRecord {
    /// Whether the minute that begins at this time has been added.
    pub fn has(&self, minute: Timestamp) -> bool {
        // A clock that was set back: what was written in the future does not keep it from going on.
        self.last.is_some_and(|last| {
            last >= minute && last.since(minute) <= limits::FORECAST_ERROR_AHEAD
        })
    }

    /// Adds a minute: compares the expectations for past minutes with the attempts that ended in them,
    /// and records the expectation for a later minute. The number of subjects is limited to those with
    /// the highest expectations.
    pub fn step<'f>(
        &mut self,
        minute: Timestamp,
        forecasts: impl IntoIterator<Item = (String, &'f DueForecast)>,
        ended: impl Fn(&str, Timestamp) -> u64,
    ) {
        let upcoming = |of: &DueForecast| of.minutes.iter().map(|it| it.starts).sum::<f64>();
        let forecasts = forecasts.into_iter().map(|(of, it)| (upcoming(it), of, it));
        let mut forecasts: Vec<(f64, String, &DueForecast)> = forecasts.collect();
        forecasts.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        forecasts.truncate(limits::FORECAST_SUBJECTS_MAX);
        let mut before = std::mem::take(&mut self.subjects);
        for (_, subject, forecast) in forecasts {
            let mut record = before.remove(&subject).unwrap_or_default();
            record.compare(minute, |minute| ended(&subject, minute));
            record.expect(minute, forecast);
            self.subjects.insert(subject, record);
        }
        // A subject without an expectation keeps its record while there is room.
        for (subject, mut record) in before {
            record.compare(minute, |minute| ended(&subject, minute));
            let has_room = self.subjects.len() < limits::FORECAST_SUBJECTS_MAX;
            if has_room && (record.error.share().is_some() || !record.expected.is_empty()) {
                self.subjects.insert(subject, record);
            }
        }
        self.last = Some(minute);
    }

    /// By which part of what came the forecasts of a subject were wrong in the last hours; `None` if
    /// that is not known.
    pub fn error_of(&self, subject: &str) -> Option<f64> {
        self.subjects.get(subject)?.error.share()
    }
}

impl SubjectRecord {
    fn compare(&mut self, now: Timestamp, ended: impl Fn(Timestamp) -> u64) {
        while let Some((minute, expected)) = self.expected.front().copied() {
            let is_over = minute < now;
            // One of a clock that was set back.
            let is_odd = minute.since(now) > limits::FORECAST_ERROR_AHEAD;
            if !is_over && !is_odd {
                break;
            }
            self.expected.pop_front();
            if is_over && now.since(minute) <= limits::DAY {
                self.error.record(minute, expected, ended(minute));
            }
        }
    }

    fn expect(&mut self, now: Timestamp, forecast: &DueForecast) {
        let ahead = limits::FORECAST_ERROR_AHEAD;
        let index = usize::try_from(ahead.as_secs() / 60).unwrap_or(usize::MAX);
        let later = now.plus(ahead);
        let is_new = self.expected.back().is_none_or(|(last, _)| *last < later);
        if let Some(minute) = forecast.minutes.get(index).filter(|_| is_new) {
            self.expected.push_back((later, minute.starts));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::forecast::due::{DueFacts, DueForecast};

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);
    const MINUTE: Duration = Duration::from_secs(60);

    fn steady(per_minute: f64) -> DueForecast {
        let facts = DueFacts {
            created_per_minute: per_minute,
            ..DueFacts::default()
        };
        DueForecast::new(&facts, T0, 30)
    }

    #[test]
    fn expectations_are_compared_with_ended_attempts() {
        let mut record = ForecastRecord::default();
        let forecast = steady(80.0);
        for minute in 0..15 {
            let minute = T0.plus(minute * MINUTE);
            assert!(!record.has(minute));
            record.step(minute, [("queue a".to_owned(), &forecast)], |_, _| 100);
            assert!(record.has(minute));
            // Nothing is known before the first minute that was expected is over.
            let is_known = record.error_of("queue a").is_some();
            assert_eq!(is_known, minute > T0.plus(limits::FORECAST_ERROR_AHEAD));
        }
        assert_eq!(record.error_of("queue a"), Some(0.2));
        assert_eq!(record.error_of("queue b"), None);
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(record, serde_json::from_str(&text).unwrap());
    }

    #[test]
    fn it_stays_small_and_goes_on_after_the_clock_was_set_back() {
        let mut record = ForecastRecord::default();
        let forecasts: Vec<DueForecast> = (0..500).map(|it| steady(f64::from(it))).collect();
        for minute in 0..40 {
            let all = forecasts.iter().enumerate();
            let all = all.map(|(index, it)| (format!("queue {index}"), it));
            record.step(T0.plus(minute * MINUTE), all, |_, _| 499);
        }
        assert_eq!(record.subjects.len(), limits::FORECAST_SUBJECTS_MAX);
        assert_eq!(record.error_of("queue 499"), Some(0.0));
        assert!(record.subjects.values().all(|it| it.expected.len() <= 11));
        let before = T0.minus(limits::DAY);
        assert!(!record.has(before));
        for minute in 0..15 {
            let minute = before.plus(minute * MINUTE);
            record.step(
                minute,
                [("queue 499".to_owned(), &forecasts[250])],
                |_, _| 500,
            );
        }
        assert_eq!(record.error_of("queue 499"), Some(0.5));
    }
}
