//! Documents that a tenant gives names: their ids, and lists of them.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use steadfast_core::Tenant;
use steadfast_store::{DocumentKind, DocumentPage, Page, PageRequest, StoreError};

use crate::{client::Client, documents::cache::decode_documents};

/// The id of the document of a name. Names have no spaces, so no two have one document.
pub fn id(tenant: &Tenant, name: impl Display) -> String {
    format!("{tenant} {name}")
}

/// How the ids of all documents of a tenant begin.
pub fn prefix(tenant: &Tenant) -> String {
    format!("{tenant} ")
}

impl Client {
    /// A page of the documents of a tenant, or of all, by tenant and name. The cursor is the id of
    /// the last one.
    pub(crate) async fn named_documents<T: DeserializeOwned>(
        &self,
        kind: DocumentKind,
        tenant: Option<&Tenant>,
        page: PageRequest<String>,
    ) -> Result<Page<T, String>, StoreError> {
        let documents = DocumentPage::Some {
            prefix: tenant.map(prefix).unwrap_or_default(),
            after: page.after,
            limit: page.limit.saturating_add(1),
        };
        let mut documents = self.store().list_documents(kind, documents).await?;
        let has_more = documents.len() > page.limit;
        documents.truncate(page.limit);
        let next = documents.last().filter(|_| has_more);
        Ok(Page {
            next: next.map(|document| document.id.clone()),
            items: decode_documents(documents).map(|(_, it)| it).collect(),
        })
    }

    /// Whether a tenant, or all of them, have as many documents as they may have.
    pub(crate) async fn has_named_documents(
        &self,
        kind: DocumentKind,
        tenant: Option<&Tenant>,
        most: usize,
    ) -> Result<bool, StoreError> {
        let page = DocumentPage::Some {
            prefix: tenant.map(prefix).unwrap_or_default(),
            after: None,
            limit: most,
        };
        Ok(self.store().list_documents(kind, page).await?.len() >= most)
    }
}
