//! The shape of every list: its rows, and the way to the rows that are not shown.

use std::fmt::Display;

use steadfast_store::{Page, PageRequest};

use crate::dashboard::fields::Fields;

pub struct List<Row> {
    pub rows: Vec<Row>,
    /// The address of the first page, unless it is this one.
    pub first: Option<String>,
    pub next: Option<String>,
    /// How many rows are left out of a list without pages.
    pub hidden: usize,
}

impl<Row> List<Row> {
    /// A page of a list that the store reads in pages.
    pub fn page<T, Cursor: Display>(
        (path, fields): (&str, &Fields),
        request: &PageRequest<Cursor>,
        page: Page<T, Cursor>,
        row: impl FnMut(T) -> Row,
    ) -> Self {
        let at = |after: &str| fields.here(path, &[("after", after)]);
        Self {
            rows: page.items.into_iter().map(row).collect(),
            first: request.after.as_ref().map(|_| at("")),
            next: page.next.map(|next| at(&next.to_string())),
            hidden: 0,
        }
    }

    /// The first rows of a list that is in memory.
    pub fn first<T>(items: Vec<T>, rows_max: usize, row: impl FnMut(T) -> Row) -> Self {
        let hidden = items.len().saturating_sub(rows_max);
        Self {
            rows: items.into_iter().take(rows_max).map(row).collect(),
            first: None,
            next: None,
            hidden,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
