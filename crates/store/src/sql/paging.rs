//! Pages of lists. One row more than was asked for tells whether there are more.

use crate::store::Page;

/// A limit as a parameter.
pub(crate) fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A limit that finds one row more, for [`page_of`].
pub(crate) fn limit_plus_one(limit: usize) -> i64 {
    row_limit(limit).saturating_add(1)
}

/// A page out of what [`limit_plus_one`] has found.
pub(crate) fn page_of<Item, Cursor>(
    mut items: Vec<Item>,
    limit: usize,
    cursor: impl FnOnce(&Item) -> Cursor,
) -> Page<Item, Cursor> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| has_more);
    Page {
        next: last.map(cursor),
        items,
    }
}
