//! What is wrong, for those who ask.

use steadfast_core::{AlertState, Tenant};
use steadfast_store::DocumentKind;

use crate::{Client, ClientError, cache::bodies};

impl Client {
    /// The alerts of a tenant, or all, by tenant: what fires, what may soon, and what did.
    pub async fn alerts(&self, tenant: Option<&Tenant>) -> Result<Vec<AlertState>, ClientError> {
        let documents = self.store().list_documents(DocumentKind::Alert).await?;
        Ok(bodies::<AlertState>(documents)
            .map(|(_, state)| state)
            .filter(|state| tenant.is_none_or(|tenant| *tenant == state.tenant))
            .collect())
    }
}
