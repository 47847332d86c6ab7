//! Encrypts everything in a store with its newest key, a part at a time.
//!
//! A part may be done twice, and be stopped at any point: what is encrypted with the newest key is not
//! written again. Nodes may be running. What they write between reading and writing a row stays, and
//! the next walk finds it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use steadfast_core::{EncryptedPart, KeyRotation};

use super::{
    RowPosition, TableStore,
    stored_value::{self, StoredValue},
};
use crate::{
    drivers::KeyRotator,
    error::StoreError,
    limits::{REENCRYPTED_PAGES_MAX, REENCRYPTED_ROWS},
};

/// Where a walk continues: a table, and the last row of it that was read.
type WalkPosition = (String, Option<Vec<StoredValue>>);

#[async_trait]
impl<S: TableStore> KeyRotator for S {
    async fn new_rotation(&self) -> Result<Option<KeyRotation>, StoreError> {
        let keys = self.encryption_keys().await?;
        Ok(keys.newest.map(|key| KeyRotation::new(key, keys.older)))
    }

    /// Encrypts pages up to the first that had something to encrypt.
    async fn encrypt_part(
        &self,
        rotation: &KeyRotation,
    ) -> Result<Option<EncryptedPart>, StoreError> {
        if self.encryption_keys().await?.newest.as_ref() != Some(&rotation.key) {
            return Ok(None);
        }
        let mut part = EncryptedPart {
            from: rotation.position.clone(),
            ..EncryptedPart::default()
        };
        let tables = self.encrypted_tables();
        let (mut table, mut after) = position(&tables, rotation.position.as_deref());
        for _ in 0..REENCRYPTED_PAGES_MAX {
            let Some(title) = tables.get(table) else {
                return Ok(Some(part));
            };
            let page = self.reseal_table(title, after.take(), REENCRYPTED_ROWS);
            let mut page = page.await?;
            part.read += page.count as u64;
            part.found += page.rows.len() as u64;
            part.unreadable += page.unreadable as u64;
            part.needed_keys.append(&mut page.keys_left);
            after = page.next.take();
            table += usize::from(after.is_none());
            if !page.rows.is_empty() {
                part.written += self.write_resealed(page).await? as u64;
                break;
            }
        }
        if let Some(title) = tables.get(table) {
            let next: WalkPosition = ((*title).to_owned(), after.as_ref().map(stored_value::save));
            let next = serde_json::to_string(&next);
            part.next = Some(next.map_err(|error| StoreError::broken("change_operation", error))?);
        }
        Ok(Some(part))
    }

    async fn forget_unused_keys(&self, rotation: &KeyRotation) -> Result<(), StoreError> {
        let unused: BTreeSet<String> = rotation.unused_keys().map(str::to_owned).collect();
        self.forget_keys(unused).await
    }
}

/// The number of a table, and a row of it. A walk whose position says nothing begins again.
fn position(tables: &[&'static str], stored: Option<&str>) -> (usize, Option<RowPosition>) {
    let read = |text: &str| serde_json::from_str::<WalkPosition>(text).ok();
    let found = stored.and_then(read).and_then(|(title, after)| {
        let table = tables.iter().position(|table| *table == title)?;
        Some((table, after.map(stored_value::load)))
    });
    found.unwrap_or((0, None))
}
