//! A store as rows, whatever they mean: it is checked and moved to another database table by table.

mod check;
mod moving;
mod reencrypt;
mod stored_value;

use std::collections::BTreeSet;

use async_trait::async_trait;

use crate::{drivers::sql::session::SqlValue, error::StoreError};

pub use check::{BrokenRows, StoreCheck, check_tables};
pub(crate) use moving::MoveMark;
pub use moving::{MoveError, MoveProgress, MovedTable, StoreMove, release_moved};

/// A store in a database, as the tables that it consists of. Tables are named by titles, which are
/// the same in every database.
#[async_trait]
pub trait TableStore: Send + Sync {
    /// All tables.
    fn tables(&self) -> Vec<&'static str>;

    /// Those whose rows have to be moved, in an order in which they can be stored: the others follow
    /// from them.
    fn moved_tables(&self) -> Vec<&'static str>;

    /// Adds what is counted apart from its totals, before rows are read.
    async fn add_counts(&self) -> Result<(), StoreError>;

    /// Rows of a table that are moved, after a position and in the order of its key.
    async fn read_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<TablePage, StoreError>;

    /// Checks rows of a table, after a position, against the rules of the table.
    async fn inspect_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<InspectedRows, StoreError>;

    /// Stores rows of another store, and the mark of how far the move is, together or not at all.
    async fn write_table(&self, page: TablePage, mark: String) -> Result<(), StoreError>;

    /// The key that encrypts, and the others that stored values may need.
    async fn encryption_keys(&self) -> Result<EncryptionKeyIds, StoreError>;

    /// The tables that have encrypted values.
    fn encrypted_tables(&self) -> Vec<&'static str>;

    /// The values of a table, after a position, that are not encrypted with the newest key: as they are,
    /// and encrypted with it.
    async fn reseal_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<ResealedRows, StoreError>;

    /// Writes these values, except those that were changed since they were read. Answers how many it
    /// has written.
    async fn write_resealed(&self, page: ResealedRows) -> Result<usize, StoreError>;

    /// Forgets keys, but never the newest: the store can then be opened without them.
    async fn forget_keys(&self, ids: BTreeSet<String>) -> Result<(), StoreError>;

    /// Has the database learn what its tables hold, after many rows were stored at once.
    async fn analyze(&self) -> Result<(), StoreError>;

    /// The mark of a move that this store takes part in.
    async fn move_mark(&self, side: MoveSide) -> Result<Option<String>, StoreError>;

    /// Sets that mark, or deletes it.
    async fn set_move_mark(&self, side: MoveSide, mark: Option<String>) -> Result<(), StoreError>;
}

/// Which side of a move a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveSide {
    /// Rows come from here.
    Source,
    /// Rows go here.
    Target,
}

impl MoveSide {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }
}

/// Where a table is read on from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowPosition(pub(crate) Vec<SqlValue<'static>>);

/// Rows of a table.
#[derive(Debug)]
pub struct TablePage {
    pub(crate) table: &'static str,
    pub(crate) rows: Vec<Vec<SqlValue<'static>>>,
    pub(crate) next: Option<RowPosition>,
}

/// The ids of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncryptionKeyIds {
    /// The key that encrypts; `None` if this process has no key.
    pub newest: Option<String>,
    /// The others that the store knows.
    pub older: Vec<String>,
}

/// Values that are encrypted again.
#[derive(Debug)]
pub struct ResealedRows {
    pub(crate) table: &'static str,
    /// How many values were read.
    pub(crate) count: usize,
    /// How many of them cannot be read.
    pub(crate) unreadable: usize,
    /// What those are encrypted with.
    pub(crate) keys_left: Vec<String>,
    pub(crate) rows: Vec<ResealedRow>,
    pub(crate) next: Option<RowPosition>,
}

/// A value as it is stored, and encrypted again.
#[derive(Debug)]
pub(crate) struct ResealedRow {
    pub key: Vec<SqlValue<'static>>,
    pub column: &'static str,
    pub old: String,
    pub new: String,
}

/// Rows that were checked against the rules of their table.
#[derive(Debug)]
pub struct InspectedRows {
    pub(crate) count: usize,
    pub(crate) broken: Vec<BrokenRow>,
    pub(crate) next: Option<RowPosition>,
}

/// A row that is not what it must be.
#[derive(Debug)]
pub(crate) struct BrokenRow {
    /// Its key, for people.
    pub row: String,
    /// What is wrong with it.
    pub rule: &'static str,
}
