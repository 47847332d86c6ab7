//! Documents as records of a store.

use steadfast_core::Payload;

use crate::{
    damage::DamagedRow,
    drivers::driver_error::DriverError,
    drivers::transaction::{Lock, Reads, RecordKind, RecordOrder, RecordQuery, StoredRecord},
    store::{Document, DocumentKind},
    verbs::records::skip_corrupt,
};

/// What a corrupt document is a row of.
const TABLE: &str = "document";

pub(super) async fn find(
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
pub(in crate::verbs) async fn forget_readable(tx: &mut dyn Reads) -> Result<(), DriverError> {
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

pub(in crate::verbs) async fn list(
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
