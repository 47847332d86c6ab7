//! Which keys the values of a store are encrypted with.
//!
//! Each key that a store is opened with first leaves a record, encrypted with itself. So a key of the
//! same id that is another one is found out before anything is written with it.

use steadfast_core::Timestamp;

use crate::{
    drivers::sql::encryption::Cipher,
    drivers::{
        driver_error::DriverError,
        transaction::{
            Record, RecordKind, RecordOrder, RecordQuery, RecordState, StoredRecord, Transaction,
        },
    },
    limits::ENCRYPTION_KEYS_MAX,
};

/// Leaves the record of the key that encrypts. Answers why the keys cannot be used, if they cannot.
pub(crate) async fn check_keys(
    tx: &mut dyn Transaction,
    cipher: &Cipher,
) -> Result<Option<String>, DriverError> {
    let order = RecordOrder::Ascending {
        prefix: "",
        after: "",
    };
    let query = RecordQuery {
        kind: RecordKind::EncryptionKey,
        order,
        limit: ENCRYPTION_KEYS_MAX,
    };
    let known = tx.records(&query).await?;
    if let Some(reason) = known.iter().find_map(|record| refusal(cipher, record)) {
        return Ok(Some(reason));
    }
    let Some(current) = cipher.key_ids().next() else {
        return Ok(None);
    };
    if known.iter().any(|record| record.id == current) {
        return Ok(None);
    }
    let created = tx
        .save_record(&Record {
            kind: RecordKind::EncryptionKey,
            id: current,
            tenant: "",
            name: None,
            state: RecordState::Open,
            at: None::<Timestamp>,
            revision: 1,
            replaces: None,
            body: "{}",
        })
        .await?;
    if created {
        return Ok(None);
    }
    // Another process was first.
    let known = tx.records(&query).await?;
    Ok(known.iter().find_map(|record| refusal(cipher, record)))
}

fn refusal(cipher: &Cipher, record: &StoredRecord) -> Option<String> {
    let id = &record.id;
    record.text.as_ref().err()?;
    Some(match cipher.key_ids().any(|known| known == id) {
        true => format!(
            "the key `{id}` that was given is not the key `{id}` that it was encrypted with"
        ),
        false => format!(
            "it is encrypted with key `{id}`, which was not given; start with `--encryption-key-file`, or add the key to that file"
        ),
    })
}
