//! What the dashboard keeps between requests: counts that its pages show, each for a moment.
//!
//! An open page asks every second, and ten people who watch one incident need not read the same
//! counts ten times. Everything here is read through a client or a store, so that a node's shared
//! state can hold it without knowing any page.

pub mod overview_facts;
pub mod section_counts;
pub mod tenant_cache;

use std::sync::Arc;

use steadfast_core::Tenant;
use steadfast_engine::{Client, ClientError, Forecasts, LaneDue};
use steadfast_store::{LaneStats, Store};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

use self::{overview_facts::OverviewFacts, tenant_cache::TenantCache};
use crate::{limits, node::workers, theme::navigation::SectionCounts};

pub struct DashboardState {
    /// The counts of lanes.
    lanes: TenantCache<Vec<LaneStats>>,
    overviews: TenantCache<OverviewFacts>,
    section_counts: TenantCache<SectionCounts>,
    forecasts: TenantCache<Forecasts>,
    due: TenantCache<Vec<LaneDue>>,
    /// Bounds how many sign-ins with a wrong key wait for their response.
    wrong_keys: Arc<Semaphore>,
}

impl Default for DashboardState {
    fn default() -> Self {
        Self {
            lanes: TenantCache::new(limits::LANE_STATS_AGE_MAX),
            overviews: TenantCache::new(limits::OVERVIEW_AGE_MAX),
            section_counts: TenantCache::new(limits::SECTION_COUNTS_AGE_MAX),
            forecasts: TenantCache::new(limits::FORECAST_AGE_MAX),
            due: TenantCache::new(limits::OVERVIEW_AGE_MAX),
            wrong_keys: Arc::new(Semaphore::new(limits::WRONG_KEYS_MAX)),
        }
    }
}

impl DashboardState {
    /// The counts of the lanes of a tenant, or of all tenants.
    pub async fn lanes(
        &self,
        client: &Client,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<LaneStats>, ClientError> {
        let recent = client.now().minus(limits::RECENT_WINDOW);
        let read = client.lanes(tenant.cloned(), recent);
        Ok(self.lanes.get(tenant, read).await?.to_vec())
    }

    /// The slower parts of the overview of a tenant, or of all.
    pub async fn overview(
        &self,
        client: &Client,
        store: &dyn Store,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<OverviewFacts>, ClientError> {
        let read = OverviewFacts::read(client, store, tenant);
        self.overviews.get(tenant, read).await
    }

    /// Which of the due jobs of a tenant, or of all, can start.
    pub async fn due(
        &self,
        client: &Client,
        store: &dyn Store,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<Vec<LaneDue>>, ClientError> {
        let read = async {
            let lanes = self.lanes(client, tenant).await?;
            let workers = workers::of_viewer(store, tenant).await?;
            let workers = workers::presences(workers, client.now());
            client.due(&lanes, &workers).await
        };
        self.due.get(tenant, read).await
    }

    /// The counts beside the sections. A page does not fail because of them: if they cannot be read,
    /// it has none.
    pub async fn section_counts(
        &self,
        client: &Client,
        tenant: Option<&Tenant>,
    ) -> Arc<SectionCounts> {
        let read = async {
            let lanes = self.lanes(client, tenant).await?;
            section_counts::read(client, lanes, tenant).await
        };
        let counts = self.section_counts.get(tenant, read).await;
        counts.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot count for the sections of the dashboard");
            Arc::default()
        })
    }

    /// The jobs that will be due within the next minutes.
    pub async fn forecasts(
        &self,
        client: &Client,
        tenant: Option<&Tenant>,
    ) -> Result<Arc<Forecasts>, ClientError> {
        let minutes = usize::try_from(limits::FORECAST_MINUTES_DEFAULT).unwrap_or(usize::MAX);
        let forecast = client.forecast(tenant.cloned(), minutes);
        self.forecasts.get(tenant, forecast).await
    }

    /// A permit for one sign-in with a wrong key, unless too many are waiting.
    pub fn try_wrong_key(&self) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.wrong_keys.clone().try_acquire_owned()
    }

    /// After an action of a tenant, or of a caller who may act for all: the next page shows what was
    /// changed.
    pub fn clear(&self, tenant: Option<&Tenant>) {
        self.lanes.clear(tenant);
        self.section_counts.clear(tenant);
        self.overviews.clear(tenant);
        self.due.clear(tenant);
    }
}
