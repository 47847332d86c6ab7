//! What every request may use.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Client, DocumentCache, NodeHandle, http::OutboundRules};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    dashboard::{
        bulk_tracker::BulkTracker, lane_stats_cache::LaneStatsCache, sign_in_limiter::SignInLimiter,
    },
    keys::Keys,
    limits,
    metrics::Metrics,
    policy_json::PolicyJsonCache,
    sessions::Sessions,
};

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Until there is a key, none is needed. Only safe if no other machine can connect.
    pub open: bool,
    /// How long an HTTP job may take by default.
    pub http_timeout: Duration,
    /// Rules that are restricted to public addresses once there is a key: then not every caller
    /// who can create jobs is trusted any more.
    pub restrict_with_keys: Option<OutboundRules>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            open: false,
            http_timeout: limits::HTTP_TIMEOUT_DEFAULT,
            restrict_with_keys: None,
        }
    }
}

/// What every request may use.
pub struct App {
    /// Creates, reads and changes jobs.
    pub client: Client,
    /// The node itself: claims, settlements and notices.
    pub node: NodeHandle,
    /// The API keys.
    pub(crate) keys: DocumentCache<Keys>,
    /// Browsers that have signed in.
    pub(crate) sessions: DocumentCache<Sessions>,
    /// Counts for the pages of the dashboard.
    pub(crate) lane_stats: LaneStatsCache,
    /// The bulk actions that run on this node.
    pub(crate) bulk: BulkTracker,
    /// Bounds the wrong keys that wait for their response.
    pub(crate) sign_ins: SignInLimiter,
    /// Its settings.
    pub settings: Settings,
    /// Its counters.
    pub metrics: Arc<Metrics>,
    /// The JSON of policies that were answered lately.
    pub(crate) policy_json: PolicyJsonCache,
    /// One permit for each event stream.
    pub(crate) streams: Arc<Semaphore>,
    /// Streams end when this does; they would hold up a stop for ever.
    pub(crate) closing: CancellationToken,
}

impl App {
    /// The HTTP side of this node.
    pub fn new(
        client: Client,
        node: NodeHandle,
        metrics: Arc<Metrics>,
        settings: Settings,
    ) -> Self {
        Self {
            client,
            keys: Keys::cache(node.store()),
            sessions: Sessions::cache(node.store()),
            lane_stats: LaneStatsCache::default(),
            bulk: BulkTracker::default(),
            sign_ins: SignInLimiter::default(),
            node,
            settings,
            metrics,
            policy_json: PolicyJsonCache::default(),
            streams: Arc::new(Semaphore::new(limits::EVENT_STREAMS_MAX)),
            closing: CancellationToken::new(),
        }
    }

    /// Waits for the first key, and restricts where jobs may connect to.
    pub(crate) async fn restrict_with_keys(&self) {
        let Some(rules) = &self.settings.restrict_with_keys else {
            return;
        };
        loop {
            if self.keys.get().await.is_ok_and(|keys| !keys.is_empty()) {
                return rules.restrict();
            }
            tokio::time::sleep(limits::KEYS_CHECK_EVERY).await;
        }
    }
}
