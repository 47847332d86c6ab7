//! Whose session a token is, and the tokens themselves.

use sha2::{Digest, Sha256};
use steadfast_core::KeyId;

use crate::{auth::oidc::PersonRecord, limits::SECRET_BYTES};

/// A key or a person, as documents and tokens name them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SessionOwner {
    Key(KeyId),
    /// A hash of the provider and its name for the person.
    Person(String),
}

impl SessionOwner {
    pub(super) fn of_person(person: &PersonRecord) -> Self {
        let mut digest = hash(&format!("{}\n{}", person.issuer, person.subject));
        digest.truncate(32);
        Self::Person(digest)
    }

    /// The owner that a token says it is of.
    pub(super) fn of_token(token: &str) -> Option<Self> {
        let (owner, _) = token.split_once('_')?;
        match owner.strip_prefix("person-") {
            Some(person) => Some(Self::Person(person.to_owned())),
            None => format!("key_{owner}").parse().ok().map(Self::Key),
        }
    }

    pub(super) fn of_document(id: &str) -> Option<Self> {
        match id.strip_prefix("person_") {
            Some(person) => Some(Self::Person(person.to_owned())),
            None => id.parse().ok().map(Self::Key),
        }
    }

    pub(super) fn document_id(&self) -> String {
        match self {
            Self::Key(key) => key.to_string(),
            Self::Person(person) => format!("person_{person}"),
        }
    }

    pub(super) fn new_token(&self) -> String {
        let secret = rand::random::<[u8; SECRET_BYTES]>();
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Key(key) => {
                let digits = key.to_string();
                format!("{}_{secret}", digits.trim_start_matches("key_"))
            }
            Self::Person(person) => format!("person-{person}_{secret}"),
        }
    }
}

/// The token has 256 bits from the system's randomness, so a plain hash is enough.
pub(super) fn hash(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
