//! Another encryption key: everything in a store is encrypted with it.
//!
//! A store is walked page by page. What nodes write behind the walk may have an older key, so only a
//! walk that found nothing to encrypt proves that nothing is left. Until then, another one follows.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Operation, OperationKind, OperationProgress, OperationRefusal, OperationStatus};
use crate::{explain::thousands, limits, values::Timestamp};

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

    fn count(&mut self, part: &EncryptedPart) {
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

impl Operation {
    /// A rotation of the encryption key.
    pub fn rotate_encryption(rotation: KeyRotation, now: Timestamp) -> Self {
        Self {
            kind: OperationKind::RotateEncryption,
            retry: None,
            rotation: Some(Box::new(rotation)),
            total: 0,
            is_lower_bound: true,
            pace: None,
            canary: None,
            progress: OperationProgress {
                status: OperationStatus::Running,
                ..OperationProgress::new(0, now)
            },
        }
    }

    /// Counts a part of the walk; at the end of a walk, ends or begins another one.
    pub(super) fn count_encrypted(
        &mut self,
        part: &EncryptedPart,
        now: Timestamp,
    ) -> Result<(), OperationRefusal> {
        let Some(rotation) = self.rotation.as_deref_mut() else {
            return Err(OperationRefusal::OtherWork);
        };
        if rotation.position != part.from {
            return Err(OperationRefusal::WorkedAlready);
        }
        rotation.count(part);
        let is_at_end = rotation.position.is_none();
        let progress = &mut self.progress;
        progress.worked = progress.worked.saturating_add(part.read);
        progress.changed = progress.changed.saturating_add(part.written);
        progress.since = now;
        self.total = self.total.max(progress.worked);
        if !is_at_end {
            return Ok(());
        }
        rotation.walks += 1;
        self.total = progress.worked;
        self.is_lower_bound = false;
        if rotation.found == 0 {
            progress.status = OperationStatus::Done;
            progress.is_at_end = true;
        } else if rotation.walks >= limits::ROTATION_WALKS_MAX {
            progress.status = OperationStatus::Stopped;
            let reason = "values with other keys are still being written: restart every node with the \
                          new key first, then rotate again";
            progress.stop_reason = Some(reason.to_owned());
        } else {
            (rotation.found, rotation.unreadable) = (0, 0);
            rotation.needed_keys.clear();
            progress.worked = 0;
        }
        Ok(())
    }
}

/// The report.
pub(super) fn describe(
    operation: &Operation,
    rotation: &KeyRotation,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let progress = &operation.progress;
    let at_least = match operation.is_lower_bound {
        true => "at least ",
        false => "",
    };
    write!(
        f,
        "encryption with key {} is {}: {} values encrypted again, of {at_least}{}",
        rotation.key,
        progress.status,
        thousands(progress.changed),
        thousands(operation.total),
    )?;
    if rotation.unreadable > 0 {
        write!(f, ", {} cannot be read", thousands(rotation.unreadable))?;
    }
    if progress.status == OperationStatus::Done {
        for key in rotation.unused_keys() {
            write!(f, "; key {key} is no longer used")?;
        }
        for key in &rotation.needed_keys {
            write!(f, "; key {key} is still needed")?;
        }
    }
    match &progress.stop_reason {
        Some(reason) => write!(f, "; it stopped because {reason}"),
        None => Ok(()),
    }
}
