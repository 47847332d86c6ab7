//! Jobs and attempts in rows.

use std::{error::Error, sync::Arc};

use steadfast_core::{Attempt, Job};
use tokio_postgres::{
    Row,
    types::{FromSql, Type, accepts},
};

use super::{driver_error::DriverError, key::Key, names::cache::ResolvedNames, session::Session};
use crate::{
    damage::DamagedRow,
    drivers::sql::{
        columns::{AttemptColumns, JobColumns},
        paging::Readable,
        rows::{self, RowValues},
    },
};

/// Rows of jobs with their columns and names.
pub(super) struct JobRows {
    pub rows: Vec<Row>,
    pub columns: JobColumns,
    pub names: ResolvedNames,
}

impl JobRows {
    /// Reads a row among others. One that cannot be read is noted, and must not keep the others
    /// from being seen.
    pub(super) fn read_if_readable(
        &self,
        session: &Session<'_>,
        row: &Row,
    ) -> Result<Option<Job>, DriverError> {
        match self.read_or_damaged(session, row) {
            Ok(job) => Ok(Some(job)),
            Err(DriverError::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a row. One that cannot be read is noted, and says whose it is.
    pub(super) fn read_or_damaged(
        &self,
        session: &Session<'_>,
        row: &Row,
    ) -> Result<Job, DriverError> {
        self.read(session, row).or_else(|error| {
            if !error.is_unreadable() {
                return Err(error);
            }
            let id = row.try_get::<_, Key>(self.columns.id)?.job();
            let lane = self.names.lane(row.try_get(self.columns.lane)?).ok();
            let tenant = lane.map(|lane| lane.tenant.clone());
            let damaged = DamagedRow::new("job", id, error).of(tenant);
            session.shared.damage.note(damaged.clone());
            Err(DriverError::Damaged(Box::new(damaged)))
        })
    }

    fn read(&self, session: &Session<'_>, row: &Row) -> Result<Job, DriverError> {
        let columns = &self.columns;
        let lane = self.names.lane(row.try_get(columns.lane)?)?.clone();
        let policy = Arc::clone(self.names.policy(row.try_get(columns.policy)?)?);
        rows::job(row, columns, lane, policy, &session.shared.cipher)
    }
}

/// All attempt records of a result.
pub(super) fn attempts(
    session: &Session<'_>,
    found: &[Row],
) -> Result<Readable<Attempt>, DriverError> {
    let Some(first) = found.first() else {
        return Ok(Readable::default());
    };
    let columns = AttemptColumns::find(first.columns().iter().map(|column| column.name()))?;
    let mut attempts = Readable::default();
    for row in found {
        let (cipher, damage) = (&session.shared.cipher, &session.shared.damage);
        rows::push_attempt(&mut attempts, row, &columns, cipher, damage)?;
    }
    Ok(attempts)
}

impl RowValues for Row {
    fn int_if_any(&self, column: usize) -> Result<Option<i64>, DriverError> {
        let number: Option<AnyInt> = self.try_get(column)?;
        Ok(number.map(|number| number.0))
    }

    fn text_if_any(&self, column: usize) -> Result<Option<&str>, DriverError> {
        Ok(self.try_get(column)?)
    }

    fn id_if_any(&self, column: usize) -> Result<Option<u128>, DriverError> {
        let key: Option<Key> = self.try_get(column)?;
        Ok(key.map(Key::bits))
    }

    fn free_text(&self, column: usize) -> Result<Option<String>, DriverError> {
        self.json(column, "text")
    }
}

/// A number of any width, or a boolean.
struct AnyInt(i64);

impl FromSql<'_> for AnyInt {
    fn from_sql(ty: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *ty {
            Type::INT2 => i16::from_sql(ty, raw)?.into(),
            Type::INT4 => i32::from_sql(ty, raw)?.into(),
            Type::BOOL => bool::from_sql(ty, raw)?.into(),
            _ => i64::from_sql(ty, raw)?,
        }))
    }

    accepts!(INT2, INT4, INT8, BOOL);
}
