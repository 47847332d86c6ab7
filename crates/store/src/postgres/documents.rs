//! Small things beside the jobs.

use steadfast_core::{NewJob, Payload};
use tokio_postgres::Row;

use super::{
    enqueue,
    fault::Fault,
    session::{Conn, Session},
    wake_filter::WakeHints,
};
use crate::{Document, DocumentKind, DocumentSaveResult};

pub(super) async fn save(
    conn: &mut Conn<'_>,
    document: &Document,
    outbox: &[NewJob],
    news: &mut WakeHints,
) -> Result<DocumentSaveResult, Fault> {
    let jobs = enqueue::numbered(&conn.session(), outbox.iter()).await?;
    let transaction = conn.begin().await?;
    let session = transaction.session();
    if !write(&session, document).await? {
        let stored = find(&session, document).await?;
        transaction.roll_back().await?;
        return Ok(DocumentSaveResult::Outdated(stored));
    }
    enqueue::insert_unless_known(&session, &jobs, news).await?;
    transaction.commit().await?;
    Ok(DocumentSaveResult::Done(Document {
        revision: document.revision + 1,
        ..document.clone()
    }))
}

/// Says whether the revision was the stored one.
async fn write(session: &Session<'_>, document: &Document) -> Result<bool, Fault> {
    let (space, id) = (document.space.as_str(), document.id.as_str());
    let body = document.body.as_str();
    let written = match i64::try_from(document.revision) {
        Err(_) => return Ok(false),
        Ok(0) => {
            let sql = include_str!("sql/document_create.sql");
            session.query(sql, &[&space, &id, &body]).await?
        }
        Ok(revision) => {
            let sql = include_str!("sql/document_replace.sql");
            session.query(sql, &[&space, &id, &body, &revision]).await?
        }
    };
    Ok(!written.is_empty())
}

async fn find(session: &Session<'_>, document: &Document) -> Result<Option<Document>, Fault> {
    let (space, id) = (document.space.as_str(), document.id.as_str());
    let sql = include_str!("sql/document_find.sql");
    let found = session.query(sql, &[&space, &id]).await?;
    let stored = found.first().map(|row| read(document.space, row));
    stored.transpose()
}

pub(super) async fn list(
    session: &Session<'_>,
    space: DocumentKind,
) -> Result<Vec<Document>, Fault> {
    let sql = include_str!("sql/documents.sql");
    let found = session.query(sql, &[&space.as_str()]).await?;
    found.iter().map(|row| read(space, row)).collect()
}

pub(super) async fn delete(
    session: &Session<'_>,
    space: DocumentKind,
    id: &str,
) -> Result<bool, Fault> {
    let sql = include_str!("sql/document_delete.sql");
    let deleted = session.query(sql, &[&space.as_str(), &id]).await?;
    Ok(!deleted.is_empty())
}

fn read(space: DocumentKind, row: &Row) -> Result<Document, Fault> {
    Ok(Document {
        space,
        id: row.try_get(0)?,
        body: Payload::from_stored(row.try_get(1)?),
        revision: u64::try_from(row.try_get::<_, i64>(2)?).unwrap_or(0),
    })
}
