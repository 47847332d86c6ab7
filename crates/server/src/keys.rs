//! API keys: stored as hashes, shown once.
//!
//! A key is `sf_<id>_<secret>`. The id finds the key, the secret proves it; only a hash of the
//! secret is stored. It has 256 bits from the system's randomness, so a plain hash is enough.

use std::{collections::HashMap, fmt, str::FromStr as _, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_core::{Invalid, KeyId, Payload, Tenant, Timestamp};
use steadfast_engine::{DocumentCache, decode_documents};
use steadfast_store::{Document, DocumentKind, Store, StoreError};
use subtle::ConstantTimeEq as _;

pub use steadfast_api::Scope;

use crate::limits::{KEY_NAME_CHARS_MAX, SECRET_BYTES};

const PREFIX: &str = "sf_";

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Names it.
    pub id: KeyId,
    /// For people.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The tenant it may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
    /// When it was created.
    pub created_at: Timestamp,
    hash: Vec<u8>,
}

impl Key {
    /// The admin key that an operator has chosen. Its id follows from its text, so that it can be
    /// found by that alone.
    pub(crate) fn given(text: &str, now: Timestamp) -> Self {
        Self {
            id: given_id(text),
            name: "STEADFAST_ADMIN_KEY".to_owned(),
            scope: Scope::Admin,
            tenant: None,
            created_at: now,
            hash: hash(text),
        }
    }
}

fn given_id(text: &str) -> KeyId {
    let digest = Sha256::digest(format!("id of {text}").as_bytes());
    let mut bits = [0; 16];
    bits.copy_from_slice(&digest[..16]);
    KeyId::from_bits(u128::from_be_bytes(bits))
}

/// A key to be created.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// For people.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The tenant it may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
}

/// A key as text, which only its owner has.
pub struct Token(String);

impl Token {
    /// The text itself, to be shown once to the key's owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sf_…")
    }
}

impl NewKey {
    fn check(&self) -> Result<(), Invalid> {
        let most = KEY_NAME_CHARS_MAX;
        if self.name.chars().count() > most || self.name.chars().any(char::is_control) {
            let expected = format!("must be at most {most} characters on one line");
            return Err(Invalid::new("name", format!("{:?}", self.name), expected));
        }
        match (self.scope, &self.tenant) {
            (Scope::Admin, Some(tenant)) => Err(Invalid::new(
                "tenant",
                tenant,
                "must be absent: an admin key is for all tenants",
            )),
            (Scope::Tenant, None) => Err(Invalid::new(
                "tenant",
                "absent",
                "must be given for a key of scope tenant",
            )),
            _ => Ok(()),
        }
    }
}

/// Creates a key. The token is returned here and never again.
pub async fn create(store: &dyn Store, new: NewKey) -> Result<(Key, Token), KeyError> {
    new.check()?;
    if new.scope != Scope::Admin && list(store).await?.is_empty() {
        let expected = "must be admin for the first key, or no caller could create another";
        return Err(Invalid::new("scope", new.scope, expected).into());
    }
    let id = KeyId::new(store.now(), rand::random());
    let secret = rand::random::<[u8; SECRET_BYTES]>();
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let key = Key {
        id,
        name: new.name,
        scope: new.scope,
        tenant: new.tenant,
        created_at: store.now(),
        hash: hash(&secret),
    };
    let document = Document {
        kind: DocumentKind::Key,
        id: id.to_string(),
        body: Payload::encode(&key)?,
        revision: 0,
    };
    store.save_document(document, Vec::new()).await?;
    let digits = id.to_string();
    let digits = digits.trim_start_matches("key_");
    Ok((key, Token(format!("{PREFIX}{digits}_{secret}"))))
}

/// All keys, oldest first.
pub async fn list(store: &dyn Store) -> Result<Vec<Key>, StoreError> {
    let documents = store.list_documents(DocumentKind::Key).await?;
    Ok(decode_documents(documents).map(|(_, key)| key).collect())
}

/// Revokes a key; returns whether it existed.
pub async fn delete(store: &dyn Store, id: KeyId) -> Result<bool, StoreError> {
    store
        .delete_document(DocumentKind::Key, id.to_string())
        .await
}

/// Why a key was not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A field of it breaks a rule.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl KeyError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Invalid(_) => false,
            Self::Store(error) => error.is_transient(),
        }
    }
}

/// All keys, by id.
pub struct Keys(HashMap<KeyId, Arc<Key>>);

impl Keys {
    /// The keys of a store, read again every few seconds.
    pub fn cache(store: Arc<dyn Store>) -> DocumentCache<Self> {
        DocumentCache::new(store, DocumentKind::Key, |documents| {
            let keys = decode_documents::<Key>(documents);
            Self(keys.map(|(_, key)| (key.id, Arc::new(key))).collect())
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key of this id.
    pub fn get(&self, id: KeyId) -> Option<Arc<Key>> {
        self.0.get(&id).cloned()
    }

    /// The key of this token, if it is one. Takes the same time however wrong it is.
    pub fn find(&self, token: &str) -> Option<Arc<Key>> {
        let parts = token.strip_prefix(PREFIX);
        let parts = parts.and_then(|parts| parts.split_once('_'));
        let own = parts.and_then(|(digits, secret)| {
            Some((KeyId::from_str(&format!("key_{digits}")).ok()?, secret))
        });
        let (id, secret) = own.unwrap_or_else(|| (given_id(token), token));
        let key = self.0.get(&id)?;
        let is_right = bool::from(key.hash.ct_eq(&hash(secret)));
        is_right.then(|| key.clone())
    }
}

fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use steadfast_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_key_is_found_by_its_token_and_by_no_other() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let new = NewKey {
            name: "ops".to_owned(),
            scope: Scope::Admin,
            tenant: None,
        };
        let (key, token) = create(&*store, new.clone()).await.unwrap();
        let (_, other) = create(&*store, new).await.unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        assert_eq!(keys.find(token.reveal()).unwrap().id, key.id);
        assert_ne!(keys.find(other.reveal()).unwrap().id, key.id);
        let (start, _) = token.reveal().rsplit_once('_').unwrap();
        let (_, wrong) = other.reveal().rsplit_once('_').unwrap();
        for bad in [
            "",
            "sf_",
            "sf_x_y",
            &format!("{start}_{wrong}"),
            &format!("{start}_"),
        ] {
            assert!(keys.find(bad).is_none(), "{bad}");
        }
        let stored = store.list_documents(DocumentKind::Key).await.unwrap();
        let (_, secret) = token.reveal().rsplit_once('_').unwrap();
        assert!(!stored[0].body.as_str().contains(secret));
    }

    #[tokio::test]
    async fn the_first_key_must_be_of_scope_admin() {
        let store = MemoryStore::default();
        let new = |scope| NewKey {
            name: "k".to_owned(),
            scope,
            tenant: (scope == Scope::Tenant).then(Tenant::default),
        };
        for scope in [Scope::Tenant, Scope::Worker, Scope::Read] {
            let refused = create(&store, new(scope)).await.unwrap_err().to_string();
            assert!(
                refused.contains("must be admin for the first key"),
                "{refused}"
            );
        }
        for scope in [Scope::Admin, Scope::Tenant, Scope::Worker, Scope::Read] {
            create(&store, new(scope)).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_tenants_key_needs_a_tenant_and_an_admins_has_none() {
        let store = MemoryStore::default();
        for (scope, tenant) in [
            (Scope::Tenant, None),
            (Scope::Admin, Some(Tenant::default())),
        ] {
            let name = "k".to_owned();
            let new = NewKey {
                name,
                scope,
                tenant,
            };
            assert!(create(&store, new).await.is_err());
        }
    }
}
