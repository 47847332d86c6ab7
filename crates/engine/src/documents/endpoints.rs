//! The endpoints of webhooks: kept in the store, cached by every node.

use std::sync::Arc;

use steadfast_core::{DeliveryPolicy, Endpoint, Subscriptions};
use steadfast_store::{Document, DocumentKind, Store};

use crate::documents::{
    cache::{DocumentCache, decode_documents},
    policy_levels::PolicyLevels,
};

/// What the endpoints are subscribed to. Where a delivery goes is not known from here: it is
/// looked up for every attempt, so that a deleted endpoint is sent nothing more.
#[derive(Default)]
pub struct Endpoints {
    subscriptions: Arc<Subscriptions>,
}

impl Endpoints {
    pub fn cache(store: Arc<dyn Store>, levels: &Arc<PolicyLevels>) -> DocumentCache<Self> {
        let levels = levels.clone();
        let policy: DeliveryPolicy =
            Arc::new(move |tenant, queue, patch| levels.of_delivery(tenant, queue, patch));
        DocumentCache::with_version(store, DocumentKind::Endpoint, move |documents, version| {
            Self::read(documents, version, policy.clone())
        })
    }

    fn read(documents: Vec<Document>, version: u64, policy: DeliveryPolicy) -> Self {
        let mut subscriptions = Subscriptions::new(steadfast_api::webhook_job)
            .with_policy(policy)
            .at_version(version);
        for (_, endpoint) in decode_documents::<Endpoint>(documents) {
            subscriptions.subscribe(endpoint.tenant.clone(), endpoint.subscription());
        }
        Self {
            subscriptions: Arc::new(subscriptions),
        }
    }

    pub fn subscriptions(&self) -> Arc<Subscriptions> {
        self.subscriptions.clone()
    }
}
