//! Forecasts, cached for the overview: an open page asks every second, and they change by the minute.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::Tenant;
use steadfast_engine::{Client, ClientError, Forecasts};
use tokio::{sync::Mutex, time::Instant};

use crate::limits;

/// By tenant, or for all.
#[derive(Default)]
pub struct ForecastCache(Mutex<HashMap<Option<Tenant>, CachedForecasts>>);

struct CachedForecasts {
    read_at: Instant,
    forecasts: Arc<Forecasts>,
}

impl ForecastCache {
    /// What is coming, of a tenant or of all.
    pub async fn get(
        &self,
        client: &Client,
        tenant: Option<Tenant>,
    ) -> Result<Arc<Forecasts>, ClientError> {
        let mut known = self.0.lock().await;
        known.retain(|_, cached| cached.read_at.elapsed() < limits::FORECAST_AGE_MAX);
        if let Some(cached) = known.get(&tenant) {
            return Ok(cached.forecasts.clone());
        }
        let minutes = usize::try_from(limits::FORECAST_MINUTES_DEFAULT).unwrap_or(usize::MAX);
        let forecasts = Arc::new(client.forecast(tenant.clone(), minutes).await?);
        if known.len() < limits::FORECASTS_KEPT_MAX {
            let cached = CachedForecasts {
                read_at: Instant::now(),
                forecasts: forecasts.clone(),
            };
            known.insert(tenant, cached);
        }
        Ok(forecasts)
    }
}
