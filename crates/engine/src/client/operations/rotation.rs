//! Everything in a store is encrypted with its newest key.

use steadfast_core::{
    Actor, Invalid, KeyRotation, Operation, OperationId, OperationKind, OperationStatus,
};
use steadfast_store::{
    JobFilter, OperationChange, OperationFilter, OperationRecord, OperationStep, PageRequest,
};

use crate::{
    client::{Client, ClientError},
    limits::{OPERATION_WAIT_EVERY, OPERATIONS_OPEN_MAX},
};

impl Client {
    /// Stores an operation that encrypts everything with the newest key of this process. Nodes with
    /// the same newest key carry it out. One that is already open is returned as it is.
    pub async fn rotate_encryption(&self, by: Actor) -> Result<OperationRecord, ClientError> {
        let Some(rotation) = self.store().new_rotation().await? else {
            let kind = OperationKind::RotateEncryption;
            let expected = "must be another kind: this node has no encryption key; start it with \
                            --encryption-key-file";
            return Err(Invalid::new("kind", kind, expected).into());
        };
        if let Some((open, other)) = self.open_rotation().await? {
            return match other.key == rotation.key {
                true => Ok(open),
                false => Err(ClientError::RotationOpen {
                    id: open.id,
                    key: other.key,
                }),
            };
        }
        let now = self.now();
        let record = OperationRecord {
            id: self.random().operation_id(now),
            tenant: None,
            by: by.clone(),
            created_at: now,
            finished_at: None,
            filter: JobFilter::default(),
            is_named: false,
            operation: Operation::rotate_encryption(rotation, now),
            revision: 0,
        };
        let audit = self.new_record(by, "encryption.rotate", record.id.to_string());
        let most = OPERATIONS_OPEN_MAX;
        let stored = self
            .store()
            .create_operation(record.clone(), Vec::new(), most, audit);
        if !stored.await? {
            return Err(ClientError::TooManyOperations { most });
        }
        self.operation_created().notify_one();
        Ok(record)
    }

    /// Works on a rotation in this process until it has ended or is paused, together with the nodes
    /// that work on it as well. Reports after each part.
    pub async fn work_rotation(
        &self,
        id: OperationId,
        mut report: impl FnMut(&OperationRecord),
    ) -> Result<OperationRecord, ClientError> {
        loop {
            let found = self.operation(id).await?;
            let mut record = found.ok_or(ClientError::OperationNotFound(id))?;
            loop {
                report(&record);
                if record.operation.progress.status != OperationStatus::Running {
                    return Ok(record);
                }
                let revision = record.revision;
                let step = OperationStep::Rotate { revision };
                match self.store().change_operation(id, step).await? {
                    OperationChange::Done(next) => record = *next,
                    _ => break,
                }
            }
            // A node is faster, or a person has paused it.
            tokio::time::sleep(OPERATION_WAIT_EVERY).await;
        }
    }

    async fn open_rotation(&self) -> Result<Option<(OperationRecord, KeyRotation)>, ClientError> {
        let mut page = PageRequest::first(OPERATIONS_OPEN_MAX);
        loop {
            let filter = OperationFilter {
                is_open: true,
                ..OperationFilter::default()
            };
            let open = self.operations(filter, page).await?;
            for record in open.items {
                if let Some(rotation) = record.operation.rotation.clone() {
                    return Ok(Some((record, *rotation)));
                }
            }
            if open.next.is_none() {
                return Ok(None);
            }
            page.after = open.next;
        }
    }
}
