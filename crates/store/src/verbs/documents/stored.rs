//! Documents as records of a store.

use steadfast_core::Payload;

use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Lock, Reads, RecordKind, RecordOrder, RecordQuery, StoredRecord},
    store::{Document, DocumentKind},
    verbs::records::skip_corrupt,
};

pub(super) async fn find(
    tx: &mut (impl Reads + ?Sized),
    kind: DocumentKind,
    id: &str,
) -> Result<Option<Document>, DriverError> {
    let found = tx
        .record(RecordKind::Document(kind), id, Lock::None)
        .await?;
    found.map(|record| read(kind, &record)).transpose()
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
        documents.extend(skip_corrupt(tx, read(kind, &record), "document", id)?);
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
