//! The keys that a node knows, by id.

use std::{
    collections::{HashMap, HashSet},
    str::FromStr as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use steadfast_core::{KeyId, Payload, Timestamp};
use steadfast_engine::{DocumentCache, decode_documents};
use steadfast_store::{Document, DocumentKind, Outbox, Store};
use subtle::ConstantTimeEq as _;

use super::key::{Key, PREFIX, given_id, hash};
use crate::limits::KEY_USE_EVERY;

/// A key as a node knows it.
pub struct KnownKey {
    /// The key.
    pub key: Key,
    revision: u64,
    /// Its use is being written.
    is_use_noted: AtomicBool,
}

impl KnownKey {
    /// Writes that it was used, unless that was written recently. Does not wait: the request that
    /// uses it has no need of it, and a use that is not written costs nothing.
    pub(crate) fn note_use(&self, store: impl FnOnce() -> Arc<dyn Store>, now: Timestamp) {
        let last = self.key.last_used_at;
        let is_due = last.is_none_or(|last| now.since(last) >= KEY_USE_EVERY);
        if !is_due || self.is_use_noted.swap(true, Ordering::Relaxed) {
            return;
        }
        let key = Key {
            last_used_at: Some(now),
            ..self.key.clone()
        };
        let (revision, store) = (self.revision, store());
        tokio::spawn(async move {
            let Ok(body) = Payload::encode(&key) else {
                return;
            };
            let document = Document {
                kind: DocumentKind::Key,
                id: key.id.to_string(),
                body,
                // Another node may have written it, and a revoked key does not come back.
                revision,
            };
            if let Err(error) = store.save_document(document, Outbox::default()).await {
                tracing::debug!(%error, "cannot record the use of a key");
            }
        });
    }
}

/// All keys, by id.
pub struct Keys(pub(super) HashMap<KeyId, Arc<KnownKey>>);

impl Keys {
    /// The keys of a store, read again every few seconds.
    pub fn cache(store: Arc<dyn Store>) -> DocumentCache<Self> {
        DocumentCache::new(store, DocumentKind::Key, |documents| {
            let keys = decode_documents::<Key>(documents);
            let keys = keys.map(|(document, key)| KnownKey {
                key,
                revision: document.revision,
                is_use_noted: AtomicBool::new(false),
            });
            Self::of(keys.collect())
        })
    }

    /// Without keys that ended with the one that created them.
    fn of(mut keys: Vec<KnownKey>) -> Self {
        loop {
            let ids: HashSet<KeyId> = keys.iter().map(|it| it.key.id).collect();
            keys.retain(|it| {
                it.key
                    .ends_with
                    .is_none_or(|creator| ids.contains(&creator))
            });
            if keys.len() == ids.len() {
                break;
            }
        }
        let by_id = keys.into_iter().map(|it| (it.key.id, Arc::new(it)));
        Self(by_id.collect())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key of this id, unless it has expired.
    pub fn get(&self, id: KeyId, now: Timestamp) -> Option<Arc<KnownKey>> {
        let known = self.0.get(&id);
        known.filter(|it| !it.key.has_expired(now)).cloned()
    }

    /// The key of this token, if it is one, expired or not. Takes the same time however wrong it
    /// is.
    pub fn find(&self, token: &str) -> Option<Arc<KnownKey>> {
        let parts = token.strip_prefix(PREFIX);
        let parts = parts.and_then(|parts| parts.split_once('_'));
        let own = parts.and_then(|(digits, secret)| {
            Some((KeyId::from_str(&format!("key_{digits}")).ok()?, secret))
        });
        let (id, secret) = own.unwrap_or_else(|| (given_id(token), token));
        let known = self.0.get(&id)?;
        let is_right = bool::from(known.key.hash.ct_eq(&hash(secret)));
        is_right.then(|| known.clone())
    }
}
