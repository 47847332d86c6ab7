//! Small records beside the jobs.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::{AuditRecord, Gates, Payload};

use super::{audit::save_audit, gates, records::skip_corrupt};
use crate::{
    damage::DamagedRow,
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Lock, Reads, Record, RecordKind, RecordOrder, RecordQuery, RecordState, StoredRecord,
        Transaction,
    },
    drivers::{Asker, Driver},
    error::StoreError,
    store::{
        Document, DocumentKind, DocumentPage, DocumentSaveResult, DocumentStore, DocumentVersions,
        Outbox,
    },
};

/// What a corrupt document is a row of.
const TABLE: &str = "document";

#[async_trait]
impl<D: Driver> DocumentStore for D {
    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        let (rows, kind) = (outbox.jobs.len() + 1, document.kind);
        let saved = self.transact(
            "save_document",
            rows,
            (document, outbox),
            |tx, (it, outbox)| Box::pin(save(tx, it, outbox)),
        );
        let saved = saved.await;
        mark_change(self, kind);
        saved
    }

    async fn list_documents(
        &self,
        kind: DocumentKind,
        page: DocumentPage,
    ) -> Result<Vec<Document>, StoreError> {
        let (asker, arguments) = match page {
            DocumentPage::All => (Asker::Node, (kind, String::new(), None, usize::MAX)),
            DocumentPage::Some {
                prefix,
                after,
                limit,
            } => (Asker::Caller, (kind, prefix, after, limit)),
            DocumentPage::One(id) => {
                let find = self.read(
                    "list_documents",
                    Asker::Caller,
                    (kind, id),
                    |tx, (kind, id)| Box::pin(find(tx, *kind, id)),
                );
                return Ok(find.await?.into_iter().collect());
            }
        };
        self.read("list_documents", asker, arguments, |tx, it| {
            let after = it.2.as_deref().unwrap_or_default();
            Box::pin(list(tx, it.0, &it.1, after, it.3))
        })
        .await
    }

    async fn document_versions(&self) -> Result<DocumentVersions, StoreError> {
        self.read("document_versions", Asker::Caller, (), |tx, ()| {
            Box::pin(tx.document_versions())
        })
        .await
    }

    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        revision: Option<u64>,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        let arguments = (kind, id, revision, audit);
        let deleted = self.transact(
            "delete_document",
            1,
            arguments,
            |tx, (kind, id, at, audit)| Box::pin(delete(tx, *kind, id, *at, audit.as_ref())),
        );
        let deleted = deleted.await;
        mark_change(self, kind);
        deleted
    }

    async fn gates(&self) -> Result<Arc<Gates>, StoreError> {
        gates::current(self).await
    }
}

/// A changed gate applies to the next claim; the health of a destination, which changes often, within
/// two seconds. Also after an error, because only the response may be lost.
fn mark_change<D: Driver>(store: &D, kind: DocumentKind) {
    if kind == DocumentKind::Gate {
        Driver::gates(store).mark_changed();
    }
}

async fn save(
    tx: &mut dyn Transaction,
    document: &Document,
    outbox: &Outbox,
) -> Result<DocumentSaveResult, DriverError> {
    let saved = Document {
        revision: document.revision.saturating_add(1),
        ..document.clone()
    };
    let record = Record {
        kind: RecordKind::Document(saved.kind),
        id: &saved.id,
        tenant: "",
        name: None,
        state: RecordState::Open,
        at: None,
        revision: saved.revision,
        replaces: (document.revision > 0).then_some(document.revision),
        body: saved.body.as_str(),
    };
    let at_version = outbox.at_version.filter(|_| document.revision == 0);
    // Without a write, which would change the version for others that have counted as well.
    if let Some(version) = at_version
        && tx.document_versions().await?.of(saved.kind) != version
    {
        return Ok(DocumentSaveResult::Outdated(None));
    }
    if !tx.save_record(&record).await? {
        let stored = find(tx, saved.kind, &saved.id).await?;
        return Ok(DocumentSaveResult::Outdated(stored));
    }
    if let Some(version) = at_version {
        // Read after the change, which locks the version: two callers do not pass at once.
        let versions = tx.document_versions().await?;
        if versions.of(saved.kind) != version.saturating_add(1) {
            tx.delete_record(record.kind, &saved.id, None).await?;
            return Ok(DocumentSaveResult::Outdated(None));
        }
    }
    tx.insert_jobs(&outbox.jobs).await?;
    save_audit(tx, outbox.audit.as_ref()).await?;
    Ok(DocumentSaveResult::Done(saved))
}

async fn delete(
    tx: &mut dyn Transaction,
    kind: DocumentKind,
    id: &str,
    revision: Option<u64>,
    audit: Option<&AuditRecord>,
) -> Result<bool, DriverError> {
    let kind = RecordKind::Document(kind);
    let is_deleted = tx.delete_record(kind, id, revision).await?;
    save_audit(tx, audit.filter(|_| is_deleted)).await?;
    Ok(is_deleted)
}

async fn find(
    tx: &mut (impl Reads + ?Sized),
    kind: DocumentKind,
    id: &str,
) -> Result<Option<Document>, DriverError> {
    let found = tx
        .record(RecordKind::Document(kind), id, Lock::None)
        .await?;
    let Some(record) = found else {
        return Ok(None);
    };
    match read(kind, &record) {
        Err(error) if error.is_unreadable() => {
            let damaged = DamagedRow::new(TABLE, format_args!("{kind}/{id}"), error);
            tx.damage().note(damaged.clone());
            Err(DriverError::Damaged(Box::new(damaged)))
        }
        read => read.map(Some),
    }
}

/// Forgets corrupt documents that were repaired or deleted.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) async fn forget_readable(tx: &mut dyn Reads) -> Result<(), DriverError> {
    for text in tx.damage().ids(TABLE) {
        let (kind, id) = text.split_once('/').unwrap_or_default();
        let kind = DocumentKind::ALL.iter().find(|it| it.to_string() == kind);
        let found = match kind {
            Some(kind) => find(tx, *kind, id).await,
            None => Ok(None),
        };
        match found {
            Ok(_) => tx.damage().forget(TABLE, &text),
            Err(DriverError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) async fn list(
    tx: &mut dyn Reads,
    kind: DocumentKind,
    prefix: &str,
    after: &str,
    limit: usize,
) -> Result<Vec<Document>, DriverError> {
    let query = RecordQuery {
        kind: RecordKind::Document(kind),
        order: RecordOrder::Ascending { prefix, after },
        limit,
    };
    let mut documents = Vec::new();
    for record in tx.records(&query).await? {
        let id = format_args!("{kind}/{}", record.id);
        documents.extend(skip_corrupt(tx, read(kind, &record), TABLE, id)?);
    }
    Ok(documents)
}

fn read(kind: DocumentKind, record: &StoredRecord) -> Result<Document, DriverError> {
    Ok(Document {
        kind,
        id: record.id.clone(),
        body: Payload::from_stored(record.body("document")?),
        revision: record.revision,
    })
}
