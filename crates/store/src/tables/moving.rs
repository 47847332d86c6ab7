//! Moves a store to another database, row by row.
//!
//! Both stores are marked first, and no node starts on a store with a mark: the source does not
//! change while it is copied, and nothing runs twice afterwards. The mark of the target is written in
//! the transaction of each batch and says how far the move is, so a move that was killed goes on
//! with the next batch. It also holds a sum over the rows that were read; in the end the rows of the
//! target must have the same.

use std::{collections::BTreeMap, fmt};

use futures_util::future::join;
use serde::{Deserialize, Serialize};
use steadfast_core::name_number;

use super::{
    MoveSide, TablePage, TableStore,
    stored_value::{self, StoredValue},
};
use crate::{
    clock::{Clock as _, SystemClock},
    drivers::sql::session::SqlValue,
    error::StoreError,
    limits::MOVED_ROWS,
};

/// A move that has begun.
pub struct StoreMove<'s> {
    from: &'s dyn TableStore,
    to: &'s dyn TableStore,
    /// The source, for people.
    source: String,
    target: String,
    mark: MoveMark,
}

/// How far a move is.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum MoveProgress {
    /// Rows of a table are copied: how many in all.
    Copied(&'static str, u64),
    /// The copy of a table is the same as the original.
    Verified(&'static str, u64),
}

/// A table that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedTable {
    /// Its title.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
}

/// A store was not moved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The target has rows.
    #[error("{name} is not empty (it has {table}): move to a new store")]
    NotEmpty {
        /// The target.
        name: String,
        /// The table that has rows.
        table: &'static str,
    },
    /// A store takes part in another move.
    #[error("{0}")]
    OtherMove(String),
    /// Rows of the target are not those of the source.
    #[error(
        "the {table} of {target} differ from those of {source_name}: {stored} rows, expected {expected}; \
         delete {target} and move again"
    )]
    Differs {
        /// The table.
        table: &'static str,
        /// The source.
        source_name: String,
        /// The target.
        target: String,
        /// Rows of the target.
        stored: u64,
        /// Rows of the source.
        expected: u64,
    },
    /// A store failed. The same move can be started again, and goes on.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is stored in both stores while they are moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MoveMark {
    /// The same in both stores.
    id: String,
    /// The other store, for people.
    other: String,
    /// Everything is copied and verified.
    #[serde(default)]
    is_done: bool,
    /// The table that is being copied; none before the first and after the last.
    #[serde(default)]
    table: Option<String>,
    /// The last of its rows that is copied.
    #[serde(default)]
    after: Option<Vec<StoredValue>>,
    /// What was read of each table.
    #[serde(default)]
    sums: BTreeMap<String, RowSum>,
}

/// Rows, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RowSum {
    rows: u64,
    sum: i64,
}

impl<'s> StoreMove<'s> {
    /// Marks both stores, or takes up a move that was interrupted. From then on no node starts on
    /// either of them. The stores are described for people.
    pub async fn begin(
        (from, source): (&'s dyn TableStore, String),
        (to, target): (&'s dyn TableStore, String),
    ) -> Result<Self, MoveError> {
        if let Some(mark) = read_mark(from, MoveSide::Target).await? {
            return Err(MoveError::OtherMove(format!(
                "{source} is incomplete: finish the move from {} first",
                mark.other
            )));
        }
        if let Some(mark) = read_mark(to, MoveSide::Source).await? {
            return Err(MoveError::OtherMove(format!(
                "{target} is the source of a move to {}: choose a new store",
                mark.other
            )));
        }
        let of_source = read_mark(from, MoveSide::Source).await?;
        let of_target = read_mark(to, MoveSide::Target).await?;
        let mark = match (of_source, of_target) {
            (Some(one), Some(other)) if one.id == other.id => other,
            (_, Some(other)) => {
                return Err(MoveError::OtherMove(format!(
                    "{target} has an unfinished move from {}: finish that one, or choose a new store",
                    other.other
                )));
            }
            (Some(known), None) if known.is_done || known.other != target => {
                let verb = if known.is_done { "was" } else { "is being" };
                return Err(MoveError::OtherMove(format!(
                    "{source} {verb} moved to {}: to use it again, run `steadfast move --from {source} --release`",
                    known.other
                )));
            }
            (known, None) => {
                check_empty(to, &target).await?;
                // A source with a mark cannot be written to, and has its counts added.
                let id = match known {
                    Some(known) => known.id,
                    None => {
                        from.add_counts().await?;
                        new_id()
                    }
                };
                set_mark(from, MoveSide::Source, &MoveMark::new(&id, &target)).await?;
                let mark = MoveMark::new(&id, &source);
                set_mark(to, MoveSide::Target, &mark).await?;
                mark
            }
        };
        Ok(Self {
            from,
            to,
            source,
            target,
            mark,
        })
    }

    /// Takes the marks away again, if nothing was copied yet: nodes may start.
    pub async fn give_up(self) -> Result<(), StoreError> {
        if self.mark.sums.is_empty() {
            self.to.set_move_mark(MoveSide::Target, None).await?;
            self.from.set_move_mark(MoveSide::Source, None).await?;
        }
        Ok(())
    }

    /// Copies and verifies everything. The target can then be served, and the source cannot.
    pub async fn run(
        mut self,
        mut progress: impl FnMut(MoveProgress) + Send,
    ) -> Result<Vec<MovedTable>, MoveError> {
        let tables = self.from.moved_tables();
        let begun = self.mark.table.as_deref();
        let first = tables.iter().position(|table| Some(*table) == begun);
        // After the last table nothing is left to copy.
        let first = match (first, self.mark.sums.len()) {
            (Some(first), _) => first,
            (None, 0) => 0,
            (None, _) => tables.len(),
        };
        for (index, table) in tables.iter().enumerate().skip(first) {
            let next = tables.get(index + 1).copied();
            self.copy(table, next, &mut progress).await?;
        }
        self.to.analyze().await?;
        let mut moved = Vec::with_capacity(tables.len());
        for table in tables {
            let rows = self.verify(table).await?;
            progress(MoveProgress::Verified(table, rows));
            moved.push(MovedTable { table, rows });
        }
        self.check_not_released().await?;
        // The source first: a move that is killed in between is finished by the next.
        let mut mark = MoveMark::new(&self.mark.id, &self.target);
        mark.is_done = true;
        set_mark(self.from, MoveSide::Source, &mark).await?;
        self.to.set_move_mark(MoveSide::Target, None).await?;
        Ok(moved)
    }

    async fn copy(
        &mut self,
        table: &'static str,
        next_table: Option<&'static str>,
        progress: &mut (impl FnMut(MoveProgress) + Send),
    ) -> Result<(), MoveError> {
        let after = self.mark.after.take();
        let after = after.map(stored_value::load);
        let mut page = self.from.read_table(table, after, MOVED_ROWS).await?;
        loop {
            let sum = self.mark.sums.entry(table.to_owned()).or_default();
            sum.add(&page);
            let rows = sum.rows;
            let next = page.next.clone();
            self.mark.table = match &next {
                Some(_) => Some(table.to_owned()),
                None => next_table.map(str::to_owned),
            };
            self.mark.after = next.as_ref().map(stored_value::save);
            let write = self.to.write_table(page, self.mark.to_text());
            let Some(next) = next else {
                write.await?;
                progress(MoveProgress::Copied(table, rows));
                return Ok(());
            };
            // The next rows are read while these are written.
            let read = self.from.read_table(table, Some(next), MOVED_ROWS);
            let (written, read) = join(write, read).await;
            written?;
            progress(MoveProgress::Copied(table, rows));
            page = read?;
        }
    }

    /// Nodes may have worked on a source that was released meanwhile: its jobs would run twice.
    async fn check_not_released(&self) -> Result<(), MoveError> {
        let mark = read_mark(self.from, MoveSide::Source).await?;
        if mark.is_some_and(|mark| mark.id == self.mark.id) {
            return Ok(());
        }
        Err(MoveError::OtherMove(format!(
            "{} was released while it was moved: delete {} and move again",
            self.source, self.target
        )))
    }

    async fn verify(&self, table: &'static str) -> Result<u64, MoveError> {
        let expected = self.mark.sums.get(table).copied().unwrap_or_default();
        let mut stored = RowSum::default();
        let mut after = None;
        loop {
            let page = self.to.read_table(table, after, MOVED_ROWS).await?;
            stored.add(&page);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        if stored == expected {
            return Ok(stored.rows);
        }
        Err(MoveError::Differs {
            table,
            source_name: self.source.clone(),
            target: self.target.clone(),
            stored: stored.rows,
            expected: expected.rows,
        })
    }
}

/// Makes a store usable again that was moved, or is being moved. Answers where to; `None` if it was not.
///
/// Whatever runs on the other store as well would run twice.
pub async fn release_moved(store: &dyn TableStore) -> Result<Option<String>, StoreError> {
    let mark = read_mark(store, MoveSide::Source).await?;
    if mark.is_some() {
        store.set_move_mark(MoveSide::Source, None).await?;
    }
    Ok(mark.map(|mark| mark.other))
}

impl MoveMark {
    fn new(id: &str, other: &str) -> Self {
        Self {
            id: id.to_owned(),
            other: other.to_owned(),
            is_done: false,
            table: None,
            after: None,
            sums: BTreeMap::new(),
        }
    }

    fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Why no node may start on a store with this mark.
    pub(crate) fn refusal(side: &str, text: &str) -> String {
        let mark = serde_json::from_str::<Self>(text).ok();
        let other = mark.as_ref().map_or("another store", |mark| &*mark.other);
        let is_done = mark.as_ref().is_some_and(|mark| mark.is_done);
        if side == MoveSide::Target.as_str() {
            return format!(
                "its move from {other} is unfinished: run the same `steadfast move` again"
            );
        }
        match is_done {
            true => format!(
                "it was moved to {other}: use that store, or run `steadfast move --release` for this one"
            ),
            false => format!(
                "it is being moved to {other}: run the same `steadfast move` again to finish, or \
                 `steadfast move --release` to use this one"
            ),
        }
    }
}

impl RowSum {
    fn add(&mut self, page: &TablePage) {
        self.rows += page.rows.len() as u64;
        for row in &page.rows {
            let parts: Vec<String> = row.iter().map(digest_part).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            self.sum = self.sum.wrapping_add(name_number(&parts));
        }
    }
}

fn digest_part(value: &SqlValue<'_>) -> String {
    match value {
        SqlValue::Null => "n".to_owned(),
        SqlValue::Int(number) => format!("i{number}"),
        SqlValue::Text(text) => format!("t{text}"),
        SqlValue::Id(bits) => format!("d{bits:x}"),
        SqlValue::Unreadable(reason) => format!("u{reason}"),
    }
}

async fn check_empty(to: &dyn TableStore, name: &str) -> Result<(), MoveError> {
    for table in to.moved_tables() {
        if !to.read_table(table, None, 1).await?.rows.is_empty() {
            return Err(MoveError::NotEmpty {
                name: name.to_owned(),
                table,
            });
        }
    }
    Ok(())
}

async fn read_mark(store: &dyn TableStore, side: MoveSide) -> Result<Option<MoveMark>, StoreError> {
    let text = store.move_mark(side).await?;
    text.map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| StoreError::broken("move_mark", error))
}

async fn set_mark(
    store: &dyn TableStore,
    side: MoveSide,
    mark: &MoveMark,
) -> Result<(), StoreError> {
    store.set_move_mark(side, Some(mark.to_text())).await
}

/// Tells this move from others.
fn new_id() -> String {
    format!(
        "{:x}-{:x}",
        SystemClock.now().as_micros(),
        std::process::id()
    )
}

impl fmt::Debug for StoreMove<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreMove")
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}
