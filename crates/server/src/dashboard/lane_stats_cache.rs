//! The counts of all lanes, cached for the pages that show them.
//!
//! The store keeps counts by lane, so reading them is cheap; but an open page asks every second,
//! and ten people who watch one incident need not read them ten times.

use std::sync::Arc;

use steadfast_core::Tenant;
use steadfast_engine::{Client, ClientError};
use steadfast_store::LaneStats;
use tokio::{sync::Mutex, time::Instant};

use crate::limits;

struct Snapshot {
    read_at: Instant,
    lanes: Arc<Vec<LaneStats>>,
}

#[derive(Default)]
pub struct LaneStatsCache(Mutex<Option<Snapshot>>);

impl LaneStatsCache {
    /// The lanes of a tenant, or of all tenants.
    pub async fn get(
        &self,
        client: &Client,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<LaneStats>, ClientError> {
        let all = self.all(client).await?;
        let visible = all
            .iter()
            .filter(|lane| tenant.is_none_or(|tenant| *tenant == lane.tenant));
        Ok(visible.cloned().collect())
    }

    /// After an action, so that the page which follows shows what it changed.
    pub async fn clear(&self) {
        *self.0.lock().await = None;
    }

    async fn all(&self, client: &Client) -> Result<Arc<Vec<LaneStats>>, ClientError> {
        let mut snapshot = self.0.lock().await;
        if let Some(snapshot) = &*snapshot
            && snapshot.read_at.elapsed() < limits::LANE_STATS_AGE_MAX
        {
            return Ok(snapshot.lanes.clone());
        }
        let recent = client.now().minus(limits::RECENT_WINDOW);
        let lanes = Arc::new(client.lanes(recent).await?);
        *snapshot = Some(Snapshot {
            read_at: Instant::now(),
            lanes: lanes.clone(),
        });
        Ok(lanes)
    }
}
