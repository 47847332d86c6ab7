//! Operations as records of a store.

use steadfast_core::OperationId;

use crate::{
    drivers::driver_error::DriverError,
    drivers::transaction::{
        Lock, Reads, Record, RecordKind, RecordState, StoredRecord, Transaction,
    },
    store::OperationRecord,
};

/// Writes an operation in place of its revision, or for the first time.
pub(super) async fn save(
    tx: &mut dyn Transaction,
    operation: &OperationRecord,
    replaces: Option<u64>,
) -> Result<(), DriverError> {
    let body = serde_json::to_string(operation);
    let record = Record {
        kind: RecordKind::Operation,
        id: &operation.id.to_string(),
        tenant: tenant_of(operation),
        name: None,
        state: match operation.is_open() {
            true => RecordState::Open,
            false => RecordState::Ended,
        },
        at: operation.finished_at,
        revision: operation.revision,
        replaces,
        body: &body.map_err(|error| DriverError::unreadable("operation", error))?,
    };
    match tx.save_record(&record).await? {
        true => Ok(()),
        false => Err(DriverError::NotRun),
    }
}

pub(super) async fn find(
    tx: &mut (impl Reads + ?Sized),
    id: OperationId,
    lock: Lock,
) -> Result<Option<OperationRecord>, DriverError> {
    let id = id.to_string();
    let found = tx.record(RecordKind::Operation, &id, lock).await?;
    found.as_ref().map(read).transpose()
}

pub(super) fn tenant_of(operation: &OperationRecord) -> &str {
    operation
        .tenant
        .as_ref()
        .map_or("", |tenant| tenant.as_str())
}

pub(super) fn read(record: &StoredRecord) -> Result<OperationRecord, DriverError> {
    let read = serde_json::from_str(record.body("operation")?);
    let read: OperationRecord =
        read.map_err(|error| DriverError::unreadable("operation", error))?;
    Ok(OperationRecord {
        revision: record.revision,
        ..read
    })
}
