//! API keys: kept as hashes, shown once.
//!
//! A key is `sf_<id>_<secret>`. The id finds the key, the secret proves it; only a hash of the
//! secret is stored. It has 256 bits from the system's randomness, so a plain hash is enough.

use std::{collections::HashMap, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_core::{Invalid, KeyId, Payload, Tenant, Timestamp, string_enum};
use steadfast_engine::{Cache, bodies};
use steadfast_store::{Document, DocumentKind, Store, StoreError};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "sf_";
const SECRET_BYTES: usize = 32;

string_enum! {
    /// What a key is good for.
    Scope, "scope" {
        /// Everything, of all tenants.
        Admin = "admin",
        /// Everything of one tenant.
        Tenant = "tenant",
        /// Claiming jobs and saying how they went.
        Worker = "worker",
        /// Looking.
        Read = "read",
    }
}

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    pub id: KeyId,
    pub name: String,
    pub scope: Scope,
    /// Whose things it sees; all if `None`.
    pub tenant: Option<Tenant>,
    pub created_at: Timestamp,
    hash: Vec<u8>,
}

/// What is asked for when a key is made.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub name: String,
    pub scope: Scope,
    pub tenant: Option<Tenant>,
}

/// A key as text, which only its owner has.
pub struct Token(String);

impl Token {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sf_…")
    }
}

const NAME_CHARS_MAX: usize = 100;

impl NewKey {
    fn check(&self) -> Result<(), Invalid> {
        if self.name.chars().count() > NAME_CHARS_MAX || self.name.chars().any(char::is_control) {
            let expected = format!("must be at most {NAME_CHARS_MAX} characters on one line");
            return Err(Invalid::new("name", format!("{:?}", self.name), expected));
        }
        match (self.scope, &self.tenant) {
            (Scope::Admin, Some(tenant)) => Err(Invalid::new(
                "tenant",
                tenant,
                "must be left out: an admin key is for all tenants",
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

/// Makes a key and keeps it. The token is returned here and never again.
pub async fn create(store: &dyn Store, new: NewKey) -> Result<(Key, Token), KeyError> {
    new.check()?;
    if new.scope != Scope::Admin && list(store).await?.is_empty() {
        let expected = "must be admin for the first key, or nobody could make another";
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
    Ok(bodies(documents).map(|(_, key)| key).collect())
}

/// Forgets a key; says whether it was there.
pub async fn delete(store: &dyn Store, id: KeyId) -> Result<bool, StoreError> {
    store
        .delete_document(DocumentKind::Key, id.to_string())
        .await
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The keys as they are looked up.
pub struct Keys(HashMap<KeyId, Arc<Key>>);

impl Keys {
    pub fn cache(store: Arc<dyn Store>) -> Cache<Self> {
        Cache::new(store, DocumentKind::Key, |documents| {
            let keys = bodies::<Key>(documents);
            Self(keys.map(|(_, key)| (key.id, Arc::new(key))).collect())
        })
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, id: KeyId) -> Option<Arc<Key>> {
        self.0.get(&id).cloned()
    }

    /// The key of this token, if it is one. Takes the same time however wrong it is.
    pub fn find(&self, token: &str) -> Option<Arc<Key>> {
        let (digits, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
        let id = KeyId::from_str(&format!("key_{digits}")).ok()?;
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
    async fn the_first_key_is_an_admins_or_nobody_could_make_another() {
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
