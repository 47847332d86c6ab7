//! Small records beside the jobs.

use async_trait::async_trait;
use steadfast_core::{NewJob, Timestamp};

use super::{MemoryStore, tables::Tables};
use crate::{
    error::StoreError,
    store::{Document, DocumentKind, DocumentSaveResult, DocumentStore},
};

#[async_trait]
impl DocumentStore for MemoryStore {
    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
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

    async fn delete_document(&self, kind: DocumentKind, id: String) -> Result<bool, StoreError> {
        Ok(self.with(|tables, _| tables.documents.remove(&(kind, id)).is_some()))
    }
}

impl Tables {
    fn save_document(
        &mut self,
        mut document: Document,
        outbox: Vec<NewJob>,
        now: Timestamp,
    ) -> DocumentSaveResult {
        let key = (document.kind, document.id.clone());
        let stored = self.documents.get(&key);
        if stored.map_or(0, |stored| stored.revision) != document.revision {
            return DocumentSaveResult::Outdated(stored.cloned());
        }
        document.revision += 1;
        self.documents.insert(key, document.clone());
        for new in outbox {
            self.insert(new, now);
        }
        DocumentSaveResult::Done(document)
    }
}
