//! Encrypts everything in a store with its newest key.
//!
//! The walk may stop at any point: what is encrypted with the newest key is not written again, so the
//! next walk goes on where this one was. Nodes may be running. Whatever they wrote between reading and
//! writing a row stays, so the tables are walked again until there is nothing left to write.

use std::collections::BTreeSet;

use super::TableStore;
use crate::{
    error::StoreError,
    limits::{REENCRYPT_ROUNDS_MAX, REENCRYPTED_ROWS},
};

/// What was encrypted again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reencryption {
    /// Values that were read in the last walk.
    pub read: u64,
    /// Values that were written.
    pub written: u64,
    /// Values that cannot be read, so they stay as they are.
    pub unreadable: u64,
    /// Keys that nothing is encrypted with any longer.
    pub unused_keys: Vec<String>,
    /// Keys that are still needed, besides the newest.
    pub used_keys: BTreeSet<String>,
    /// Whether nodes wrote values with other keys until the end.
    pub is_unfinished: bool,
}

/// Encrypts every value that another key has encrypted, or none, with the newest key of the store, and
/// forgets the keys that are no longer used. Reports after each step: the table, and the whole so far.
pub async fn reencrypt(
    store: &dyn TableStore,
    mut report: impl FnMut(&'static str, &Reencryption),
) -> Result<Reencryption, StoreError> {
    let mut done = Reencryption::default();
    for _ in 0..REENCRYPT_ROUNDS_MAX {
        (done.read, done.unreadable) = (0, 0);
        done.used_keys.clear();
        let mut found = 0;
        for table in store.encrypted_tables() {
            let mut after = None;
            loop {
                let mut page = store.reseal_table(table, after, REENCRYPTED_ROWS).await?;
                done.read += page.count as u64;
                done.unreadable += page.unreadable as u64;
                done.used_keys.extend(std::mem::take(&mut page.keys_left));
                found += page.rows.len();
                let next = page.next.take();
                if !page.rows.is_empty() {
                    done.written += store.write_resealed(page).await? as u64;
                }
                report(table, &done);
                match next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        // Only a walk that found nothing proves that nothing is left.
        if found == 0 {
            done.unused_keys = store.forget_keys(done.used_keys.clone()).await?;
            return Ok(done);
        }
    }
    done.is_unfinished = true;
    Ok(done)
}
