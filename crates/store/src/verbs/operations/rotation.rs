//! Rotations of the encryption key.
//!
//! A part is written before it is counted, because its rows are compared one by one: whoever writes
//! them a second time changes nothing.

use serde::Deserialize;
use steadfast_core::{
    AuditId, AuditRecord, EncryptedPart, OperationEvent, OperationId, OperationStatus, Timestamp,
    limits::NODE_SILENT_AFTER,
};

use super::{
    CHANGE,
    stored::{find, save},
};
use crate::{
    drivers::{
        Asker, Driver,
        driver_error::DriverError,
        transaction::{Lock, Transaction},
    },
    error::StoreError,
    store::{DocumentKind, DocumentPage, DocumentStore as _, OperationChange, OperationRecord},
};

pub(super) async fn work<D: Driver>(
    store: &D,
    id: OperationId,
    revision: u64,
) -> Result<OperationChange, StoreError> {
    let found = store.read(CHANGE, Asker::Caller, id, |tx, id| {
        Box::pin(find(tx, *id, Lock::None))
    });
    let Some(stored) = found.await? else {
        return Ok(OperationChange::NotFound);
    };
    if stored.revision != revision {
        return Ok(OperationChange::Outdated);
    }
    // Nothing is encrypted for one that is paused or has ended.
    let nothing = OperationEvent::Encrypted(EncryptedPart {
        from: stored
            .operation
            .rotation
            .as_ref()
            .and_then(|it| it.position.clone()),
        ..EncryptedPart::default()
    });
    let now = store.now();
    if let Err(refusal) = stored.step(nothing, now) {
        return Ok(OperationChange::Refused(refusal));
    }
    let Some(rotation) = &stored.operation.rotation else {
        return Ok(OperationChange::NotFound);
    };
    let Some(rotator) = store.key_rotator() else {
        return Ok(OperationChange::Outdated);
    };
    let Some(mut part) = rotator.encrypt_part(rotation).await? else {
        return Ok(OperationChange::Outdated);
    };
    if part.next.is_none() {
        part.other_writers = other_writers(store, &rotation.key).await?;
    }
    let event = OperationEvent::Encrypted(part);
    if let Ok(next) = stored.step(event.clone(), now)
        && next.operation.progress.status == OperationStatus::Done
        && let Some(rotation) = &next.operation.rotation
    {
        rotator.forget_unused_keys(rotation).await?;
    }
    let arguments = (id, revision, event);
    store
        .transact(CHANGE, 2, arguments, |tx, it| {
            Box::pin(count(tx, it.0, it.1, &it.2))
        })
        .await
}

/// What a node writes of itself that matters here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeKey {
    name: String,
    last_seen: Timestamp,
    encryption_key: Option<String>,
}

/// The running nodes that encrypt with another key, or not at all.
async fn other_writers<D: Driver>(store: &D, key: &str) -> Result<Vec<String>, StoreError> {
    let (now, mut others) = (store.now(), Vec::new());
    let nodes = store.list_documents(DocumentKind::Node, DocumentPage::All);
    for document in nodes.await? {
        if let Ok(node) = document.body.decode::<NodeKey>()
            && now.since(node.last_seen) < NODE_SILENT_AFTER
            && node.encryption_key.as_deref() != Some(key)
        {
            let other = node.encryption_key.as_deref().unwrap_or("no key");
            others.push(format!("{}: {other}", node.name));
        }
    }
    Ok(others)
}

async fn count(
    tx: &mut dyn Transaction,
    id: OperationId,
    revision: u64,
    event: &OperationEvent,
) -> Result<OperationChange, DriverError> {
    let Some(stored) = find(tx, id, Lock::Update).await? else {
        return Ok(OperationChange::NotFound);
    };
    if stored.revision != revision {
        return Ok(OperationChange::Outdated);
    }
    let now = tx.now();
    let next = match stored.step(event.clone(), now) {
        Ok(next) => next,
        Err(refusal) => return Ok(OperationChange::Refused(refusal)),
    };
    if next.revision != stored.revision {
        save(tx, &next, Some(stored.revision)).await?;
    }
    if next.operation.progress.status == OperationStatus::Done {
        tx.save_audit(&end_of(&next, now)).await?;
    }
    Ok(OperationChange::Done(Box::new(next)))
}

/// So that the audit says that older keys may be removed.
fn end_of(record: &OperationRecord, now: Timestamp) -> AuditRecord {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the lower half of an id is random"
    )]
    let random = record.id.bits() as u64;
    let id = AuditId::new(now, random);
    let by = record.by.clone();
    AuditRecord::new(id, now, by, "encryption.rotated", record.id.to_string())
        .with_detail(record.operation.to_string())
}
