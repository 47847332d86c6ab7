//! Who did what.

use steadfast_core::{AuditId, AuditRecord};

use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{Reads, Transaction},
    paging::page_of,
    store::{AuditFilter, Page, PageRequest},
};

/// Stores an audit record, if there is one.
pub(super) async fn save_audit(
    tx: &mut dyn Transaction,
    record: Option<&AuditRecord>,
) -> Result<(), DriverError> {
    match record {
        Some(record) => tx.save_audit(record).await,
        None => Ok(()),
    }
}

pub(super) async fn list(
    tx: &mut dyn Reads,
    filter: &AuditFilter,
    page: PageRequest<AuditId>,
) -> Result<Page<AuditRecord, AuditId>, DriverError> {
    let wanted = page.limit.saturating_add(1);
    let found = tx.audit_records(filter, page.after, wanted).await?;
    Ok(page_of(found, page.limit, |record| record.id))
}
