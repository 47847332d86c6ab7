//! Who did what.

use steadfast_core::AuditRecord;

use crate::drivers::postgres::{
    driver_error::DriverError, key::Key, session::Session, values::to_json,
};

/// Stores an audit record, if there is one and it is not stored already.
pub(crate) async fn save_audit(
    session: &Session<'_>,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    let Some(record) = record else {
        return Ok(());
    };
    let tenant = record.tenant.as_ref().map_or("", |tenant| tenant.as_str());
    let sql = include_str!("../../sql/shared/operations/audit_save.sql");
    session
        .shared_execute(
            sql,
            &[
                &Key::from(record.id),
                &tenant,
                &record.at.as_micros(),
                &record.actor.name,
                &record.action,
                &record.subject,
                &to_json(record)?,
            ],
        )
        .await
        .map(drop)
}
