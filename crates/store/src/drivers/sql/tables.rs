//! Every table of a store, in one list for each database: the one walk that checks and moves use.
//!
//! A table is read in pages, in the order of its key, so neither memory nor a statement grows with
//! the store. Rows of both databases have the same columns here, though some are stored in another
//! way. A test compares the lists with the schemas, so that a new table cannot be forgotten.

mod list;
mod read;
mod reseal;
mod rules;
mod table;
mod write;

use std::collections::BTreeSet;

use async_trait::async_trait;

pub(crate) use table::Dialect;
use table::Table;

use super::session::SqlSession;
use crate::{
    drivers::{Answer, Asker, Driver, driver_error::DriverError},
    error::StoreError,
    tables::{
        EncryptionKeyIds, InspectedRows, MoveSide, ResealedRows, RowPosition, TablePage, TableStore,
    },
};

/// What a statement on whole tables does on a connection.
pub(crate) type SqlVerb<A, T> = for<'a> fn(&'a mut dyn SqlSession, &'a A) -> Answer<'a, T>;

/// A driver whose tables can be walked.
pub(crate) trait SqlDriver: Driver {
    const DIALECT: Dialect;

    /// Runs a verb on a connection that only reads.
    fn read_sql<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        arguments: A,
        verb: SqlVerb<A, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send {
        let arguments = (arguments, verb);
        self.read(
            operation,
            Asker::Caller,
            arguments,
            |tx, (arguments, verb)| run(tx.sql(), arguments, *verb),
        )
    }

    /// Runs a verb in a transaction, durably before it returns. It touches about this many rows.
    fn transact_sql<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        arguments: A,
        verb: SqlVerb<A, T>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send {
        let arguments = (arguments, verb);
        self.transact(operation, rows, arguments, |tx, (arguments, verb)| {
            run(tx.sql(), arguments, *verb)
        })
    }

    /// Lets no one write to a store that is moved, or lets all write again; `None` where only one
    /// process can have a store.
    fn move_fence(is_up: bool) -> Option<&'static str>;

    /// Adds what is counted apart from its totals.
    fn add_counts(&self) -> impl Future<Output = Result<(), StoreError>> + Send;
}

fn run<'a, A, T: Send + 'a>(
    session: Option<&'a mut dyn SqlSession>,
    arguments: &'a A,
    verb: SqlVerb<A, T>,
) -> Answer<'a, T> {
    match session {
        Some(session) => verb(session, arguments),
        None => Box::pin(std::future::ready(Err(DriverError::NotRun))),
    }
}

#[async_trait]
impl<D: SqlDriver> TableStore for D {
    fn tables(&self) -> Vec<&'static str> {
        let tables = D::DIALECT.tables();
        tables.map(|table| table.title).collect()
    }

    fn moved_tables(&self) -> Vec<&'static str> {
        let tables = D::DIALECT.tables().filter(|table| table.is_moved());
        tables.map(|table| table.title).collect()
    }

    async fn add_counts(&self) -> Result<(), StoreError> {
        SqlDriver::add_counts(self).await?;
        self.add_failure_counts().await
    }

    async fn read_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<TablePage, StoreError> {
        let table = D::DIALECT.table(table)?;
        self.read_sql("read_table", (table, after, limit), |session, arguments| {
            let (table, after, limit) = arguments;
            Box::pin(read::page(session, table, after.as_ref(), *limit))
        })
        .await
    }

    async fn inspect_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<InspectedRows, StoreError> {
        let table = D::DIALECT.table(table)?;
        self.read_sql(
            "inspect_table",
            (table, after, limit),
            |session, arguments| {
                let (table, after, limit) = arguments;
                Box::pin(read::inspect(session, table, after.as_ref(), *limit))
            },
        )
        .await
    }

    async fn write_table(&self, page: TablePage, mark: String) -> Result<(), StoreError> {
        let table = D::DIALECT.table(page.table)?;
        let rows = page.rows.len();
        let arguments = (D::DIALECT, table, page, mark);
        self.transact_sql("write_table", rows, arguments, |session, arguments| {
            let (dialect, table, page, mark) = arguments;
            Box::pin(async move {
                write::rows(session, *dialect, table, &page.rows).await?;
                write::mark(session, MoveSide::Target, Some(mark)).await
            })
        })
        .await
    }

    async fn encryption_keys(&self) -> Result<EncryptionKeyIds, StoreError> {
        self.read_sql("encryption_keys", (), |session, ()| {
            Box::pin(reseal::key_ids(session))
        })
        .await
    }

    fn encrypted_tables(&self) -> Vec<&'static str> {
        D::DIALECT.sealed_tables().collect()
    }

    async fn reseal_table(
        &self,
        table: &'static str,
        after: Option<RowPosition>,
        limit: usize,
    ) -> Result<ResealedRows, StoreError> {
        let arguments = (D::DIALECT, D::DIALECT.table(table)?, after, limit);
        self.read_sql("reseal_table", arguments, |session, arguments| {
            let (dialect, table, after, limit) = arguments;
            Box::pin(reseal::page(
                session,
                *dialect,
                table,
                after.as_ref(),
                *limit,
            ))
        })
        .await
    }

    async fn write_resealed(&self, page: ResealedRows) -> Result<usize, StoreError> {
        let (rows, table) = (page.rows.len(), D::DIALECT.table(page.table)?);
        self.transact_sql(
            "write_resealed",
            rows,
            (table, page),
            |session, arguments| {
                let (table, page) = arguments;
                Box::pin(reseal::write(session, table, &page.rows))
            },
        )
        .await
    }

    async fn forget_keys(&self, ids: BTreeSet<String>) -> Result<(), StoreError> {
        self.transact_sql("forget_keys", ids.len(), ids, |session, ids| {
            Box::pin(reseal::forget_keys(session, ids))
        })
        .await
    }

    async fn analyze(&self) -> Result<(), StoreError> {
        if D::DIALECT == Dialect::Sqlite {
            // Its plans are fixed by the indexes.
            return Ok(());
        }
        self.transact_sql("analyze", 0, D::DIALECT, |session, dialect| {
            Box::pin(async move {
                for table in dialect.tables() {
                    let name = table.from.split(' ').next().unwrap_or(table.from);
                    session.execute(&format!("ANALYZE {name}"), &[]).await?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn move_mark(&self, side: MoveSide) -> Result<Option<String>, StoreError> {
        self.read_sql("move_mark", side, |session, side| {
            Box::pin(read::mark(session, *side))
        })
        .await
    }

    async fn set_move_mark(&self, side: MoveSide, mark: Option<String>) -> Result<(), StoreError> {
        self.transact_sql("set_move_mark", 1, (side, mark), |session, arguments| {
            let (side, mark) = arguments;
            Box::pin(async move {
                write::mark(session, *side, mark.as_deref()).await?;
                let fence = D::move_fence(mark.is_some());
                if let Some(sql) = fence.filter(|_| *side == MoveSide::Source) {
                    session.execute(sql, &[]).await?;
                }
                Ok(())
            })
        })
        .await
    }
}
