//! When everything in a store was last encrypted again.

use serde::Serialize;
use steadfast_core::{Payload, Timestamp};
use steadfast_store::{Document, DocumentKind, DocumentSaveResult};

use crate::{
    client::{Client, ClientError},
    limits::REVISION_TRIES_MAX,
};

const NEWEST: &str = "newest"; // not a limit: an id

#[derive(Serialize)]
struct Rotation<'a> {
    action: &'a str,
    at: Timestamp,
}

impl Client {
    /// Records that a rotation of the encryption key has begun or ended, as an action of the audit.
    pub async fn record_rotation(
        &self,
        action: &str,
        detail: Option<&str>,
    ) -> Result<(), ClientError> {
        let kind = DocumentKind::Rotation;
        for _ in 0..REVISION_TRIES_MAX {
            let stored = self.store().get_document(kind, NEWEST.to_owned()).await?;
            let record = self.audit_record(action, "store", None);
            let record = match detail {
                Some(detail) => record.map(|record| record.with_detail(detail)),
                None => record,
            };
            let at = self.now();
            let document = Document {
                kind,
                id: NEWEST.to_owned(),
                revision: stored.map_or(0, |stored| stored.revision),
                body: Payload::encode(&Rotation { action, at })?,
            };
            let saved = self.store().save_document(document, record.into()).await?;
            if let DocumentSaveResult::Done(_) = saved {
                return Ok(());
            }
        }
        Err(ClientError::contended("the rotation"))
    }
}
