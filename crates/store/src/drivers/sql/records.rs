//! Records as columns, and rows as what they stand for.

use std::borrow::Cow;

use steadfast_core::{AuditRecord, JobId, Timestamp};

use super::{
    session::{SqlRow, SqlValue},
    values::unsigned,
};
use crate::{
    drivers::driver_error::DriverError,
    drivers::sql::encryption::{Cell, Cipher},
    drivers::transaction::{Record, RecordKind, StoredRecord},
    store::TickRecord,
};

/// `kind`, `id`, `tenant`, `name`, `state`, `at`, `revision`, `body`.
pub(super) fn record_columns<'r>(
    cipher: &Cipher,
    record: &Record<'r>,
) -> Result<[SqlValue<'r>; 8], DriverError> {
    let body = match record.kind.is_sealed() {
        true => cipher.seal(Cell::Record(record.kind.as_str(), record.id), record.body)?,
        false => record.body.into(),
    };
    Ok([
        record.kind.as_str().into(),
        record.id.into(),
        record.tenant.into(),
        record.name.into(),
        record.state.as_str().into(),
        record.at.into(),
        record.revision.into(),
        SqlValue::Text(body),
    ])
}

pub(super) fn stored_record(
    cipher: &Cipher,
    kind: RecordKind,
    row: &SqlRow,
) -> Result<StoredRecord, DriverError> {
    let id = row.text(0)?;
    let body = row.text(2);
    let body = body.and_then(|body| cipher.open(Cell::Record(kind.as_str(), id), body));
    Ok(StoredRecord {
        id: id.to_owned(),
        revision: unsigned(row.int(1)?),
        text: body.map(Cow::into_owned).map_err(|error| error.to_string()),
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
