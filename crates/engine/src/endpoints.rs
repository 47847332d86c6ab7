//! Where webhooks go: kept in the store, known to every node.

use std::{collections::HashMap, sync::Arc};

use steadfast_core::{Endpoint, EndpointId, Payload, Subscriptions, Tenant};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, Store};

use crate::{
    Client, ClientError,
    cache::{Cache, bodies},
};

/// The endpoints as they are looked up.
#[derive(Default)]
pub struct Endpoints {
    by_id: HashMap<EndpointId, Arc<Endpoint>>,
    subscriptions: Arc<Subscriptions>,
}

impl Endpoints {
    pub fn cache(store: Arc<dyn Store>) -> Cache<Self> {
        Cache::new(store, DocumentKind::Endpoint, Self::read)
    }

    fn read(documents: Vec<Document>) -> Self {
        let mut subscriptions = Subscriptions::default();
        let mut by_id = HashMap::new();
        for (_, endpoint) in bodies::<Endpoint>(documents) {
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

impl Client {
    /// A tenant's endpoints, or all, oldest first.
    pub async fn endpoints(&self, tenant: Option<&Tenant>) -> Result<Vec<Endpoint>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Endpoint).await?;
        Ok(bodies::<Endpoint>(documents)
            .map(|(_, endpoint)| endpoint)
            .filter(|endpoint| tenant.is_none_or(|tenant| *tenant == endpoint.tenant))
            .collect())
    }

    /// Keeps a new endpoint.
    pub async fn create_endpoint(&self, endpoint: Endpoint) -> Result<Endpoint, ClientError> {
        let document = Document {
            kind: DocumentKind::Endpoint,
            id: endpoint.id.to_string(),
            body: Payload::encode(&endpoint)?,
            revision: 0,
        };
        self.store().save_document(document, Vec::new()).await?;
        self.endpoint_cache().refresh().await?;
        Ok(endpoint)
    }

    /// Changes an endpoint, unless it is not the tenant's.
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
    ) -> Result<Option<Endpoint>, ClientError> {
        loop {
            let documents = self.store().list_documents(DocumentKind::Endpoint).await?;
            let found = bodies::<Endpoint>(documents).find(|(_, endpoint)| endpoint.id == id);
            let Some((mut document, mut endpoint)) = found else {
                return Ok(None);
            };
            if tenant.is_some_and(|tenant| *tenant != endpoint.tenant) {
                return Ok(None);
            }
            change(&mut endpoint);
            document.body = Payload::encode(&endpoint)?;
            let saved = self.store().save_document(document, Vec::new()).await?;
            if let DocumentSaveResult::Done(_) = saved {
                self.endpoint_cache().refresh().await?;
                return Ok(Some(endpoint));
            }
        }
    }

    /// Forgets an endpoint, unless it is not the tenant's; says whether it was there. What was
    /// on its way there is called off.
    pub async fn delete_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<bool, ClientError> {
        let known = self.endpoint_cache().refresh().await?.get(id);
        let is_theirs = |endpoint: &Endpoint| tenant.is_none_or(|it| *it == endpoint.tenant);
        if !known.is_some_and(|endpoint| is_theirs(&endpoint)) {
            return Ok(false);
        }
        let store = self.store();
        let deleted = store
            .delete_document(DocumentKind::Endpoint, id.to_string())
            .await?;
        self.endpoint_cache().refresh().await?;
        Ok(deleted)
    }
}
