//! Small records beside the jobs.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};
use steadfast_core::{AuditRecord, Payload};

use super::{
    SqliteStore, damage::pass_over, driver_error::DriverError, enqueue::insert_unless_stored,
    operations::save_audit, readers::Reader, session::Session,
};
use crate::{
    error::StoreError,
    sql::{
        paging::{prefix_end, row_limit},
        values::unsigned,
    },
    store::{Document, DocumentKind, DocumentSaveResult, DocumentStore, DocumentVersions, Outbox},
};

#[async_trait]
impl DocumentStore for SqliteStore {
    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        self.write("save_document", outbox.jobs.len() + 1, move |session| {
            save(session, &document, &outbox)
        })
        .await
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<Document>, StoreError> {
        self.read_for_node("list_documents", move |reader| {
            let sql = include_str!("sql/documents.sql");
            list(reader, kind, sql, params![kind.as_str()])
        })
        .await
    }

    async fn page_documents(
        &self,
        kind: DocumentKind,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        self.read("page_documents", move |reader| {
            let after = after.unwrap_or_default();
            let sql = include_str!("sql/documents_page.sql");
            let end = prefix_end(&prefix);
            let range = params![kind.as_str(), prefix, end, after, row_limit(limit)];
            list(reader, kind, sql, range)
        })
        .await
    }

    async fn get_document(
        &self,
        kind: DocumentKind,
        id: String,
    ) -> Result<Option<Document>, StoreError> {
        self.read("get_document", move |reader| find(&reader.conn, kind, &id))
            .await
    }

    async fn document_versions(&self) -> Result<DocumentVersions, StoreError> {
        self.read("document_versions", versions).await
    }

    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        self.write("delete_document", 1, move |session| {
            let is_deleted = delete(session, kind, &id)?;
            save_audit(session, audit.as_ref().filter(|_| is_deleted))?;
            Ok(is_deleted)
        })
        .await
    }

    async fn delete_document_at(
        &self,
        kind: DocumentKind,
        id: String,
        revision: u64,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        self.write("delete_document_at", 1, move |session| {
            let is_deleted = delete_at(session, kind, &id, revision)?;
            save_audit(session, audit.as_ref().filter(|_| is_deleted))?;
            Ok(is_deleted)
        })
        .await
    }
}

fn save(
    session: &mut Session<'_>,
    document: &Document,
    outbox: &Outbox,
) -> Result<DocumentSaveResult, DriverError> {
    let kind = document.kind.as_str();
    let stored = find(session.conn, document.kind, &document.id)?;
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
    for job in &outbox.jobs {
        insert_unless_stored(session, job)?;
    }
    save_audit(session, outbox.audit.as_ref())?;
    Ok(DocumentSaveResult::Done(saved))
}

fn find(conn: &Connection, kind: DocumentKind, id: &str) -> Result<Option<Document>, DriverError> {
    let found = conn
        .prepare_cached(include_str!("sql/document_find.sql"))?
        .query_row(params![kind.as_str(), id], |row| read(kind, row))
        .optional()?;
    Ok(found)
}

fn versions(reader: &mut Reader) -> Result<DocumentVersions, DriverError> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/document_versions.sql"))?;
    let mut rows = statement.query([])?;
    let mut versions = Vec::new();
    while let Some(row) = rows.next()? {
        // A kind that only a newer version knows is none of ours.
        if let Ok(kind) = row.get::<_, String>("space")?.parse::<DocumentKind>() {
            versions.push((kind, unsigned(row.get("version")?)));
        }
    }
    Ok(versions.into_iter().collect())
}

/// How often documents of this kind have changed, as the transaction sees it.
pub(super) fn version(session: &Session<'_>, kind: DocumentKind) -> Result<u64, DriverError> {
    let found = session
        .conn
        .prepare_cached(include_str!("sql/document_version.sql"))?
        .query_row([kind.as_str()], |row| row.get("version"))
        .optional()?;
    Ok(found.map_or(0, unsigned))
}

fn list(
    reader: &mut Reader,
    kind: DocumentKind,
    sql: &str,
    params: impl Params,
) -> Result<Vec<Document>, DriverError> {
    let mut statement = reader.conn.prepare_cached(sql)?;
    let damage = reader.names.damage();
    let mut rows = statement.query(params)?;
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

fn delete_at(
    session: &mut Session<'_>,
    kind: DocumentKind,
    id: &str,
    revision: u64,
) -> Result<bool, DriverError> {
    let revision = i64::try_from(revision).unwrap_or(i64::MAX);
    let deleted = session
        .conn
        .prepare_cached(include_str!("sql/document_delete_at.sql"))?
        .execute(params![kind.as_str(), id, revision])?;
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
