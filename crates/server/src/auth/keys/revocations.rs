//! Revoking keys, so that an admin key always remains.
//!
//! Two admins who revoke each other's key at the same time would both find that one is left. So
//! the one who revokes an admin key first writes its id into one document that all of them share. Only
//! one of two writers of a revision wins; the other reads again, and counts what the winner is
//! about to delete as gone. A process that ends between the two steps leaves a key that still
//! works and no longer counts; it can be revoked again.

use serde::{Deserialize, Serialize};
use steadfast_api::Scope;
use steadfast_core::{Actor, AuditRecord, KeyId, Payload};
use steadfast_engine::decode_documents;
use steadfast_store::{
    Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, Store, StoreError,
};

use super::key::{Key, KeyError, audit_record, list};
use crate::limits::DOCUMENT_TRIES_MAX;

/// The one document of its kind.
const DOCUMENT_ID: &str = "admin";

/// The result of revoking a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// It is revoked, and with it the keys that end with it.
    Done,
    /// There is no such key.
    NotFound,
    /// No other admin key would remain.
    LastAdmin,
    /// Others revoke keys at the same time; try again.
    Contended,
}

/// The admin keys that are about to be deleted.
#[derive(Default, Serialize, Deserialize)]
struct Revocations {
    keys: Vec<KeyId>,
}

/// Revokes a key, unless no admin key would remain, and stores who did so with that. Nodes refuse it
/// within seconds.
pub async fn revoke(
    store: &dyn Store,
    id: KeyId,
    by: Option<Actor>,
) -> Result<Revocation, KeyError> {
    revoke_if(store, id, by, true).await
}

/// The same, also if no admin key would remain: people are administrators.
pub(crate) async fn revoke_even_last(
    store: &dyn Store,
    id: KeyId,
    by: Actor,
) -> Result<Revocation, KeyError> {
    revoke_if(store, id, Some(by), false).await
}

async fn revoke_if(
    store: &dyn Store,
    id: KeyId,
    by: Option<Actor>,
    must_keep_one: bool,
) -> Result<Revocation, KeyError> {
    for _ in 0..DOCUMENT_TRIES_MAX {
        // Before the keys: what was deleted since then is then counted as gone.
        let (mut revocations, mut document) = read(store).await?;
        let keys = list(store).await?;
        let Some(key) = keys.iter().find(|key| key.id == id) else {
            return Ok(Revocation::NotFound);
        };
        let audit = by.clone().map(|by| {
            let record = audit_record(store, by, "key.delete", key);
            record.with_detail(key.name.clone())
        });
        if key.scope != Scope::Admin {
            return delete(store, &keys, id, audit).await;
        }
        let now = store.now();
        let remains = |it: &&Key| {
            let is_admin = it.scope == Scope::Admin && !it.has_expired(now);
            is_admin && it.id != id && !revocations.keys.contains(&it.id)
        };
        if must_keep_one && !keys.iter().any(|it| remains(&it)) {
            return Ok(Revocation::LastAdmin);
        }
        revocations
            .keys
            .retain(|going| *going != id && keys.iter().any(|key| key.id == *going));
        revocations.keys.push(id);
        document.body = Payload::encode(&revocations)?;
        match store.save_document(document, Outbox::default()).await? {
            DocumentSaveResult::Done(_) => return delete(store, &keys, id, audit).await,
            DocumentSaveResult::Outdated(_) => {}
        }
    }
    Ok(Revocation::Contended)
}

async fn read(store: &dyn Store) -> Result<(Revocations, Document), StoreError> {
    let documents = store
        .list_documents(DocumentKind::Revocations, DocumentPage::All)
        .await?;
    let found = decode_documents::<Revocations>(documents).next();
    Ok(match found {
        Some((document, revocations)) => (revocations, document),
        None => {
            let document = Document {
                kind: DocumentKind::Revocations,
                id: DOCUMENT_ID.to_owned(),
                body: Payload::default(),
                revision: 0,
            };
            (Revocations::default(), document)
        }
    })
}

/// Deletes a key, its sessions, and the keys that end with it. Those end with it in any case; what
/// remains of them if the process ends here is not accepted.
async fn delete(
    store: &dyn Store,
    keys: &[Key],
    id: KeyId,
    mut audit: Option<AuditRecord>,
) -> Result<Revocation, KeyError> {
    let mut going = vec![id];
    let mut next = 0;
    let mut was_there = false;
    while let Some(id) = going.get(next).copied() {
        next += 1;
        let text = id.to_string();
        let deleted = store.delete_document(DocumentKind::Key, text.clone(), None, audit.take());
        was_there |= deleted.await?;
        store
            .delete_document(DocumentKind::Session, text, None, None)
            .await?;
        let ending = keys.iter().filter(|key| key.ends_with == Some(id));
        going.extend(ending.map(|key| key.id));
    }
    Ok(match was_there {
        true => Revocation::Done,
        false => Revocation::NotFound,
    })
}
