//! Jobs and attempts in rows.

use rusqlite::{Connection, Row, Rows, Statement};
use steadfast_core::{Attempt, Job};

use super::{driver_error::DriverError, names::Names, values::job_id};
use crate::{
    damage::DamagedRow,
    drivers::sql::{
        columns::{AttemptColumns, JobColumns, columns},
        paging::Readable,
        rows::{self, RowValues},
    },
    lane::LaneId,
};

/// A job with the number of its row.
pub(super) struct JobRow {
    pub seq: i64,
    pub lane: LaneId,
    pub job: Job,
}

/// The columns of the view `job_row`.
#[derive(Clone, Copy)]
pub(super) struct JobRowColumns {
    seq: usize,
    pub job: JobColumns,
}

columns! {
    struct SeqColumn { seq }
}

impl JobRowColumns {
    pub(super) fn find(statement: &Statement<'_>) -> Result<Self, DriverError> {
        Ok(Self {
            seq: SeqColumn::find(statement.column_names())?.seq,
            job: JobColumns::find(statement.column_names())?,
        })
    }
}

impl JobRow {
    /// Reads a row among others. One that cannot be read is noted, and must not keep the others
    /// from being seen.
    pub(super) fn read_if_readable(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Option<Self>, DriverError> {
        match Self::read_or_damaged(conn, names, columns, row) {
            Ok(row) => Ok(Some(row)),
            Err(DriverError::Damaged(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a row. One that cannot be read is noted, and says whose it is.
    pub(super) fn read_or_damaged(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Self, DriverError> {
        Self::read(conn, names, columns, row).or_else(|error| {
            if !error.is_unreadable() {
                return Err(error);
            }
            let id = job_id(row.get(columns.job.id)?);
            let lane = names.lane(conn, row.get(columns.job.lane)?).ok();
            let tenant = lane.map(|lane| lane.tenant.clone());
            let damaged = DamagedRow::new("job", id, error).of(tenant);
            names.damage().note(damaged.clone());
            Err(DriverError::Damaged(Box::new(damaged)))
        })
    }

    fn read(
        conn: &Connection,
        names: &mut Names,
        columns: &JobRowColumns,
        row: &Row<'_>,
    ) -> Result<Self, DriverError> {
        let seq = row.get(columns.seq)?;
        let columns = &columns.job;
        let lane = row.get(columns.lane)?;
        let policy = names.policy(conn, row.get(columns.policy)?)?;
        let name = names.lane(conn, lane)?.clone();
        let job = rows::job(row, columns, name, policy, names.cipher())?;
        Ok(Self { seq, lane, job })
    }
}

/// All attempt records of a result.
pub(super) fn attempts(
    mut found: Rows<'_>,
    names: &Names,
) -> Result<Readable<Attempt>, DriverError> {
    let mut attempts = Readable::default();
    let mut columns = None;
    while let Some(row) = found.next()? {
        let columns = match columns {
            Some(known) => known,
            None => *columns.insert(AttemptColumns::find(row.as_ref().column_names())?),
        };
        let (cipher, damage) = (names.cipher(), names.damage_log());
        rows::push_attempt(&mut attempts, row, &columns, cipher, damage)?;
    }
    Ok(attempts)
}

impl RowValues for Row<'_> {
    fn int_if_any(&self, column: usize) -> Result<Option<i64>, DriverError> {
        Ok(self.get(column)?)
    }

    fn text_if_any(&self, column: usize) -> Result<Option<&str>, DriverError> {
        let text = self.get_ref(column)?.as_str_or_null();
        text.map_err(|error| DriverError::unreadable("value", error))
    }

    fn id_if_any(&self, column: usize) -> Result<Option<u128>, DriverError> {
        let bytes: Option<[u8; 16]> = self.get(column)?;
        Ok(bytes.map(u128::from_be_bytes))
    }

    fn free_text(&self, column: usize) -> Result<Option<String>, DriverError> {
        Ok(self.get(column)?)
    }
}
