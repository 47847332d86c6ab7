//! Reading alerts.

use steadfast_core::{AlertState, Tenant};
use steadfast_store::DocumentKind;

use super::{Client, ClientError};
use crate::document_cache::decode_documents;

impl Client {
    /// The alerts of a tenant, or of all, ordered by tenant: firing, pending and resolved ones.
    pub async fn alerts(&self, tenant: Option<&Tenant>) -> Result<Vec<AlertState>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Alert).await?;
        Ok(decode_documents::<AlertState>(documents)
            .map(|(_, state)| state)
            .filter(|state| tenant.is_none_or(|tenant| *tenant == state.tenant))
            .collect())
    }
}
