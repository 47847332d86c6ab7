//! Which rows are damaged: what was passed over, and what claims have set aside.

use rusqlite::params;
use steadfast_core::{JobId, Timestamp};

use crate::drivers::sqlite::{
    driver_error::DriverError,
    get,
    readers::Reader,
    transaction::wrappers::{ReaderSnapshot, finish},
    values::job_id,
};
use crate::{
    damage::DamagedRows, drivers::sql::paging::row_limit, limits::DAMAGED_ROWS_MAX,
    verbs::batches::is_corrupt,
};

/// What is damaged now: rows that were mended or deleted meanwhile are left out.
pub(crate) fn list(reader: &mut Reader) -> Result<DamagedRows, DriverError> {
    for id in quarantined(reader)? {
        look_at_job(reader, id)?;
    }
    let damage = reader.names.damage();
    for id in damage.ids("job") {
        match id.parse() {
            Ok(job) => look_at_job(reader, job)?,
            Err(_) => damage.forget("job", &id),
        }
    }
    for text in damage.ids("batch") {
        let is_damaged = match text.parse() {
            Ok(id) => finish(is_corrupt(
                &mut ReaderSnapshot::new(reader, Timestamp::EPOCH),
                id,
            ))?,
            Err(_) => false,
        };
        if !is_damaged {
            damage.forget("batch", &text);
        }
    }
    Ok(damage.known())
}

/// Jobs that a claim could not read, which it moved to the end of time.
fn quarantined(reader: &Reader) -> Result<Vec<JobId>, DriverError> {
    let mut statement = reader
        .conn
        .prepare_cached(include_str!("damage/damaged_find.sql"))?;
    let limit = row_limit(DAMAGED_ROWS_MAX);
    let rows = statement.query_map(params![limit], |row| row.get(0))?;
    rows.map(|id| Ok(job_id(id?))).collect()
}

fn look_at_job(reader: &mut Reader, id: JobId) -> Result<(), DriverError> {
    let Reader { conn, names } = reader;
    match get::job(conn, names, id) {
        Ok(_) => names.damage().forget("job", &id.to_string()),
        Err(DriverError::Damaged(row)) => names.damage().note(*row),
        Err(error) => return Err(error),
    }
    Ok(())
}
