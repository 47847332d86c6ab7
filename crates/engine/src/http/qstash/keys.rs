//! The signing keys of a tenant: a named secret, so that it is encrypted like any other and can be
//! set to the keys that a tenant has had elsewhere.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use rand::RngExt as _;
use steadfast_core::{Invalid, SecretName, SecretValue, Tenant};

use crate::client::{Client, ClientError};

/// The named secret that holds both keys, with a space between them.
const SECRET: &str = "qstash-signing-keys";

/// The keys that sign messages of a tenant. `Debug` hides them.
#[derive(Clone, PartialEq, Eq)]
pub struct QstashKeys {
    /// Signs.
    pub current: String,
    /// Will sign after the next rotation; receivers know it already.
    pub next: String,
}

impl fmt::Debug for QstashKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QstashKeys (hidden)")
    }
}

impl QstashKeys {
    fn generate() -> Self {
        Self {
            current: new_key(),
            next: new_key(),
        }
    }

    fn rotated(&self) -> Self {
        Self {
            current: self.next.clone(),
            next: new_key(),
        }
    }

    fn read(value: &SecretValue) -> Result<Self, Invalid> {
        let keys = value.reveal().split_once(' ');
        let keys = keys.filter(|(current, next)| !current.is_empty() && !next.contains(' '));
        let (current, next) = keys.ok_or_else(|| {
            let expected = "must be the current and the next key with a space between them";
            Invalid::new(format!("secret {SECRET}"), "(hidden)", expected)
        })?;
        Ok(Self {
            current: current.to_owned(),
            next: next.to_owned(),
        })
    }

    fn value(&self) -> Result<SecretValue, Invalid> {
        SecretValue::new(format!("{} {}", self.current, self.next))
    }
}

fn new_key() -> String {
    let bytes = rand::rng().random::<[u8; 24]>();
    format!("sig_{}", BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

impl Client {
    /// The keys that sign messages of a tenant; the first call creates them.
    pub async fn qstash_keys(&self, tenant: &Tenant) -> Result<QstashKeys, ClientError> {
        let name = SecretName::new(SECRET)?;
        if let Some(stored) = self.reveal_secret(tenant, &name).await? {
            return Ok(QstashKeys::read(&stored)?);
        }
        let new = QstashKeys::generate().value()?;
        let secret = self.change_secret(tenant, &name, |stored| stored.unwrap_or(&new).clone());
        Ok(QstashKeys::read(&secret.await?.value)?)
    }

    /// Lets the next key sign, and creates another next one.
    pub async fn rotate_qstash_keys(&self, tenant: &Tenant) -> Result<QstashKeys, ClientError> {
        let keys = self.qstash_keys(tenant).await?;
        let name = SecretName::new(SECRET)?;
        let before = keys.value()?;
        let after = keys.rotated().value()?;
        // A rotation that came in between is the answer: two at the same moment are one.
        let secret = self.change_secret(tenant, &name, |stored| match stored {
            Some(stored) if *stored != before => stored.clone(),
            _ => after.clone(),
        });
        Ok(QstashKeys::read(&secret.await?.value)?)
    }
}
