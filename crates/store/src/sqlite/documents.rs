//! Small records beside the jobs.

use async_trait::async_trait;
use rusqlite::{OptionalExtension, Row, params};
use steadfast_core::{NewJob, Payload};

use super::{
    SqliteStore, damage::pass_over, driver_error::DriverError, enqueue::insert_unless_stored,
    readers::Reader, session::Session,
};
use crate::{
    error::StoreError,
    sql::values::unsigned,
    store::{Document, DocumentKind, DocumentSaveResult, DocumentStore},
};

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn save_document(
        &self,
        document: Document,
        outbox: Vec<NewJob>,
    ) -> Result<DocumentSaveResult, StoreError> {
        self.write("save_document", outbox.len() + 1, move |session| {
            save(session, &document, &outbox)
        })
        .await
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<Document>, StoreError> {
        self.read_for_node("list_documents", move |reader| list(reader, kind))
            .await
    }

    async fn delete_document(&self, kind: DocumentKind, id: String) -> Result<bool, StoreError> {
        self.write("delete_document", 1, move |session| {
            delete(session, kind, &id)
        })
        .await
    }
}

fn save(
    session: &mut Session<'_>,
    document: &Document,
    outbox: &[NewJob],
) -> Result<DocumentSaveResult, DriverError> {
    let kind = document.kind.as_str();
    let stored = session
        .conn
        .prepare_cached(include_str!("sql/document_find.sql"))?
        .query_row(params![kind, document.id], |row| read(document.kind, row))
        .optional()?;
    if stored.as_ref().map_or(0, |stored| stored.revision) != document.revision {
        return Ok(DocumentSaveResult::Outdated(stored));
    }
    let saved = Document {
        revision: document.revision + 1,
        ..document.clone()
    };
    let revision = i64::try_from(saved.revision).unwrap_or(i64::MAX);
    session
        .conn
        .prepare_cached(include_str!("sql/document_save.sql"))?
        .execute(params![kind, saved.id, saved.body.as_str(), revision])?;
    for job in outbox {
        insert_unless_stored(session, job)?;
    }
    Ok(DocumentSaveResult::Done(saved))
}

fn list(reader: &mut Reader, kind: DocumentKind) -> Result<Vec<Document>, DriverError> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/documents.sql"))?;
    let damage = reader.names.damage();
    let mut rows = statement.query([kind.as_str()])?;
    let mut documents = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get::<_, String>("id").unwrap_or_default();
        let read = read(kind, row).map_err(DriverError::from);
        documents.extend(pass_over(
            read,
            &damage,
            "document",
            format_args!("{kind}/{id}"),
        )?);
    }
    Ok(documents)
}

fn delete(session: &mut Session<'_>, kind: DocumentKind, id: &str) -> Result<bool, DriverError> {
    let deleted = session
        .conn
        .prepare_cached(include_str!("sql/document_delete.sql"))?
        .execute(params![kind.as_str(), id])?;
    Ok(deleted > 0)
}

fn read(kind: DocumentKind, row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        kind,
        id: row.get("id")?,
        body: Payload::from_stored(row.get_ref("body")?.as_str()?),
        revision: unsigned(row.get("revision")?),
    })
}
