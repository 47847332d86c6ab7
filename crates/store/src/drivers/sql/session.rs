//! Statements that both dialects share.
//!
//! They are written as SQLite reads them: parameters are `?1`, tables `steadfast_job`. For
//! PostgreSQL, [`postgres_text`] turns them into `$1` and `steadfast.job`, and says how rows are
//! locked and which values are ids.

use std::borrow::Cow;

use async_trait::async_trait;
use steadfast_core::{AuditId, Job, JobId, OperationId, ScheduleId, Timestamp};

use crate::{
    damage::DamageLog,
    drivers::driver_error::DriverError,
    drivers::sql::encryption::Cipher,
    limits::{INSERT_ROWS, LIST_LENGTHS},
};

/// A connection that runs shared statements.
#[async_trait]
pub(crate) trait SqlSession: Send {
    fn now(&self) -> Timestamp;

    fn damage(&self) -> &DamageLog;

    fn cipher(&self) -> &Cipher;

    async fn rows(
        &mut self,
        sql: &str,
        params: &[SqlValue<'_>],
    ) -> Result<Vec<SqlRow>, DriverError>;

    /// Those of some jobs that are stored and can be read.
    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError>;

    /// Answers how many rows were changed.
    async fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, DriverError>;
}

/// A value in a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SqlValue<'v> {
    Null,
    Int(i64),
    Text(Cow<'v, str>),
    /// A public id.
    Id(u128),
    /// Of a type that no column has, or not text.
    Unreadable(String),
}

impl From<i64> for SqlValue<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for SqlValue<'_> {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for SqlValue<'_> {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<Timestamp> for SqlValue<'_> {
    fn from(value: Timestamp) -> Self {
        Self::Int(value.as_micros())
    }
}

impl<'v> From<&'v str> for SqlValue<'v> {
    fn from(value: &'v str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for SqlValue<'_> {
    fn from(value: String) -> Self {
        Self::Text(Cow::Owned(value))
    }
}

impl<'v, T: Into<SqlValue<'v>>> From<Option<T>> for SqlValue<'v> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! ids {
    ($($id:ident),+) => {$(
        impl From<$id> for SqlValue<'_> {
            fn from(id: $id) -> Self {
                Self::Id(id.bits())
            }
        }
    )+};
}
ids!(AuditId, JobId, OperationId, ScheduleId);

/// The columns of a row, in the order of the statement.
pub(crate) struct SqlRow(pub Vec<SqlValue<'static>>);

impl SqlRow {
    pub(crate) fn int(&self, column: usize) -> Result<i64, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Int(value)) => Ok(*value),
            other => Err(unexpected("number", other)),
        }
    }

    pub(crate) fn int_if_any(&self, column: usize) -> Result<Option<i64>, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Null) => Ok(None),
            _ => self.int(column).map(Some),
        }
    }

    pub(crate) fn id(&self, column: usize) -> Result<u128, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Id(bits)) => Ok(*bits),
            other => Err(unexpected("id", other)),
        }
    }

    pub(crate) fn id_if_any(&self, column: usize) -> Result<Option<u128>, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Null) => Ok(None),
            _ => self.id(column).map(Some),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Text(text)) => Ok(text),
            other => Err(unexpected("text", other)),
        }
    }

    pub(crate) fn text_if_any(&self, column: usize) -> Result<Option<&str>, DriverError> {
        match self.0.get(column) {
            Some(SqlValue::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }
}

fn unexpected(what: &'static str, found: Option<&SqlValue<'_>>) -> DriverError {
    let reason = match found {
        None => "it is missing".to_owned(),
        Some(SqlValue::Unreadable(reason)) => reason.clone(),
        Some(found) => format!("found {found:?}"),
    };
    DriverError::unreadable(what, reason)
}

/// A shared statement as PostgreSQL reads it.
#[cfg(feature = "postgres")]
pub(crate) fn postgres_text(sql: &str, schema: &str) -> String {
    sql.replace('?', "$")
        .replace("steadfast_", &format!("{schema}."))
        .replace("/*lock*/", "FOR UPDATE")
        .replace("/*lock free*/", "FOR UPDATE SKIP LOCKED")
        .replace("/*lock job*/", "FOR UPDATE OF job")
        .replace("/*lock share*/", "FOR SHARE")
        .replace("/*uuid*/", "::uuid")
        .replace("job/*hot*/", "job_hot")
}

/// The values of many rows as one list of `(?1, ?2), (?3, ?4)`.
pub(crate) fn values_list(rows: usize, columns: usize) -> String {
    let row = |row: usize| value_list(row * columns + 1, columns);
    let rows: Vec<String> = (0..rows).map(row).collect();
    rows.join(", ")
}

/// Some values from a parameter on, as `(?2, ?3)`.
pub(crate) fn value_list(first: usize, count: usize) -> String {
    let params = (first..first + count).map(|it| format!("?{it}"));
    format!("({})", params.collect::<Vec<_>>().join(", "))
}

/// Lists of values in a statement, behind `before` other parameters: the text for each list, and its
/// values. Lists have few lengths, because each is a statement of its own: the last value is repeated.
pub(crate) fn value_lists<'v, T: Copy + Into<SqlValue<'v>>>(
    values: &[T],
    before: usize,
) -> impl Iterator<Item = (String, Vec<SqlValue<'v>>)> {
    let [.., longest] = LIST_LENGTHS;
    values.chunks(longest).filter_map(move |some| {
        let last = *some.last()?;
        let length = LIST_LENGTHS.into_iter().find(|it| *it >= some.len())?;
        let params = (before + 1..=before + length).map(|it| format!("?{it}"));
        let text: Vec<String> = params.collect();
        let mut list: Vec<SqlValue<'v>> = some.iter().map(|value| (*value).into()).collect();
        list.resize(length, last.into());
        Some((text.join(", "), list))
    })
}

/// Rows that are inserted together, in few sizes, because each is a statement of its own.
pub(crate) fn insert_chunks<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    chunks(rows, INSERT_ROWS)
}

/// Rows in chunks of these sizes, the largest that fit first.
pub(crate) fn chunks<T>(mut rows: &[T], sizes: [usize; 3]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = sizes.into_iter().find(|size| *size <= rows.len())?;
        let (some, rest) = rows.split_at(size);
        rows = rest;
        Some(some)
    })
}

/// The rows of a statement with a list of values behind some parameters.
pub(crate) async fn rows_of_lists<'v, T: Copy + Into<SqlValue<'v>> + Sync>(
    session: &mut impl SqlSession,
    sql: &str,
    params: &[SqlValue<'v>],
    values: &[T],
) -> Result<Vec<SqlRow>, DriverError> {
    let mut rows = Vec::new();
    for (text, list) in value_lists(values, params.len()) {
        let sql = sql.replace("/*list*/", &text);
        let all: Vec<SqlValue<'_>> = params.iter().cloned().chain(list).collect();
        rows.extend(session.rows(&sql, &all).await?);
    }
    Ok(rows)
}

/// The same for a statement without rows.
pub(crate) async fn execute_lists<'v, T: Copy + Into<SqlValue<'v>> + Sync>(
    session: &mut impl SqlSession,
    sql: &str,
    params: &[SqlValue<'v>],
    values: &[T],
) -> Result<(), DriverError> {
    for (text, list) in value_lists(values, params.len()) {
        let sql = sql.replace("/*list*/", &text);
        let all: Vec<SqlValue<'_>> = params.iter().cloned().chain(list).collect();
        session.execute(&sql, &all).await?;
    }
    Ok(())
}

/// Inserts rows, several at a time.
pub(crate) async fn insert_rows<'v, T: Sync, const COLUMNS: usize>(
    session: &mut impl SqlSession,
    sql: &str,
    rows: &'v [T],
    columns: impl Fn(&'v T) -> [SqlValue<'v>; COLUMNS] + Send + Sync,
) -> Result<(), DriverError> {
    for some in insert_chunks(rows) {
        let params: Vec<SqlValue<'_>> = some.iter().flat_map(&columns).collect();
        let sql = sql.replace("/*rows*/", &values_list(some.len(), COLUMNS));
        session.execute(&sql, &params).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_inserted_in_few_sizes_and_in_their_order() {
        let rows: Vec<usize> = (0..74).collect();
        let sizes: Vec<usize> = insert_chunks(&rows).map(<[usize]>::len).collect();
        assert_eq!(sizes, [32, 32, 8, 1, 1]);
        let all: Vec<usize> = insert_chunks(&rows).flatten().copied().collect();
        assert_eq!(all, rows);
        assert_eq!(values_list(2, 2), "(?1, ?2), (?3, ?4)");
    }

    #[test]
    fn lists_have_few_lengths() {
        let lists: Vec<_> = value_lists(&[7_i64, 8, 9], 1).collect();
        let values = [7, 8, 9, 9].map(SqlValue::Int).to_vec();
        assert_eq!(lists, [("?2, ?3, ?4, ?5".to_owned(), values)]);
        let many: Vec<i64> = (0..300).collect();
        let lengths: Vec<usize> = value_lists(&many, 0).map(|list| list.1.len()).collect();
        assert_eq!(lengths, [256, 256]);
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_shared_statement_is_turned_into_postgresql() {
        for (sql, expected) in [
            (
                "SELECT id FROM steadfast_record WHERE id = ?1 /*lock*/",
                "SELECT id FROM own.record WHERE id = $1 FOR UPDATE",
            ),
            (
                "SELECT id FROM steadfast_job WHERE id <> ?1/*uuid*/ /*lock free*/",
                "SELECT id FROM own.job WHERE id <> $1::uuid FOR UPDATE SKIP LOCKED",
            ),
        ] {
            assert_eq!(postgres_text(sql, "own"), expected);
        }
    }
}
