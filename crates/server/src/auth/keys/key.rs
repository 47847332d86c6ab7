//! A key, how it is created, and how it is stored.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use steadfast_api::{KeyBody, Scope};
use steadfast_core::{
    Actor, AuditId, AuditRecord, Invalid, KeyId, Payload, Tenant, Timestamp, limits::DAY,
};
use steadfast_engine::decode_documents;
use steadfast_store::{
    DamagedRow, Document, DocumentKind, DocumentPage, DocumentSaveResult, Outbox, Store, StoreError,
};

use crate::limits::{
    KEY_NAME_CHARS_MAX, KEY_TRIES_MAX, KEYS_MAX, KEYS_PER_TENANT_MAX, PERSONS_KEY_TIME_MAX,
    SECRET_BYTES,
};

pub(super) const PREFIX: &str = "sf_";

/// A key without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// Names it.
    pub id: KeyId,
    /// For people.
    pub name: String,
    /// Its permissions.
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
    /// The person who created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by_person: Option<String>,
    /// A key of scope `tenant` that created it: a thief of that one has this one too.
    #[serde(default)]
    pub(crate) ends_with: Option<KeyId>,
    pub(super) hash: Vec<u8>,
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
            created_by_person: None,
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
            created_by: key
                .created_by
                .map(|key| key.to_string())
                .or_else(|| key.created_by_person.clone()),
        }
    }
}

pub(super) fn given_id(text: &str) -> KeyId {
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
    /// Its permissions.
    pub scope: Scope,
    /// The tenant it may see; all tenants if `None`.
    pub tenant: Option<Tenant>,
    /// When it expires, if ever.
    pub expires_at: Option<Timestamp>,
    /// The key that creates it, if one does.
    pub created_by: Option<Key>,
    /// The name of the person who creates it, if one does.
    pub created_by_person: Option<String>,
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
            created_by_person: None,
            by: None,
        }
    }

    /// When it expires: a key does not outlive the key of a tenant that creates it, and a person
    /// may leave.
    fn expiry(&self, now: Timestamp) -> Result<Option<Timestamp>, Invalid> {
        let refused =
            |at: Timestamp, expected: String| Err(Invalid::new("expiresAt", at, expected));
        let creator = self.created_by.as_ref();
        let creators = creator
            .filter(|key| key.scope == Scope::Tenant)
            .and_then(|key| key.expires_at);
        let persons = self.created_by_person.as_ref();
        let persons = persons.map(|_| now.plus(PERSONS_KEY_TIME_MAX));
        match (self.expires_at, creators, persons) {
            (Some(at), _, _) if at <= now => refused(at, "must be in the future".to_owned()),
            (Some(at), Some(most), _) if at > most => refused(
                at,
                format!("must not be after {most}, when the key that creates it expires"),
            ),
            (Some(at), _, Some(most)) if at > most => refused(
                at,
                format!(
                    "must not be after {most}: a key that a person creates is valid for at most \
                     {} days; create a lasting one with an admin key, or with `steadfast keys \
                     create` in the store",
                    PERSONS_KEY_TIME_MAX.as_secs() / DAY.as_secs()
                ),
            ),
            (at, creators, persons) => Ok(at.or(creators).or(persons)),
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
    for _ in 0..KEY_TRIES_MAX {
        // Before they are counted.
        let version = store.document_versions().await?.of(DocumentKind::Key);
        check_count(&new, &list(store).await?)?;
        if let Some(created) = create_at(store, &new, version).await? {
            return Ok(created);
        }
    }
    Err(KeyError::Contended)
}

fn check_count(new: &NewKey, known: &[Key]) -> Result<(), KeyError> {
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
    Ok(())
}

/// Creates a key, unless keys have changed since they were counted.
async fn create_at(
    store: &dyn Store,
    new: &NewKey,
    version: u64,
) -> Result<Option<(Key, Token)>, KeyError> {
    let expires_at = new.expiry(store.now())?;
    let id = KeyId::new(store.now(), rand::random());
    let secret = rand::random::<[u8; SECRET_BYTES]>();
    let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let key = Key {
        id,
        name: new.name.clone(),
        scope: new.scope,
        tenant: new.tenant.clone(),
        created_at: store.now(),
        expires_at,
        last_used_at: None,
        created_by: new.created_by.as_ref().map(|key| key.id),
        created_by_person: new.created_by_person.clone(),
        ends_with: new
            .created_by
            .as_ref()
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
    let audit = new.by.clone().map(|by| {
        let record = audit_record(store, by, "key.create", &key);
        record.with_detail(key.name.clone())
    });
    let outbox = Outbox {
        at_version: Some(version),
        ..audit.into()
    };
    let saved = store.save_document(document, outbox).await?;
    if matches!(saved, DocumentSaveResult::Outdated(_)) {
        return Ok(None);
    }
    let digits = id.to_string();
    let digits = digits.trim_start_matches("key_");
    Ok(Some((key, Token(format!("{PREFIX}{digits}_{secret}")))))
}

/// Whether the store has a key. One that cannot be read counts: without it, a server would need no
/// key and be open to everybody.
pub async fn exist(store: &dyn Store) -> Result<bool, StoreError> {
    const KIND: DocumentKind = DocumentKind::Key;
    if !store
        .list_documents(KIND, DocumentPage::All)
        .await?
        .is_empty()
    {
        return Ok(true);
    }
    let damaged = store.list_damaged().await?;
    let prefix = format!("{KIND}/");
    let is_key = |row: &DamagedRow| row.table == "document" && row.id.starts_with(&prefix);
    Ok(damaged.has_more || damaged.rows.iter().any(is_key))
}

/// All keys, oldest first.
pub async fn list(store: &dyn Store) -> Result<Vec<Key>, StoreError> {
    let documents = store
        .list_documents(DocumentKind::Key, DocumentPage::All)
        .await?;
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
    /// Others created or changed keys again and again.
    #[error("other keys are being changed at the same time; try again")]
    Contended,
}

impl KeyError {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::TooManyOfTenant | Self::TooMany => false,
            Self::Contended => true,
            Self::Store(error) => error.is_transient(),
        }
    }
}

pub(super) fn hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

/// The record of a command on a key.
pub(super) fn audit_record(store: &dyn Store, by: Actor, action: &str, key: &Key) -> AuditRecord {
    let now = store.now();
    let id = AuditId::new(now, rand::random());
    AuditRecord::new(id, now, by, action, key.id.to_string()).of_tenant(key.tenant.clone())
}
