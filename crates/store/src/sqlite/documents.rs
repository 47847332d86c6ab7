//! Small things beside the jobs.

use rusqlite::{OptionalExtension, Row, params};
use steadfast_core::{NewJob, Payload};

use super::{enqueue, fault::Fault, readers::Reader, session::Session};
use crate::{Document, DocumentKind, DocumentSaveResult};

pub(super) fn save(
    session: &mut Session<'_>,
    document: &Document,
    outbox: &[NewJob],
) -> Result<DocumentSaveResult, Fault> {
    let space = document.space.as_str();
    let stored = session
        .conn
        .prepare_cached(include_str!("sql/document_find.sql"))?
        .query_row(params![space, document.id], |row| read(document.space, row))
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
        .execute(params![space, saved.id, saved.body.as_str(), revision])?;
    for job in outbox {
        enqueue::insert_unless_known(session, job)?;
    }
    Ok(DocumentSaveResult::Done(saved))
}

pub(super) fn list(reader: &mut Reader, space: DocumentKind) -> Result<Vec<Document>, Fault> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("sql/documents.sql"))?;
    let rows = statement.query_map([space.as_str()], |row| read(space, row))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn delete(
    session: &mut Session<'_>,
    space: DocumentKind,
    id: &str,
) -> Result<bool, Fault> {
    let deleted = session
        .conn
        .prepare_cached(include_str!("sql/document_delete.sql"))?
        .execute(params![space.as_str(), id])?;
    Ok(deleted > 0)
}

fn read(space: DocumentKind, row: &Row<'_>) -> rusqlite::Result<Document> {
    Ok(Document {
        space,
        id: row.get(0)?,
        body: Payload::from_stored(row.get_ref(1)?.as_str()?),
        revision: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
    })
}
