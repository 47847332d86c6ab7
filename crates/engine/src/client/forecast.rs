//! How many jobs are coming.

use std::cmp::Reverse;

use steadfast_core::{Destination, DueForecast, ForecastRecord, Queue, Tenant, Timestamp, limits};
use steadfast_store::DocumentKind;

use super::{Client, ClientError, DestinationFilter};
use crate::{
    documents::cache::decode_documents,
    flow::forecasts::{self, minute_of},
    limits::{
        FORECAST_DESTINATIONS_MAX, FORECAST_JOBS_COUNTED_MAX, FORECAST_QUEUES_MAX, FORECAST_RECORD,
    },
};

/// The forecasts of a tenant or of all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Forecasts {
    /// Where the first minute begins.
    pub from: Timestamp,
    /// By queue, those first of which the most is coming.
    pub queues: Vec<QueueForecast>,
    /// By destination of which something is known, in the same order.
    pub destinations: Vec<DestinationForecast>,
    /// There was too much to read all of it.
    pub is_cut: bool,
}

/// The forecast of a queue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueueForecast {
    /// The queue.
    pub queue: Queue,
    /// Minute by minute.
    pub forecast: DueForecast,
    /// By which part forecasts of this queue, over all tenants, were wrong in the last hours.
    pub error: Option<f64>,
}

/// The forecast of a destination.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DestinationForecast {
    /// The destination.
    pub destination: Destination,
    /// Minute by minute.
    pub forecast: DueForecast,
    /// More wait for it than were counted.
    pub at_least: bool,
}

impl Client {
    /// How many jobs will be due in the next minutes, from those that wait and the attempts of the
    /// last day; at most [`limits::FORECAST_MINUTES_MAX`] minutes.
    pub async fn forecast(
        &self,
        tenant: Option<Tenant>,
        minutes: usize,
    ) -> Result<Forecasts, ClientError> {
        let minutes = minutes.clamp(1, limits::FORECAST_MINUTES_MAX);
        let now = self.now();
        let until = forecasts::end_of(now, minutes);
        let since = now.minus(limits::DAY);
        let list = self.store().lane_minutes(tenant.clone(), since, until);
        let list = list.await?;
        let record = self.forecast_record().await?;
        let groups = forecasts::grouped(&list.lanes, |lane| lane.queue.clone());
        let queues = groups.into_iter().map(|(queue, lanes)| QueueForecast {
            forecast: forecasts::of_lanes(&lanes, self.levels(), now, minutes),
            error: record.error_of(queue.as_str()),
            queue,
        });
        let mut queues: Vec<QueueForecast> = queues.collect();
        queues.retain(|it| total(&it.forecast) > 0.0);
        queues.sort_by(|a, b| total(&b.forecast).total_cmp(&total(&a.forecast)));
        queues.truncate(FORECAST_QUEUES_MAX);
        let (destinations, is_cut) = self
            .destination_forecasts(tenant, now, until, minutes)
            .await?;
        Ok(Forecasts {
            from: minute_of(now),
            queues,
            destinations,
            is_cut: list.is_cut || is_cut,
        })
    }

    /// Of those with the most attempts lately. Says also whether there are more.
    async fn destination_forecasts(
        &self,
        tenant: Option<Tenant>,
        now: Timestamp,
        until: Timestamp,
        minutes: usize,
    ) -> Result<(Vec<DestinationForecast>, bool), ClientError> {
        let filter = DestinationFilter {
            tenant: tenant.clone(),
            ..DestinationFilter::default()
        };
        let mut known = self.destinations(&filter, None, usize::MAX).await?;
        known.sort_by_cached_key(|state| {
            let attempts = state
                .health
                .minutes()
                .map(|(_, attempts, _)| u64::from(attempts));
            Reverse(attempts.sum::<u64>())
        });
        let is_cut = known.len() > FORECAST_DESTINATIONS_MAX;
        let mut found = Vec::new();
        for state in known.into_iter().take(FORECAST_DESTINATIONS_MAX) {
            let (destination, most) = (state.destination.clone(), FORECAST_JOBS_COUNTED_MAX);
            let waiting = self
                .store()
                .due_minutes(destination, tenant.clone(), until, most)
                .await?;
            let forecast = forecasts::of_destination(
                &waiting,
                &state.health,
                tenant.as_ref(),
                self.levels(),
                now,
                minutes,
            );
            found.push(DestinationForecast {
                destination: state.destination,
                forecast,
                at_least: waiting.at_least,
            });
        }
        found.retain(|it| total(&it.forecast) > 0.0);
        found.sort_by(|a, b| total(&b.forecast).total_cmp(&total(&a.forecast)));
        Ok((found, is_cut))
    }

    async fn forecast_record(&self) -> Result<ForecastRecord, ClientError> {
        let kind = DocumentKind::Forecast;
        let stored = self
            .store()
            .get_document(kind, FORECAST_RECORD.to_owned())
            .await?;
        let record = decode_documents::<ForecastRecord>(stored.into_iter().collect()).next();
        Ok(record.map(|(_, record)| record).unwrap_or_default())
    }
}

fn total(forecast: &DueForecast) -> f64 {
    forecast.minutes.iter().map(|minute| minute.due).sum()
}
