//! Small records beside the jobs.

use async_trait::async_trait;
use steadfast_core::{AuditRecord, Timestamp};

use super::{MemoryStore, tables::Tables};
use crate::{
    error::StoreError,
    store::{Document, DocumentKind, DocumentSaveResult, DocumentStore, DocumentVersions, Outbox},
};

#[async_trait]
impl DocumentStore for MemoryStore {
    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        Ok(self.with(|tables, now| tables.save_document(document, outbox, now)))
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<Document>, StoreError> {
        Ok(self.with(|tables, _| {
            let all = tables.documents.values();
            all.filter(|document| document.kind == kind)
                .cloned()
                .collect()
        }))
    }

    async fn page_documents(
        &self,
        kind: DocumentKind,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        Ok(self.with(|tables, _| {
            let is_wanted = |document: &&Document| {
                document.kind == kind
                    && document.id.starts_with(&prefix)
                    && after.as_ref().is_none_or(|after| document.id > *after)
            };
            let wanted = tables.documents.values().filter(is_wanted);
            wanted.take(limit).cloned().collect()
        }))
    }

    async fn get_document(
        &self,
        kind: DocumentKind,
        id: String,
    ) -> Result<Option<Document>, StoreError> {
        Ok(self.with(|tables, _| tables.documents.get(&(kind, id)).cloned()))
    }

    async fn document_versions(&self) -> Result<DocumentVersions, StoreError> {
        Ok(self.with(|tables, _| {
            let versions = tables.document_versions.iter();
            versions.map(|(kind, version)| (*kind, *version)).collect()
        }))
    }

    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| {
            let is_deleted = tables.documents.remove(&(kind, id)).is_some();
            if is_deleted {
                tables.count_change(kind);
                tables.save_audit(audit);
            }
            is_deleted
        }))
    }

    async fn delete_document_at(
        &self,
        kind: DocumentKind,
        id: String,
        revision: u64,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| {
            let key = (kind, id);
            let stored = tables.documents.get(&key);
            let is_deleted = stored.is_some_and(|stored| stored.revision == revision);
            if is_deleted {
                tables.documents.remove(&key);
                tables.count_change(kind);
                tables.save_audit(audit);
            }
            is_deleted
        }))
    }
}

impl Tables {
    pub(super) fn document_version(&self, kind: DocumentKind) -> u64 {
        self.document_versions.get(&kind).copied().unwrap_or(0)
    }

    fn count_change(&mut self, kind: DocumentKind) {
        if !matches!(kind, DocumentKind::Node | DocumentKind::Worker) {
            *self.document_versions.entry(kind).or_default() += 1;
        }
    }

    fn save_document(
        &mut self,
        mut document: Document,
        outbox: Outbox,
        now: Timestamp,
    ) -> DocumentSaveResult {
        let key = (document.kind, document.id.clone());
        let stored = self.documents.get(&key);
        if stored.map_or(0, |stored| stored.revision) != document.revision {
            return DocumentSaveResult::Outdated(stored.cloned());
        }
        document.revision += 1;
        self.documents.insert(key, document.clone());
        self.count_change(document.kind);
        for new in outbox.jobs {
            self.insert(new, now);
        }
        self.save_audit(outbox.audit);
        DocumentSaveResult::Done(document)
    }
}
