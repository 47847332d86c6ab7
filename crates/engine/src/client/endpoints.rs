//! Endpoints: listed, created, changed, deleted.

use steadfast_core::{Endpoint, EndpointId, Payload, Tenant};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult};

use super::{Client, ClientError};
use crate::{document_cache::decode_documents, limits::REVISION_TRIES_MAX};

impl Client {
    /// The endpoints of a tenant, or of all, oldest first.
    pub async fn endpoints(&self, tenant: Option<&Tenant>) -> Result<Vec<Endpoint>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Endpoint).await?;
        Ok(decode_documents::<Endpoint>(documents)
            .map(|(_, endpoint)| endpoint)
            .filter(|endpoint| tenant.is_none_or(|tenant| *tenant == endpoint.tenant))
            .collect())
    }

    /// Stores a new endpoint.
    pub async fn create_endpoint(&self, endpoint: Endpoint) -> Result<Endpoint, ClientError> {
        let document = Document {
            space: DocumentKind::Endpoint,
            id: endpoint.id.to_string(),
            body: Payload::encode(&endpoint)?,
            revision: 0,
        };
        self.store().save_document(document, Vec::new()).await?;
        self.endpoint_cache().refresh().await?;
        Ok(endpoint)
    }

    /// Changes an endpoint and returns it; `None` if there is no such endpoint of this tenant.
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
    ) -> Result<Option<Endpoint>, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let documents = self.store().list_documents(DocumentKind::Endpoint).await?;
            let found =
                decode_documents::<Endpoint>(documents).find(|(_, endpoint)| endpoint.id == id);
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
        Err(ClientError::contended(id))
    }

    /// Deletes an endpoint and returns whether there was one of this tenant. Deliveries that wait
    /// for it are cancelled at their next attempt.
    pub async fn delete_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<bool, ClientError> {
        let endpoint = self.endpoint_cache().refresh().await?.get(id);
        let is_visible = |endpoint: &Endpoint| tenant.is_none_or(|it| *it == endpoint.tenant);
        if !endpoint.is_some_and(|endpoint| is_visible(&endpoint)) {
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
