//! Endpoints: listed, created, changed, deleted.

use steadfast_core::{Endpoint, EndpointId, Invalid, Payload, Tenant};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult, StoreError};

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
        self.check_endpoint(&endpoint)?;
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

    /// Changes an endpoint and returns it; `None` if there is no such endpoint of this tenant.
    pub async fn change_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
        change: impl Fn(&mut Endpoint),
    ) -> Result<Option<Endpoint>, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let Some((mut document, mut endpoint)) = self.stored_endpoint(id, tenant).await? else {
                return Ok(None);
            };
            let retry = endpoint.retry.clone();
            change(&mut endpoint);
            if endpoint.retry != retry {
                self.check_endpoint(&endpoint)?;
            }
            document.body = Payload::encode(&endpoint)?;
            let saved = self.store().save_document(document, Vec::new()).await?;
            if let DocumentSaveResult::Done(_) = saved {
                self.endpoint_cache().refresh().await?;
                return Ok(Some(endpoint));
            }
        }
        Err(ClientError::contended(id))
    }

    /// Deletes an endpoint and returns whether there was one of this tenant. From then on no node
    /// begins to send it anything; deliveries that wait for it are cancelled at their next attempt.
    pub async fn delete_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<bool, ClientError> {
        if self.stored_endpoint(id, tenant).await?.is_none() {
            return Ok(false);
        }
        let store = self.store();
        let deleted = store
            .delete_document(DocumentKind::Endpoint, id.to_string())
            .await?;
        self.endpoint_cache().refresh().await?;
        Ok(deleted)
    }

    fn check_endpoint(&self, endpoint: &Endpoint) -> Result<(), Invalid> {
        let Endpoint {
            tenant,
            events,
            retry,
            ..
        } = endpoint;
        self.levels().check_delivery(tenant, events, retry)
    }

    /// The endpoint as it is stored, if there is one of this tenant.
    async fn stored_endpoint(
        &self,
        id: EndpointId,
        tenant: Option<&Tenant>,
    ) -> Result<Option<(Document, Endpoint)>, StoreError> {
        let kind = DocumentKind::Endpoint;
        let document = self.store().get_document(kind, id.to_string()).await?;
        let mut found = decode_documents::<Endpoint>(document.into_iter().collect());
        let is_visible = |endpoint: &Endpoint| tenant.is_none_or(|it| *it == endpoint.tenant);
        Ok(found.find(|(_, endpoint)| is_visible(endpoint)))
    }

    /// The endpoint of a delivery, as it is stored at this moment.
    #[cfg(feature = "http")]
    pub(crate) async fn endpoint(&self, id: EndpointId) -> Result<Option<Endpoint>, StoreError> {
        let found = self.stored_endpoint(id, None).await?;
        Ok(found.map(|(_, endpoint)| endpoint))
    }
}
