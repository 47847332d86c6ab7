//! Small records beside the jobs.

use async_trait::async_trait;
use steadfast_core::{AuditRecord, Payload};
use tokio_postgres::{Row, types::ToSql};

use super::{
    PostgresStore,
    damage::pass_over,
    driver_error::DriverError,
    enqueue,
    inner::{on_connection, with_wake_hints},
    names::with_numbers,
    operations::save_audit,
    session::{Conn, Session},
};
use crate::{
    error::StoreError,
    sql::{
        paging::{prefix_end, row_limit},
        values::unsigned,
    },
    store::{Document, DocumentKind, DocumentSaveResult, DocumentStore, DocumentVersions, Outbox},
    wake::WakeReasons,
};

#[async_trait]
impl DocumentStore for PostgresStore {
    async fn save_document(
        &self,
        document: Document,
        outbox: Outbox,
    ) -> Result<DocumentSaveResult, StoreError> {
        with_wake_hints!(self, "save_document", |conn, hints| save(
            conn, &document, &outbox, hints
        ))
    }

    async fn list_documents(&self, kind: DocumentKind) -> Result<Vec<Document>, StoreError> {
        on_connection!(self, "list_documents", |conn| list(
            &conn.session(),
            kind,
            include_str!("sql/documents.sql"),
            &[&kind.as_str()]
        ))
    }

    async fn page_documents(
        &self,
        kind: DocumentKind,
        prefix: String,
        after: Option<String>,
        limit: usize,
    ) -> Result<Vec<Document>, StoreError> {
        let (after, end) = (after.unwrap_or_default(), prefix_end(&prefix));
        let limit = row_limit(limit);
        on_connection!(self, "page_documents", |conn| list(
            &conn.session(),
            kind,
            include_str!("sql/documents_page.sql"),
            &[&kind.as_str(), &prefix, &end, &after, &limit]
        ))
    }

    async fn get_document(
        &self,
        kind: DocumentKind,
        id: String,
    ) -> Result<Option<Document>, StoreError> {
        on_connection!(self, "get_document", |conn| find(
            &conn.session(),
            kind,
            &id
        ))
    }

    async fn document_versions(&self) -> Result<DocumentVersions, StoreError> {
        on_connection!(self, "document_versions", |conn| versions(&conn.session()))
    }

    async fn delete_document(
        &self,
        kind: DocumentKind,
        id: String,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        on_connection!(self, "delete_document", |conn| delete(
            conn,
            include_str!("sql/document_delete.sql"),
            &[&kind.as_str(), &id],
            audit.as_ref()
        ))
    }

    async fn delete_document_at(
        &self,
        kind: DocumentKind,
        id: String,
        revision: u64,
        audit: Option<AuditRecord>,
    ) -> Result<bool, StoreError> {
        let revision = i64::try_from(revision).unwrap_or(i64::MAX);
        on_connection!(self, "delete_document_at", |conn| delete(
            conn,
            include_str!("sql/document_delete_at.sql"),
            &[&kind.as_str(), &id, &revision],
            audit.as_ref()
        ))
    }
}

async fn save(
    conn: &mut Conn<'_>,
    document: &Document,
    outbox: &Outbox,
    hints: &mut WakeReasons,
) -> Result<DocumentSaveResult, DriverError> {
    let jobs = with_numbers(&conn.session(), outbox.jobs.iter()).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    if !write(&session, document).await? {
        let stored = find(&session, document.kind, &document.id).await?;
        transaction.roll_back().await?;
        return Ok(DocumentSaveResult::Outdated(stored));
    }
    enqueue::insert_unless_stored(&session, &jobs, hints).await?;
    save_audit(&session, outbox.audit.as_ref()).await?;
    transaction.commit().await?;
    Ok(DocumentSaveResult::Done(Document {
        revision: document.revision + 1,
        ..document.clone()
    }))
}

/// Answers whether the revision was the stored one.
async fn write(session: &Session<'_>, document: &Document) -> Result<bool, DriverError> {
    let (kind, id) = (document.kind.as_str(), document.id.as_str());
    let body = document.body.as_str();
    let written = match i64::try_from(document.revision) {
        Err(_) => return Ok(false),
        Ok(0) => {
            let sql = include_str!("sql/document_create.sql");
            session.query(sql, &[&kind, &id, &body]).await?
        }
        Ok(revision) => {
            let sql = include_str!("sql/document_replace.sql");
            session.query(sql, &[&kind, &id, &body, &revision]).await?
        }
    };
    Ok(!written.is_empty())
}

async fn find(
    session: &Session<'_>,
    kind: DocumentKind,
    id: &str,
) -> Result<Option<Document>, DriverError> {
    let sql = include_str!("sql/document_find.sql");
    let found = session.query(sql, &[&kind.as_str(), &id]).await?;
    let stored = found.first().map(|row| read(kind, row));
    stored.transpose()
}

async fn versions(session: &Session<'_>) -> Result<DocumentVersions, DriverError> {
    let sql = include_str!("sql/document_versions.sql");
    let mut versions = Vec::new();
    for row in session.query(sql, &[]).await? {
        // A kind that only a newer version knows is none of ours.
        if let Ok(kind) = row.try_get::<_, &str>("space")?.parse::<DocumentKind>() {
            versions.push((kind, unsigned(row.try_get("version")?)));
        }
    }
    Ok(versions.into_iter().collect())
}

/// How often documents of this kind have changed.
pub(super) async fn version(session: &Session<'_>, kind: DocumentKind) -> Result<u64, DriverError> {
    let sql = include_str!("sql/document_version.sql");
    let found = session.query(sql, &[&kind.as_str()]).await?;
    let version = found.first().map(|row| row.try_get("version"));
    Ok(version.transpose()?.map_or(0, unsigned))
}

async fn list(
    session: &Session<'_>,
    kind: DocumentKind,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Document>, DriverError> {
    let found = session.query(sql, params).await?;
    let mut documents = Vec::with_capacity(found.len());
    for row in &found {
        let id = format_args!("{kind}/{}", row.try_get::<_, &str>("id")?);
        documents.extend(pass_over(
            read(kind, row),
            &session.shared.damage,
            "document",
            id,
        )?);
    }
    Ok(documents)
}

/// Answers whether there was such a document.
async fn delete(
    conn: &mut Conn<'_>,
    sql: &'static str,
    params: &[&(dyn ToSql + Sync)],
    audit: Option<&AuditRecord>,
) -> Result<bool, DriverError> {
    // One statement is its own transaction.
    let Some(audit) = audit else {
        return Ok(!conn.session().query(sql, params).await?.is_empty());
    };
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let is_deleted = !session.query(sql, params).await?.is_empty();
    save_audit(&session, Some(audit).filter(|_| is_deleted)).await?;
    transaction.commit().await?;
    Ok(is_deleted)
}

fn read(kind: DocumentKind, row: &Row) -> Result<Document, DriverError> {
    Ok(Document {
        kind,
        id: row.try_get("id")?,
        body: Payload::from_stored(row.try_get("body")?),
        revision: unsigned(row.try_get("revision")?),
    })
}
