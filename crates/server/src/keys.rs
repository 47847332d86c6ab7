//! API keys: stored as hashes, shown once.
//!
//! A key is `sf_<id>_<secret>`. The id finds the key, the secret proves it; only a hash of the
//! secret is stored. It has 256 bits from the system's randomness, so a plain hash is enough.

mod revocations;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    str::FromStr as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_core::{Actor, Invalid, KeyId, Payload, Tenant, Timestamp};
use steadfast_engine::{DocumentCache, decode_documents};
use steadfast_store::{Document, DocumentKind, Outbox, Store, StoreError};
use subtle::ConstantTimeEq as _;

pub use revocations::{Revocation, revoke};
pub use steadfast_api::{KeyBody, Scope};

use crate::limits::{
    KEY_NAME_CHARS_MAX, KEY_USE_EVERY, KEYS_MAX, KEYS_PER_TENANT_MAX, SECRET_BYTES,
};

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
    /// From then on it is refused.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, give or take a minute.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
    /// The key that created it; absent if none was needed, or if it was created in the store.
    #[serde(default)]
    pub created_by: Option<KeyId>,
    /// A key of scope `tenant` that created it: a thief of that one has this one too.
    #[serde(default)]
    pub(crate) ends_with: Option<KeyId>,
    hash: Vec<u8>,
}

impl Key {
    /// Whether it is refused because its time is over.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// The admin key that an operator has chosen. Its id follows from its text, so that it can be
    /// found by that alone.
    pub(crate) fn given(text: &str, name: &str, now: Timestamp) -> Self {
        Self {
            id: given_id(text),
            name: name.to_owned(),
            scope: Scope::Admin,
            tenant: None,
            created_at: now,
            expires_at: None,
            last_used_at: None,
            created_by: None,
            ends_with: None,
            hash: hash(text),
        }
    }
}

impl From<&Key> for KeyBody {
    fn from(key: &Key) -> Self {
        Self {
            id: key.id,
            name: key.name.clone(),
            scope: key.scope,
            tenant: key.tenant.clone(),
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            created_by: key.created_by,
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
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
    /// The key that creates it, if one does.
    pub created_by: Option<Key>,
    /// Who creates it, for the audit record that is stored with it.
    pub by: Option<Actor>,
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
    /// A key that does not expire.
    pub fn new(name: impl Into<String>, scope: Scope, tenant: Option<Tenant>) -> Self {
        Self {
            name: name.into(),
            scope,
            tenant,
            expires_at: None,
            created_by: None,
            by: None,
        }
    }

    /// When it expires: a key does not outlive the key of a tenant that creates it.
    fn expiry(&self, now: Timestamp) -> Result<Option<Timestamp>, Invalid> {
        let refused =
            |at: Timestamp, expected: String| Err(Invalid::new("expiresAt", at, expected));
        let creator = self.created_by.as_ref();
        let most = creator
            .filter(|key| key.scope == Scope::Tenant)
            .and_then(|key| key.expires_at);
        match (self.expires_at, most) {
            (Some(at), _) if at <= now => refused(at, "must be in the future".to_owned()),
            (Some(at), Some(most)) if at > most => refused(
                at,
                format!("must not be after {most}, when the key that creates it expires"),
            ),
            (at, most) => Ok(at.or(most)),
        }
    }

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
                "must be omitted: an admin key is for all tenants",
            )),
            (Scope::Tenant, None) => Err(Invalid::new(
                "tenant",
                "absent",
                "is required for a key with scope tenant",
            )),
            _ => Ok(()),
        }
    }
}

/// Creates a key. The token is returned here and never again.
pub async fn create(store: &dyn Store, new: NewKey) -> Result<(Key, Token), KeyError> {
    new.check()?;
    let expires_at = new.expiry(store.now())?;
    let known = list(store).await?;
    if new.scope != Scope::Admin && known.is_empty() {
        let expected =
            "must be admin for the first key; otherwise no caller could create another key";
        return Err(Invalid::new("scope", new.scope, expected).into());
    }
    let of_tenant = known.iter().filter(|key| key.tenant == new.tenant);
    if new.tenant.is_some() && of_tenant.count() >= KEYS_PER_TENANT_MAX {
        return Err(KeyError::TooManyOfTenant);
    }
    if known.len() >= KEYS_MAX {
        return Err(KeyError::TooMany);
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
        expires_at,
        last_used_at: None,
        created_by: new.created_by.as_ref().map(|key| key.id),
        ends_with: new
            .created_by
            .filter(|key| key.scope == Scope::Tenant)
            .map(|key| key.id),
        hash: hash(&secret),
    };
    let document = Document {
        kind: DocumentKind::Key,
        id: id.to_string(),
        body: Payload::encode(&key)?,
        revision: 0,
    };
    let audit = new.by.map(|by| {
        let record = revocations::audit_record(store, by, "key.create", &key);
        record.with_detail(key.name.clone())
    });
    store.save_document(document, audit.into()).await?;
    let digits = id.to_string();
    let digits = digits.trim_start_matches("key_");
    Ok((key, Token(format!("{PREFIX}{digits}_{secret}"))))
}

/// All keys, oldest first.
pub async fn list(store: &dyn Store) -> Result<Vec<Key>, StoreError> {
    let documents = store.list_documents(DocumentKind::Key).await?;
    Ok(decode_documents(documents).map(|(_, key)| key).collect())
}

/// Why a key was not created or revoked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A field of it breaks a rule.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tenant has as many as it may have.
    #[error("limit of {KEYS_PER_TENANT_MAX} keys per tenant reached; revoke a key first")]
    TooManyOfTenant,
    /// The store has as many as it may have.
    #[error("limit of keys on this server reached; revoke unused keys first")]
    TooMany,
}

impl KeyError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::TooManyOfTenant | Self::TooMany => false,
            Self::Store(error) => error.is_transient(),
        }
    }
}

/// A key as a node knows it.
pub struct KnownKey {
    /// The key.
    pub key: Key,
    revision: u64,
    /// Its use is being written.
    is_use_noted: AtomicBool,
}

impl KnownKey {
    /// Writes that it was used, unless that was written lately. Does not wait: the request that
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
pub struct Keys(HashMap<KeyId, Arc<KnownKey>>);

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

fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use steadfast_store::{BaseStore as _, DocumentStore as _, MemoryStore};

    use super::*;

    #[tokio::test]
    async fn a_key_is_found_by_its_token_and_by_no_other() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let new = NewKey::new("ops", Scope::Admin, None);
        let (key, token) = create(&*store, new.clone()).await.unwrap();
        let (_, other) = create(&*store, new).await.unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        assert_eq!(keys.find(token.reveal()).unwrap().key.id, key.id);
        assert_ne!(keys.find(other.reveal()).unwrap().key.id, key.id);
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
        let new =
            |scope: Scope| NewKey::new("k", scope, (scope == Scope::Tenant).then(Tenant::default));
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
            let new = NewKey::new("k", scope, tenant);
            assert!(create(&store, new).await.is_err());
        }
    }

    #[tokio::test]
    async fn two_admins_who_revoke_each_other_leave_one() {
        for round in 0..20 {
            let store = MemoryStore::default();
            let new = || NewKey::new("ops", Scope::Admin, None);
            let (one, _) = create(&store, new()).await.unwrap();
            let (other, _) = create(&store, new()).await.unwrap();
            let answers =
                tokio::join!(revoke(&store, one.id, None), revoke(&store, other.id, None));
            let answers = [answers.0.unwrap(), answers.1.unwrap()];
            assert!(answers.contains(&Revocation::Done), "{round}: {answers:?}");
            assert!(
                answers.contains(&Revocation::LastAdmin),
                "{round}: {answers:?}"
            );
            assert_eq!(list(&store).await.unwrap().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_revocation_that_was_begun_counts_and_can_be_repeated() {
        let store = MemoryStore::default();
        let new = || NewKey::new("ops", Scope::Admin, None);
        let (one, _) = create(&store, new()).await.unwrap();
        let (other, _) = create(&store, new()).await.unwrap();
        // A process that ended before it deleted the key.
        let begun = Document {
            kind: DocumentKind::Revocations,
            id: "admin".to_owned(),
            body: Payload::from_json(&format!(r#"{{"keys": ["{}"]}}"#, one.id)).unwrap(),
            revision: 0,
        };
        store.save_document(begun, Outbox::default()).await.unwrap();
        assert_eq!(
            revoke(&store, other.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
        assert_eq!(
            revoke(&store, one.id, None).await.unwrap(),
            Revocation::Done
        );
        assert_eq!(
            revoke(&store, one.id, None).await.unwrap(),
            Revocation::NotFound
        );
        let (third, _) = create(&store, new()).await.unwrap();
        assert_eq!(
            revoke(&store, other.id, None).await.unwrap(),
            Revocation::Done
        );
        assert_eq!(
            revoke(&store, third.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
    }

    #[tokio::test]
    async fn keys_that_a_tenants_key_created_end_with_it() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (admin, _) = create(&*store, NewKey::new("ops", Scope::Admin, None))
            .await
            .unwrap();
        let make = async |scope, creator: &Key| {
            let mut new = NewKey::new("k", scope, Some(Tenant::default()));
            new.created_by = Some(creator.clone());
            create(&*store, new).await.unwrap().0
        };
        let tenant = make(Scope::Tenant, &admin).await;
        let second = make(Scope::Tenant, &tenant).await;
        let third = make(Scope::Read, &second).await;
        assert_eq!(third.created_by, Some(second.id));
        // Even if the process ends before it has deleted them all.
        let id = tenant.id.to_string();
        store
            .delete_document(DocumentKind::Key, id, None)
            .await
            .unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        for (key, is_known) in [(&admin, true), (&second, false), (&third, false)] {
            assert_eq!(keys.get(key.id, store.now()).is_some(), is_known);
        }
        let tenant = make(Scope::Tenant, &admin).await;
        let second = make(Scope::Tenant, &tenant).await;
        make(Scope::Read, &second).await;
        revoke(&*store, tenant.id, None).await.unwrap();
        let (_, admins) = create(&*store, NewKey::new("2", Scope::Admin, None))
            .await
            .unwrap();
        let keys = Keys::cache(store.clone()).get().await.unwrap();
        assert_eq!(keys.0.len(), 2);
        assert!(keys.find(admins.reveal()).is_some());
    }

    #[tokio::test]
    async fn an_expired_key_does_not_count_and_none_outlives_the_tenants_key_that_created_it() {
        let clock = steadfast_store::ManualClock::new(Timestamp::from_millis(1_000));
        let store = MemoryStore::new(Arc::new(clock.clone()));
        let at = |millis| Some(Timestamp::from_millis(millis));
        let mut short = NewKey::new("short", Scope::Admin, None);
        short.expires_at = at(5_000);
        let (short, _) = create(&store, short).await.unwrap();
        let (lasting, _) = create(&store, NewKey::new("k", Scope::Admin, None))
            .await
            .unwrap();
        let mut tenant = NewKey::new("t", Scope::Tenant, Some(Tenant::default()));
        tenant.expires_at = at(4_000);
        let (tenant, _) = create(&store, tenant).await.unwrap();
        for (asked, expected) in [
            (None, Some(at(4_000))),
            (at(3_000), Some(at(3_000))),
            (at(4_001), None),
            (at(1_000), None),
        ] {
            let mut new = NewKey::new("c", Scope::Read, Some(Tenant::default()));
            (new.expires_at, new.created_by) = (asked, Some(tenant.clone()));
            let created = create(&store, new).await;
            let expires = created.ok().map(|(key, _)| key.expires_at);
            assert_eq!(expires, expected, "{asked:?}");
        }
        clock.advance(std::time::Duration::from_secs(4));
        assert!(short.has_expired(store.now()));
        assert_eq!(
            revoke(&store, lasting.id, None).await.unwrap(),
            Revocation::LastAdmin
        );
    }

    #[tokio::test]
    async fn a_tenant_has_a_limit_of_its_own_which_tells_nothing_of_others() {
        let store = MemoryStore::default();
        create(&store, NewKey::new("ops", Scope::Admin, None))
            .await
            .unwrap();
        let of = |tenant: &str| NewKey::new("k", Scope::Read, Some(Tenant::new(tenant).unwrap()));
        let (key, _) = create(&store, of("one")).await.unwrap();
        for number in 1..KEYS_PER_TENANT_MAX {
            let id = KeyId::new(store.now(), number as u64);
            let document = Document {
                kind: DocumentKind::Key,
                id: id.to_string(),
                body: Payload::encode(&Key { id, ..key.clone() }).unwrap(),
                revision: 0,
            };
            store
                .save_document(document, Outbox::default())
                .await
                .unwrap();
        }
        let refused = create(&store, of("one")).await.unwrap_err();
        assert!(
            refused.to_string().contains("limit of 500 keys per tenant"),
            "{refused}"
        );
        create(&store, of("other")).await.unwrap();
    }
}
