//! Releases jobs that wait for others, or ends them, and counts the ends of jobs in their batches. What
//! has happened to the others is noted in the
//! transaction that wrote it, and what follows is done in the transaction that deletes the note; so any
//! node may do it for all, a node that dies loses nothing, and two at once do no harm.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_store::{Store, StoreError, Wakeups};
use tokio::sync::Mutex;

use crate::{
    documents::{cache::DocumentCache, endpoints::Endpoints},
    limits,
    role::{Next, Role},
};

pub struct DependencyRunner {
    pub store: Arc<dyn Store>,
    pub endpoints: Arc<DocumentCache<Endpoints>>,
    /// Wakes when this node has ended a job that others wait for.
    pub wakeups: Mutex<Wakeups>,
}

impl DependencyRunner {
    /// Does one batch of what follows, and answers whether there is more.
    pub async fn follow(&self) -> Result<bool, StoreError> {
        // Jobs may end, which endpoints are to learn of.
        let endpoints = self.endpoints.refresh_if_changed().await?;
        let followed = self
            .store
            .release_dependants(limits::LINK_BATCH_MAX, endpoints.subscriptions())
            .await?;
        let changed = followed.changed.len();
        if changed > 0 {
            tracing::debug!(changed, "released dependent jobs");
        }
        Ok(followed.has_more)
    }
}

#[async_trait]
impl Role for DependencyRunner {
    fn name(&self) -> &'static str {
        "link runner"
    }

    async fn tick(&self) -> Result<Next, StoreError> {
        Ok(match self.follow().await? {
            true => Next::AtOnce,
            false => Next::at_wakeup(limits::LINK_POLL),
        })
    }

    async fn wakeup(&self) {
        self.wakeups.lock().await.next().await;
    }
}
