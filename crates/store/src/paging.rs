//! Pages of lists. One row more than was asked for tells whether there are more.

use crate::{limits::ROWS_EXAMINED_MAX, store::Page};

/// A limit as a parameter.
pub(crate) fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A text that is above all that begin with a prefix, in the order of their bytes.
pub(crate) fn prefix_end(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// A page out of what was found with one row more as the limit.
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

/// What a query found: what can be read, and how many rows cannot.
pub(crate) struct Readable<Item> {
    pub items: Vec<Item>,
    pub damaged: usize,
}

impl<Item> Default for Readable<Item> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            damaged: 0,
        }
    }
}

impl<Item> Readable<Item> {
    /// Adds a row, or counts one that cannot be read.
    pub(crate) fn push(&mut self, item: Option<Item>) {
        match item {
            Some(item) => self.items.push(item),
            None => self.damaged += 1,
        }
    }

    /// The limit to ask with again, if rows that cannot be read have taken the places of others:
    /// without it a page would end early, or hold up what is due behind them.
    pub(crate) fn next_limit(&self, wanted: usize, asked: usize) -> Option<usize> {
        let may_be_more = self.items.len() + self.damaged >= asked && asked < ROWS_EXAMINED_MAX;
        (self.damaged > 0 && self.items.len() < wanted && may_be_more).then(|| {
            asked
                .saturating_add(wanted - self.items.len())
                .min(ROWS_EXAMINED_MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_cannot_be_read_are_asked_past_until_there_are_enough_or_no_more() {
        let found = |items, damaged| Readable {
            items: vec![(); items],
            damaged,
        };
        assert_eq!(found(3, 0).next_limit(3, 3), None);
        assert_eq!(found(2, 0).next_limit(3, 3), None, "there are no more");
        assert_eq!(found(2, 1).next_limit(3, 3), Some(4));
        assert_eq!(found(1, 1).next_limit(3, 3), None, "there are no more");
        assert_eq!(found(3, 1).next_limit(3, 4), None, "there are enough");
        let all = ROWS_EXAMINED_MAX;
        assert_eq!(found(0, all).next_limit(3, all), None, "it is bounded");
    }
}
