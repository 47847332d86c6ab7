//! A store as rows, whatever they mean: it is checked and moved to another database table by table.

mod check;
mod moving;

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

    /// Holds rows of a table, after a position, against what every row must be.
    async fn inspect_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<InspectedRows, StoreError>;

    /// Stores rows of another store, and the mark of how far the move is, together or not at all.
    async fn write_table(&self, page: TablePage, mark: String) -> Result<(), StoreError>;

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

/// Rows that were held against what they must be.
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
