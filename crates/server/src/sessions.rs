//! Browsers that have signed in with an API key.
//!
//! A browser holds a random token in a cookie; the store holds its hash, the key it stands for
//! and when it ends. Every node reads them, so it does not matter which one answers. A key that
//! is taken back ends its sessions, because the key is looked up at every request.

use std::{collections::HashMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_core::{KeyId, Payload, Timestamp};
use steadfast_engine::{Cache, bodies};
use steadfast_store::{Document, DocumentKind, Store};

use crate::problem::Problem;

/// A working day; then the key is asked for again.
pub const LASTS: Duration = Duration::from_secs(12 * 60 * 60);
const TOKEN_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub key: KeyId,
    pub expires_at: Timestamp,
}

/// The sessions as they are looked up, by the hash of their token.
#[derive(Default)]
pub struct Sessions(HashMap<String, Session>);

impl Sessions {
    pub fn cache(store: Arc<dyn Store>) -> Cache<Self> {
        Cache::new(store, DocumentKind::Session, |documents| {
            let sessions = bodies::<Session>(documents);
            Self(sessions.map(|(document, it)| (document.id, it)).collect())
        })
    }

    /// The session of a token, unless it has ended.
    pub fn find(&self, token: &str, now: Timestamp) -> Option<Session> {
        let session = self.0.get(&hash(token)).copied();
        session.filter(|session| now < session.expires_at)
    }
}

/// Starts a session for a key; the token is returned here and never again. Those that have
/// ended are forgotten on the way.
pub async fn start(store: &dyn Store, key: KeyId) -> Result<String, Problem> {
    let now = store.now();
    for (document, session) in bodies::<Session>(store.list_documents(DocumentKind::Session).await?)
    {
        if session.expires_at <= now {
            store
                .delete_document(DocumentKind::Session, document.id)
                .await?;
        }
    }
    let token = rand::random::<[u8; TOKEN_BYTES]>();
    let token: String = token.iter().map(|byte| format!("{byte:02x}")).collect();
    let session = Session {
        key,
        expires_at: now.plus(LASTS),
    };
    let document = Document {
        kind: DocumentKind::Session,
        id: hash(&token),
        body: Payload::encode(&session)?,
        revision: 0,
    };
    store.save_document(document, Vec::new()).await?;
    Ok(token)
}

pub async fn end(store: &dyn Store, token: &str) -> Result<(), Problem> {
    store
        .delete_document(DocumentKind::Session, hash(token))
        .await?;
    Ok(())
}

/// The token has 256 bits from the system's randomness, so a plain hash is enough.
fn hash(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use steadfast_store::{BaseStore as _, DocumentStore as _, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn only_the_hash_of_a_token_is_kept_and_a_session_ends_in_time() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let key = KeyId::new(store.now(), 7);
        let token = start(&*store, key).await.unwrap();
        let kept = store.list_documents(DocumentKind::Session).await.unwrap();
        assert!(!kept[0].id.contains(&token) && !kept[0].body.as_str().contains(&token));
        let sessions = Sessions::cache(store.clone()).get().await.unwrap();
        let now = store.now();
        assert_eq!(sessions.find(&token, now).unwrap().key, key);
        assert!(sessions.find(&token, now.plus(LASTS)).is_none());
        assert!(sessions.find("", now).is_none());
        end(&*store, &token).await.unwrap();
        assert!(
            store
                .list_documents(DocumentKind::Session)
                .await
                .unwrap()
                .is_empty()
        );
    }

    #[tokio::test]
    async fn a_new_session_sweeps_out_those_that_have_ended() {
        let store = MemoryStore::default();
        let old = Session {
            key: KeyId::new(store.now(), 7),
            expires_at: store.now(),
        };
        let document = Document {
            kind: DocumentKind::Session,
            id: "old".to_owned(),
            body: Payload::encode(&old).unwrap(),
            revision: 0,
        };
        store.save_document(document, Vec::new()).await.unwrap();
        start(&store, old.key).await.unwrap();
        let kept = store.list_documents(DocumentKind::Session).await.unwrap();
        assert!(kept.len() == 1 && kept[0].id != "old");
    }
}
