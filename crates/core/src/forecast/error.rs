//! The error of past forecasts, which tells people how far to trust the next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{limits, values::Timestamp};

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
    use std::time::Duration;

    use super::*;

    const T0: Timestamp = Timestamp::from_millis(1_767_225_600_000);

    #[test]
    fn it_knows_how_wrong_it_was_in_the_last_hours() {
        let mut error = ForecastError::default();
        assert_eq!(error.share(), None);
        error.record(T0, 80.0, 100);
        error.record(T0.plus(Duration::from_secs(60)), 120.0, 100);
        assert_eq!(error.share(), Some(0.2));
        // A day later, only what is new counts; and so it does if the clock is set back.
        let later = T0.plus(limits::DAY);
        error.record(later, 50.0, 100);
        assert_eq!(error.share(), Some(0.5));
        error.record(T0, 100.0, 100);
        assert_eq!(error.share(), Some(0.0));
    }
}
