//! The endpoints of webhooks: kept in the store, cached by every node.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{Endpoint, EndpointId, Subscriptions};
use steadfast_store::{Document, DocumentKind, Store};

use crate::document_cache::{DocumentCache, decode_documents};

/// All endpoints, indexed for lookup.
#[derive(Default)]
pub struct Endpoints {
    by_id: HashMap<EndpointId, Arc<Endpoint>>,
    subscriptions: Arc<Subscriptions>,
}

impl Endpoints {
    pub fn cache(store: Arc<dyn Store>) -> DocumentCache<Self> {
        DocumentCache::new(store, DocumentKind::Endpoint, Self::read)
    }

    fn read(documents: Vec<Document>) -> Self {
        let mut subscriptions = Subscriptions::new(steadfast_api::webhook_job);
        let mut by_id = HashMap::new();
        for (_, endpoint) in decode_documents::<Endpoint>(documents) {
            if let Some(subscription) = endpoint.subscription() {
                subscriptions.subscribe(endpoint.tenant.clone(), subscription);
            }
            by_id.insert(endpoint.id, Arc::new(endpoint));
        }
        Self {
            by_id,
            subscriptions: Arc::new(subscriptions),
        }
    }

    pub fn get(&self, id: EndpointId) -> Option<Arc<Endpoint>> {
        self.by_id.get(&id).cloned()
    }

    pub fn subscriptions(&self) -> Arc<Subscriptions> {
        self.subscriptions.clone()
    }
}
