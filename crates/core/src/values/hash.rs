//! Numbers that stand for texts.

use sha2::{Digest, Sha256};

/// The number of a name that has a row of its own: above 0, and the same on every node.
pub fn name_number(parts: &[&str]) -> i64 {
    (hash_number(parts) & i64::MAX) | 1
}

/// A number that every node finds by itself.
pub(crate) fn hash_number(parts: &[&str]) -> i64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    i64::from_be_bytes(first)
}
