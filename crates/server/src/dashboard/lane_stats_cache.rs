//! The counts of all lanes, cached for the pages that show them.
//!
//! The store keeps counts by lane, so reading them is cheap; but an open page asks every second,
//! and ten people who watch one incident need not read them ten times.

use steadfast_core::Tenant;
use steadfast_engine::{Client, ClientError};
use steadfast_store::LaneStats;

use super::tenant_cache::TenantCache;
use crate::limits;

/// They are read for all tenants at once.
pub struct LaneStatsCache(TenantCache<Vec<LaneStats>>);

impl Default for LaneStatsCache {
    fn default() -> Self {
        Self(TenantCache::new(limits::LANE_STATS_AGE_MAX))
    }
}

impl LaneStatsCache {
    /// The lanes of a tenant, or of all tenants.
    pub async fn get(
        &self,
        client: &Client,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<LaneStats>, ClientError> {
        let recent = client.now().minus(limits::RECENT_WINDOW);
        let all = self.0.get(None, client.lanes(recent)).await?;
        let visible = all
            .iter()
            .filter(|lane| tenant.is_none_or(|tenant| *tenant == lane.tenant));
        Ok(visible.cloned().collect())
    }

    /// After an action, so that the page which follows shows what it changed.
    pub fn clear(&self, tenant: Option<&Tenant>) {
        self.0.clear(tenant);
    }
}
