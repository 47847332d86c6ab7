//! A record as it is stored.

use steadfast_core::Timestamp;

use crate::drivers::transaction::{Record, RecordState, StoredRecord};

/// A record without its kind and id.
pub(super) struct RecordEntry {
    pub(super) tenant: String,
    pub(super) name: Option<String>,
    pub(super) state: RecordState,
    pub(super) at: Option<Timestamp>,
    pub(super) revision: u64,
    pub(super) body: String,
}

impl RecordEntry {
    pub(super) fn new(record: &Record<'_>) -> Self {
        Self {
            tenant: record.tenant.to_owned(),
            name: record.name.map(str::to_owned),
            state: record.state,
            at: record.at,
            revision: record.revision,
            body: record.body.to_owned(),
        }
    }

    pub(super) fn stored(&self, id: &str) -> StoredRecord {
        StoredRecord {
            id: id.to_owned(),
            revision: self.revision,
            text: Ok(self.body.clone()),
        }
    }
}
