//! Another encryption key: everything in a store is encrypted with it.
//!
//! A store is walked page by page. What nodes write behind the walk may have an older key, so only a
//! walk that found nothing to encrypt proves that nothing is left. Until then, another one follows.

use serde::{Deserialize, Serialize};

/// A rotation of the encryption key, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct KeyRotation {
    /// The id of the key that encrypts everything.
    pub key: String,
    /// The ids of the other keys that the store knew when the rotation began.
    pub older_keys: Vec<String>,
    /// Where the walk continues, in the words of the store; `None` at its beginning.
    #[serde(default)]
    pub position: Option<String>,
    /// Walks that have ended.
    #[serde(default)]
    pub walks: u32,
    /// Values of this walk that had another key, or none.
    #[serde(default)]
    pub found: u64,
    /// Values of this walk that cannot be read, so they stay as they are.
    #[serde(default)]
    pub unreadable: u64,
    /// Older keys that those values need.
    #[serde(default)]
    pub needed_keys: Vec<String>,
}

/// A part of the walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncryptedPart {
    /// Where it began.
    pub from: Option<String>,
    /// Where the walk continues; `None` at its end.
    pub next: Option<String>,
    /// Values that were read.
    pub read: u64,
    /// Those of them that had another key, or none.
    pub found: u64,
    /// Those of them that were written. Nodes have changed the others meanwhile.
    pub written: u64,
    /// Values that cannot be read.
    pub unreadable: u64,
    /// The ids of the keys that those need.
    pub needed_keys: Vec<String>,
    /// Running nodes that encrypt with another key or not at all, at the end of the walk: what they
    /// write next needs that key, or can be read by everyone.
    pub other_writers: Vec<String>,
}

impl KeyRotation {
    /// A rotation that has not begun.
    pub fn new(key: String, older_keys: Vec<String>) -> Self {
        Self {
            key,
            older_keys,
            position: None,
            walks: 0,
            found: 0,
            unreadable: 0,
            needed_keys: Vec::new(),
        }
    }

    /// Older keys that no value of this walk needs; after the last walk, that no value needs at all.
    pub fn unused_keys(&self) -> impl Iterator<Item = &str> {
        let unused = self.older_keys.iter();
        let unused = unused.filter(|key| !self.needed_keys.contains(key));
        unused.map(String::as_str)
    }

    pub(super) fn count(&mut self, part: &EncryptedPart) {
        self.position.clone_from(&part.next);
        self.found = self.found.saturating_add(part.found);
        self.unreadable = self.unreadable.saturating_add(part.unreadable);
        // A changed value may name any key; only known ones matter.
        let known = self.older_keys.iter();
        let needed =
            known.filter(|key| part.needed_keys.contains(key) || self.needed_keys.contains(key));
        self.needed_keys = needed.cloned().collect();
    }
}
