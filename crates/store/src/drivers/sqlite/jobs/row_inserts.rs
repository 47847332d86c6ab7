//! Statements that insert many rows at once.
//!
//! SQLite opens every index of a table each time a statement starts, and looks for the place of the
//! row in each from the root. A statement with many rows opens them once, and finds that the next
//! row belongs behind the last: a job costs half of the instructions that it costs alone.

use rusqlite::{Connection, PrepFlags, Statement, ToSql};

use crate::drivers::sqlite::driver_error::DriverError;
use crate::limits::INSERT_ROWS;

/// A statement that inserts one row, prepared for several numbers of rows when they are first
/// needed.
pub(crate) struct RowInserts<'c> {
    sql: &'static str,
    statements: [Option<Statement<'c>>; INSERT_ROWS.len()],
}

impl<'c> RowInserts<'c> {
    /// `sql` has its row in parentheses after `VALUES`, and parameters without numbers. It begins
    /// with `INSERT OR FAIL`, or SQLite would copy each page in order to undo half a statement:
    /// what fails here is a transaction, and undone as a whole.
    pub(crate) fn new(sql: &'static str) -> Self {
        Self {
            sql,
            statements: Default::default(),
        }
    }

    /// Inserts the first of some rows, as many as one statement takes. Answers with how many it
    /// took, and how many of them were not there already.
    pub(crate) fn insert_some<T>(
        &mut self,
        conn: &'c Connection,
        rows: &[T],
        mut bind: impl FnMut(&mut RowBinder<'_, 'c>, &T) -> Result<(), DriverError>,
    ) -> Result<InsertedRows, DriverError> {
        let fits = INSERT_ROWS.iter().position(|size| *size <= rows.len());
        let Some(index) = fits else {
            return Ok(InsertedRows::default());
        };
        let taken = INSERT_ROWS[index];
        let statement = match self.statements[index].take() {
            Some(statement) => statement,
            None => {
                let sql = repeat_row(self.sql, taken);
                conn.prepare_with_flags(&sql, PrepFlags::SQLITE_PREPARE_PERSISTENT)?
            }
        };
        let statement = self.statements[index].insert(statement);
        let mut binder = RowBinder {
            statement,
            bound: 0,
        };
        for row in &rows[..taken] {
            bind(&mut binder, row)?;
        }
        let stored = statement.raw_execute();
        // SQLite keeps small values in a small memory of its own, which other statements need.
        statement.clear_bindings();
        Ok(InsertedRows {
            taken,
            stored: stored?,
        })
    }
}

#[derive(Clone, Copy, Default)]
pub(crate) struct InsertedRows {
    pub taken: usize,
    pub stored: usize,
}

/// Binds the values of rows, one after the other.
pub(crate) struct RowBinder<'s, 'c> {
    statement: &'s mut Statement<'c>,
    bound: usize,
}

impl RowBinder<'_, '_> {
    pub(crate) fn bind(&mut self, value: impl ToSql) -> Result<(), DriverError> {
        self.bound += 1;
        self.statement.raw_bind_parameter(self.bound, value)?;
        Ok(())
    }
}

/// The statement with its row as often as asked for.
fn repeat_row(sql: &str, times: usize) -> String {
    const BEFORE: &str = "VALUES ";
    let (head, rest) = sql.split_once(BEFORE).unwrap_or((sql, ""));
    let (row, tail) = rest.split_at(rest.find(')').map_or(rest.len(), |end| end + 1));
    let rows = vec![row; times].join(", ");
    [head, BEFORE, &rows, tail].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_repeated_between_what_is_around_it() {
        let sql = "INSERT INTO t (a, b) VALUES (?, 0) ON CONFLICT (a) DO NOTHING";
        assert_eq!(
            repeat_row(sql, 2),
            "INSERT INTO t (a, b) VALUES (?, 0), (?, 0) ON CONFLICT (a) DO NOTHING"
        );
        assert_eq!(repeat_row(sql, 1), sql);
    }
}
