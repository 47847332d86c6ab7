//! Walking a list of failure groups.
//!
//! An index gives the order, and [`FailureFilter::matches`] decides. A tenant has a bounded number of
//! groups, but there may be many tenants, so a walk ends early with a cursor.

use steadfast_core::{FailureGroup, Timestamp};

use crate::{
    drivers::transaction::FailureRow,
    limits::{FAILURE_GROUPS_READ_MAX, ROWS_EXAMINED_MAX},
    store::{FailureCursor, FailureFilter, Page, PageRequest},
};

/// How far a walk has come.
pub(super) struct FailureWalk<'f> {
    filter: &'f FailureFilter,
    now: Timestamp,
    limit: usize,
    pub(super) below: Option<FailureCursor>,
    items: Vec<FailureGroup>,
    examined: usize,
    is_at_end: bool,
}

impl<'f> FailureWalk<'f> {
    /// Rows that are read at once.
    pub(super) const ROWS: usize = FAILURE_GROUPS_READ_MAX;

    pub(super) fn new(
        filter: &'f FailureFilter,
        page: &PageRequest<FailureCursor>,
        now: Timestamp,
    ) -> Self {
        Self {
            filter,
            now,
            limit: page.limit,
            below: page.after.clone(),
            items: Vec::new(),
            examined: 0,
            is_at_end: false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_at_end || self.items.len() > self.limit || self.examined >= ROWS_EXAMINED_MAX
    }

    pub(super) fn take(&mut self, rows: Vec<FailureRow>) {
        self.is_at_end = rows.len() < Self::ROWS;
        self.examined += rows.len();
        for FailureRow { cursor, group } in rows {
            let matching = group.filter(|group| self.filter.matches(group, self.now));
            self.items.extend(matching);
            self.below = Some(cursor);
        }
    }

    pub(super) fn page(mut self) -> Page<FailureGroup, FailureCursor> {
        let is_full = self.items.len() > self.limit;
        self.items.truncate(self.limit);
        let next = match is_full {
            true => self.items.last().map(FailureCursor::of),
            false => self.below.filter(|_| !self.is_at_end),
        };
        Page {
            items: self.items,
            next,
        }
    }
}
