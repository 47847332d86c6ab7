//! Records as columns, and rows as what they stand for.

use steadfast_core::{AuditRecord, JobId, Timestamp};

use super::{
    session::{SqlRow, SqlValue},
    values::unsigned,
};
use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Record, StoredRecord},
    store::TickRecord,
};

/// `kind`, `id`, `tenant`, `name`, `state`, `at`, `revision`, `body`.
pub(super) fn record_columns<'r>(record: &Record<'r>) -> [SqlValue<'r>; 8] {
    [
        record.kind.as_str().into(),
        record.id.into(),
        record.tenant.into(),
        record.name.into(),
        record.state.as_str().into(),
        record.at.into(),
        record.revision.into(),
        record.body.into(),
    ]
}

pub(super) fn stored_record(row: &SqlRow) -> Result<StoredRecord, DriverError> {
    Ok(StoredRecord {
        id: row.text(0)?.to_owned(),
        revision: unsigned(row.int(1)?),
        text: row
            .text(2)
            .map(str::to_owned)
            .map_err(|error| error.to_string()),
    })
}

pub(super) fn tick_record(row: &SqlRow) -> Result<TickRecord, DriverError> {
    if let Some(job) = row.id_if_any(1)? {
        return Ok(TickRecord::Fired {
            tick: Timestamp::from_micros(row.int(0)?),
            job: JobId::from_bits(job),
        });
    }
    let Some(skip) = row.text_if_any(2)? else {
        let reason = "it neither fired nor was skipped";
        return Err(DriverError::unreadable("tick", reason));
    };
    let skip = serde_json::from_str(skip);
    skip.map(TickRecord::Skipped)
        .map_err(|error| DriverError::unreadable("skip", error))
}

pub(super) fn audit_record(body: &str) -> Result<AuditRecord, DriverError> {
    let read = serde_json::from_str(body);
    read.map_err(|error| DriverError::unreadable("audit record", error))
}
