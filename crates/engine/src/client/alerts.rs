//! Reading alerts.

use steadfast_core::{AlertState, Tenant};
use steadfast_store::DocumentKind;

use super::{Client, ClientError};
use crate::documents::cache::decode_documents;

impl Client {
    /// The alerts of a tenant, or of all, ordered by tenant: firing, pending and resolved ones.
    pub async fn alerts(&self, tenant: Option<&Tenant>) -> Result<Vec<AlertState>, ClientError> {
        let store = self.store();
        let documents = match tenant {
            // What one tenant asks for must not cost more with each tenant that there is.
            Some(tenant) => {
                let prefix = format!("{tenant}/");
                store.page_documents(DocumentKind::Alert, prefix, None, usize::MAX)
            }
            None => store.list_documents(DocumentKind::Alert),
        };
        let documents = documents.await?;
        Ok(decode_documents::<AlertState>(documents)
            .map(|(_, state)| state)
            // `acme/` is also what the ids of a tenant `acme/eu` begin with.
            .filter(|state| tenant.is_none_or(|tenant| *tenant == state.tenant))
            .collect())
    }
}
