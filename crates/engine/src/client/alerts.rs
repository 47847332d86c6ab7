//! Reading alerts, and what people answer to them.

use steadfast_core::{AlertCommand, AlertState, Payload, Tenant};
use steadfast_store::{Document, DocumentKind, DocumentPage, DocumentSaveResult};

use super::{Client, ClientError};
use crate::{documents::cache::decode_documents, limits::REVISION_TRIES_MAX};

impl Client {
    /// The alerts of a tenant, or of all, ordered by tenant: firing, pending and resolved ones.
    pub async fn alerts(&self, tenant: Option<&Tenant>) -> Result<Vec<AlertState>, ClientError> {
        let page = match tenant {
            // What one tenant asks for must not cost more with each existing tenant.
            Some(tenant) => DocumentPage::Some {
                prefix: format!("{tenant}/"),
                after: None,
                limit: usize::MAX,
            },
            None => DocumentPage::All,
        };
        let documents = self.store().list_documents(DocumentKind::Alert, page);
        let documents = documents.await?;
        Ok(decode_documents::<AlertState>(documents)
            .map(|(_, state)| state)
            // `acme/` is also what the ids of a tenant `acme/eu` begin with.
            .filter(|state| tenant.is_none_or(|tenant| *tenant == state.tenant))
            .collect())
    }

    /// Follows a person's command to an alert, and returns it as it then is; `None` if there is no
    /// such alert of this tenant, or if it does not fire and only one that does can be acknowledged.
    pub async fn command_alert(
        &self,
        id: &str,
        tenant: Option<&Tenant>,
        command: AlertCommand,
    ) -> Result<Option<AlertState>, ClientError> {
        for _ in 0..REVISION_TRIES_MAX {
            let stored = self.store();
            let stored = stored.get_document(DocumentKind::Alert, id.to_owned());
            let Some(document) = stored.await? else {
                return Ok(None);
            };
            let Ok(mut state) = document.body.decode::<AlertState>() else {
                return Ok(None);
            };
            let is_visible = tenant.is_none_or(|tenant| *tenant == state.tenant);
            if !is_visible || !state.command(command.clone(), self.now()) {
                return Ok(None);
            }
            let action = match command {
                AlertCommand::Acknowledge { .. } => "alert.acknowledge",
                AlertCommand::Silence { .. } => "alert.silence",
                AlertCommand::Unsilence => "alert.unsilence",
            };
            let record = self.audit_record(action, id, Some(&state.tenant));
            let document = Document {
                body: Payload::encode(&state)?,
                ..document
            };
            let saved = self.store().save_document(document, record.into()).await?;
            if let DocumentSaveResult::Done(_) = saved {
                return Ok(Some(state));
            }
        }
        Err(ClientError::contended(id))
    }
}
