//! The forecast of upcoming jobs.

use steadfast_api::{DestinationForecastBody, ForecastBody, ForecastQuery, QueueForecastBody};
use steadfast_core::limits::FORECAST_MINUTES_MAX;
use steadfast_engine::Forecasts;

use crate::{
    api::query,
    extract::{Params, Reads},
    http::{Answer, Json, Problem, Problems},
    limits::FORECAST_MINUTES_DEFAULT,
};

/// Read how many jobs will be due, minute by minute.
///
/// Computed from the waiting jobs and the recent failure rate, and compared with the recent
/// throughput; includes the error of recent forecasts.
#[utoipa::path(
    get, path = "/forecast", tag = "Stats", operation_id = "getForecast", params(ForecastQuery),
    responses((status = 200, description = "The forecast", body = ForecastBody), Problems)
)]
pub async fn read(
    Reads { app, caller }: Reads,
    Params(query): Params<ForecastQuery>,
) -> Answer<ForecastBody> {
    let tenant = query::tenant(query.tenant.as_deref(), &caller)?;
    let asked = query.minutes.unwrap_or(FORECAST_MINUTES_DEFAULT);
    let minutes = usize::try_from(asked).unwrap_or(usize::MAX);
    if !(1..=FORECAST_MINUTES_MAX).contains(&minutes) {
        let most = FORECAST_MINUTES_MAX;
        let detail = format!("minutes is {asked}: must be between 1 and {most}");
        return Err(Problem::invalid("minutes", detail));
    }
    let _permit = app.try_forecast(caller.tenant.as_ref())?;
    let forecasts = app.client.forecast(tenant, minutes).await?;
    Ok(Json(forecast_body(&forecasts)))
}

/// Forecasts as the API shows them.
pub fn forecast_body(forecasts: &Forecasts) -> ForecastBody {
    let queues = forecasts.queues.iter().map(|it| QueueForecastBody {
        queue: it.queue.to_string(),
        series: (&it.forecast).into(),
        error_share: it.error,
    });
    let destinations = forecasts.destinations.iter();
    let destinations = destinations.map(|it| DestinationForecastBody {
        destination: it.destination.to_string(),
        series: (&it.forecast).into(),
        at_least: it.at_least,
    });
    ForecastBody {
        from: forecasts.from,
        queues: queues.collect(),
        destinations: destinations.collect(),
        is_cut: forecasts.is_cut,
    }
}
