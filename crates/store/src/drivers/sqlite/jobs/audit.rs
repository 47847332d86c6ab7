//! Who did what.

use rusqlite::params;
use steadfast_core::AuditRecord;

use crate::drivers::sqlite::{driver_error::DriverError, session::Session, values::to_json};

/// Stores an audit record, if there is one and it is not stored already.
pub(crate) fn save_audit(
    session: &Session<'_>,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    let Some(record) = record else {
        return Ok(());
    };
    session
        .conn
        .prepare_cached(include_str!("../../sql/shared/operations/audit_save.sql"))?
        .execute(params![
            record.id.bits().to_be_bytes(),
            record.tenant.as_ref().map_or("", |tenant| tenant.as_str()),
            record.at.as_micros(),
            record.actor.name,
            record.action,
            record.subject,
            to_json(record)?,
        ])?;
    Ok(())
}
