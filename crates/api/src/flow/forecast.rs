//! How many jobs are coming.

use serde::{Deserialize, Serialize};
use steadfast_core::{DueForecast, DueMinute, Timestamp, duration};

#[cfg(feature = "openapi")]
use crate::schema::NameSchema;

/// How far to look ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ForecastQuery {
    /// Of this tenant. Only for keys that see all tenants; other keys have their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// How many minutes to look ahead, up to twelve hours; 120 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 720))]
    pub minutes: Option<u64>,
}

/// What is coming, by queue and by destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Forecast))]
pub struct ForecastBody {
    /// Where the first minute begins.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub from: Timestamp,
    /// Queues with something to come, those first of which the most is; up to 50.
    pub queues: Vec<QueueForecastBody>,
    /// Destinations where attempts failed lately, with something to come; up to 20.
    pub destinations: Vec<DestinationForecastBody>,
    /// There was too much to read all of it.
    pub is_cut: bool,
}

/// What is coming in a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueueForecast))]
pub struct QueueForecastBody {
    /// The queue.
    pub queue: String,
    /// Minute by minute.
    #[serde(flatten)]
    pub series: ForecastSeries,
    /// By which part of the attempts that came forecasts of this queue were wrong in the last six
    /// hours, ten minutes ahead and over all tenants: 0 for not at all. Null if it is not known yet.
    pub error_share: Option<f64>,
}

/// What is coming for a destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DestinationForecast))]
pub struct DestinationForecastBody {
    /// The destination, as `https://api.example.com`.
    pub destination: String,
    /// Minute by minute.
    #[serde(flatten)]
    pub series: ForecastSeries,
    /// More jobs wait for it than were counted.
    pub at_least: bool,
}

/// One number for each minute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ForecastSeries {
    /// Jobs that become due; what is due already is in the first minute.
    pub due: Vec<f64>,
    /// Attempts that can start.
    pub starts: Vec<f64>,
    /// Jobs that are due and have not started at the end of the minute.
    pub backlog: Vec<f64>,
    /// The most attempts that lately succeeded in a minute without trouble; null if it is not known.
    pub sustained_per_minute: Option<u64>,
    /// How long the last of the jobs that are due at the same time waits, at worst.
    pub longest_wait_ms: Option<u64>,
    /// All of it as a sentence.
    pub summary: String,
}

impl From<&DueForecast> for ForecastSeries {
    fn from(forecast: &DueForecast) -> Self {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let series = |value: fn(&DueMinute) -> f64| {
            let minutes = forecast.minutes.iter();
            minutes.map(|minute| round(value(minute))).collect()
        };
        Self {
            due: series(|minute| minute.due),
            starts: series(|minute| minute.starts),
            backlog: series(|minute| minute.backlog),
            sustained_per_minute: forecast.throughput_per_minute,
            longest_wait_ms: forecast.longest_wait().map(duration::millis),
            summary: forecast.to_string(),
        }
    }
}
