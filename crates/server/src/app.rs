//! What every request may use.

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Client, DocumentCache, NodeHandle, http::OutboundRules};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::{
    dashboard::{Bulk, Lanes, SignInLimiter},
    keys::Keys,
    limits,
    metrics::Metrics,
    sessions::Sessions,
};

/// What the server is told when it starts.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Until there is a key, none is needed. Only safe where nobody else can connect.
    pub open: bool,
    /// How long an HTTP job may take where nobody says.
    pub http_timeout: Duration,
    /// Rules that are restricted to public addresses once there is a key: then not everybody
    /// who can make jobs is trusted any more.
    pub restrict_with_keys: Option<OutboundRules>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            open: false,
            http_timeout: Duration::from_secs(30),
            restrict_with_keys: None,
        }
    }
}

pub struct App {
    pub client: Client,
    pub node: NodeHandle,
    pub keys: DocumentCache<Keys>,
    /// Browsers that have signed in.
    pub sessions: DocumentCache<Sessions>,
    /// What the dashboard counted a moment ago.
    pub lanes: Lanes,
    /// What the dashboard does to many jobs at once.
    pub bulk: Bulk,
    /// How many wrong keys are looked at.
    pub sign_ins: SignInLimiter,
    pub settings: Settings,
    pub metrics: Arc<Metrics>,
    pub streams: Arc<Semaphore>,
    /// Streams end when this does; they would hold up a stop for ever.
    pub closing: CancellationToken,
}

impl App {
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
            lanes: Lanes::default(),
            bulk: Bulk::default(),
            sign_ins: SignInLimiter::default(),
            node,
            settings,
            metrics,
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
            tokio::time::sleep(limits::KEYS_LOOK_EVERY).await;
        }
    }
}
