//! Counts of everything, for pages that are looked at by many at once.
//!
//! The store keeps counts by lane, so this is cheap; but a page that is live asks every
//! second, and ten people who watch one incident need not ask ten times.

use std::{sync::Arc, time::Duration};

use steadfast_core::Tenant;
use steadfast_store::LaneStats;
use tokio::{sync::Mutex, time::Instant};

use super::frame::PageError;
use crate::{App, limits::RECENT_WINDOW};

/// How old counts may be.
const AGE_MAX: Duration = Duration::from_secs(1);

type Counted = (Instant, Arc<Vec<LaneStats>>);

#[derive(Default)]
pub struct Lanes(Mutex<Option<Counted>>);

impl Lanes {
    /// The lanes of a tenant, or all; `recent` over the last five minutes.
    pub async fn of(
        &self,
        app: &App,
        tenant: Option<&Tenant>,
    ) -> Result<Vec<LaneStats>, PageError> {
        let all = self.all(app).await?;
        let theirs = all
            .iter()
            .filter(|lane| tenant.is_none_or(|tenant| *tenant == lane.tenant));
        Ok(theirs.cloned().collect())
    }

    /// Whoever changed something wants to see it.
    pub async fn forget(&self) {
        *self.0.lock().await = None;
    }

    async fn all(&self, app: &App) -> Result<Arc<Vec<LaneStats>>, PageError> {
        let mut counted = self.0.lock().await;
        if let Some((at, lanes)) = &*counted
            && at.elapsed() < AGE_MAX
        {
            return Ok(lanes.clone());
        }
        let lanes = app
            .client
            .lanes(app.client.now().minus(RECENT_WINDOW))
            .await?;
        let lanes = Arc::new(lanes);
        *counted = Some((Instant::now(), lanes.clone()));
        Ok(lanes)
    }
}
