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
    /// Only this tenant. Requires a key for all tenants; other keys always use their own tenant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(value_type = Option<NameSchema>))]
    pub tenant: Option<String>,
    /// Minutes to forecast, up to 720; 120 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 720))]
    pub minutes: Option<u64>,
}

/// Forecast by queue and by destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Forecast))]
pub struct ForecastBody {
    /// Start of the first minute.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub from: Timestamp,
    /// Up to 50 queues with upcoming jobs, the largest first.
    pub queues: Vec<QueueForecastBody>,
    /// Up to 20 destinations with recent failures and upcoming jobs.
    pub destinations: Vec<DestinationForecastBody>,
    /// Whether the forecast is incomplete because there are too many jobs.
    pub is_cut: bool,
}

/// Forecast for a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = QueueForecast))]
pub struct QueueForecastBody {
    /// The queue.
    pub queue: String,
    /// The forecast, minute by minute.
    #[serde(flatten)]
    pub series: ForecastSeries,
    /// Relative error of the forecasts of this queue over the last six hours, ten minutes ahead and
    /// over all tenants; 0 means exact. Null if not known yet.
    pub error_share: Option<f64>,
}

/// Forecast for a destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DestinationForecast))]
pub struct DestinationForecastBody {
    /// The destination, such as `https://api.example.com`.
    pub destination: String,
    /// The forecast, minute by minute.
    #[serde(flatten)]
    pub series: ForecastSeries,
    /// Whether the counts are lower bounds.
    pub at_least: bool,
}

/// One number per minute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ForecastSeries {
    /// Jobs that become due; already due jobs count in the first minute.
    pub due: Vec<f64>,
    /// Attempts that can start.
    pub starts: Vec<f64>,
    /// Backlog: due jobs that have not started by the end of the minute.
    pub backlog: Vec<f64>,
    /// Highest recent number of successes per minute with few failures; null if unknown.
    pub sustained_per_minute: Option<u64>,
    /// Longest expected wait of a due job.
    pub longest_wait_ms: Option<u64>,
    /// The forecast as a sentence.
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
