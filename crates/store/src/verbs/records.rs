//! Reading records, and passing over those that are corrupt.

use std::fmt::Display;

use crate::{
    drivers::driver_error::{DriverError, pass_over},
    drivers::transaction::{
        Reads, RecordKind, RecordOrder, RecordQuery, RecordState, StoredRecord,
    },
    paging::{Readable, page_of},
    store::{Page, PageRequest},
};

/// Leaves out a row that cannot be read; other errors are errors.
pub(crate) fn skip_corrupt<T>(
    tx: &dyn Reads,
    read: Result<T, DriverError>,
    table: &'static str,
    id: impl Display,
) -> Result<Option<T>, DriverError> {
    pass_over(read, tx.damage(), table, id)
}

/// As many records as the query asks for: corrupt ones are left out, and do not take the places of
/// others.
pub(crate) async fn readable<T>(
    tx: &mut dyn Reads,
    query: RecordQuery<'_>,
    read: impl Fn(&StoredRecord) -> Result<T, DriverError> + Send,
) -> Result<Vec<T>, DriverError> {
    let RecordQuery { kind, limit, .. } = query;
    let mut asked = query;
    loop {
        let mut found = Readable::default();
        for record in tx.records(&asked).await? {
            found.push(skip_corrupt(tx, read(&record), kind.as_str(), &record.id)?);
        }
        match found.next_limit(limit, asked.limit) {
            Some(next) => asked.limit = next,
            None => return Ok(found.items),
        }
    }
}

/// A page of records, newest first.
pub(crate) async fn newest_page<T, Id: Display + Copy>(
    tx: &mut dyn Reads,
    kind: RecordKind,
    (tenant, state): (Option<&str>, Option<RecordState>),
    page: PageRequest<Id>,
    read: impl Fn(&StoredRecord) -> Result<T, DriverError> + Send,
    id: impl Fn(&T) -> Id + Send,
) -> Result<Page<T, Id>, DriverError> {
    let before = page.after.map(|id| id.to_string());
    let order = RecordOrder::Newest {
        tenant,
        state,
        before: before.as_deref(),
    };
    let limit = page.limit.saturating_add(1);
    let items = readable(tx, RecordQuery { kind, order, limit }, read).await?;
    Ok(page_of(items, page.limit, id))
}
