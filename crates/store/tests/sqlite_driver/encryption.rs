//! Values that cannot be read without a key.

use std::{fs, path::Path, sync::Arc};

use async_trait::async_trait;
use steadfast_store::{
    EncryptionKeys, JobStore as _, ManualClock, OpenError, QueryStore as _, SqliteOptions,
    SqliteStore, Store,
    conformance::{Fixture, Harness},
    rusqlite::Connection,
};

use crate::common::{TestDatabase, job, request};

const ONE: &str = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const ANOTHER_ONE: &str = "one:/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TWO: &str = "two:/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const WORD: &str = "swordfish";

impl TestDatabase {
    fn try_open(&self, keys: &[&str]) -> Result<SqliteStore, OpenError> {
        self.try_open_at(keys, ManualClock::default())
    }

    fn try_open_at(&self, keys: &[&str], clock: ManualClock) -> Result<SqliteStore, OpenError> {
        let keys = EncryptionKeys::parse(&keys.join("\n")).ok();
        let options = SqliteOptions::default().clock(clock).encryption(keys);
        SqliteStore::open(&self.file, options)
    }

    fn contains(&self, word: &str) -> bool {
        let directory = fs::read_dir(self.file.parent().unwrap()).unwrap();
        let mut files = directory.map(|entry| fs::read(entry.unwrap().path()).unwrap());
        files.any(|bytes| {
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        })
    }
}

struct With<'k>(&'k TestDatabase, &'k [&'k str]);

#[async_trait]
impl Harness for With<'_> {
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store> {
        Arc::new(self.0.try_open_at(self.1, clock).unwrap())
    }
}

#[tokio::test]
async fn no_file_of_an_encrypted_store_contains_what_was_stored() {
    for (keys, is_readable) in [(&[][..], true), (&[ONE][..], false)] {
        let database = TestDatabase::new();
        let fixture = Fixture::new(&With(&database, keys)).await;
        let id = fixture.write_everywhere(WORD).await;
        assert_eq!(database.contains(WORD), is_readable, "its log as well");
        fixture.reads_everywhere(id, WORD).await;
        drop(fixture);
        assert_eq!(database.contains(WORD), is_readable);
    }
}

#[tokio::test]
async fn a_store_is_opened_with_its_keys_only() {
    let database = TestDatabase::new();
    let fixture = Fixture::new(&With(&database, &[ONE])).await;
    let id = fixture.write_everywhere(WORD).await;
    drop(fixture);
    for (keys, sentence) in [
        (
            &[][..],
            "it is encrypted with key `one`, which was not given",
        ),
        (
            &[TWO][..],
            "it is encrypted with key `one`, which was not given",
        ),
        (
            &[ANOTHER_ONE][..],
            "another one than the key `one` that was given",
        ),
    ] {
        let refused = database.try_open(keys).map(drop).unwrap_err().to_string();
        assert!(refused.contains(sentence), "{refused}");
    }
    // A newer key encrypts from now on; what the older one has encrypted is still read.
    let fixture = Fixture::new(&With(&database, &[TWO, ONE])).await;
    fixture.reads_everywhere(id, WORD).await;
    drop(fixture);
    assert!(database.try_open(&[ONE]).is_err(), "two is used as well");
}

#[tokio::test]
async fn what_was_stored_before_encryption_is_still_read() {
    let database = TestDatabase::new();
    let fixture = Fixture::new(&With(&database, &[])).await;
    let id = fixture.write_everywhere(WORD).await;
    drop(fixture);
    let fixture = Fixture::new(&With(&database, &[ONE])).await;
    fixture.reads_everywhere(id, WORD).await;
}

#[tokio::test]
async fn a_payload_that_was_put_into_another_row_is_damage_and_stops_nobody_else() {
    let database = TestDatabase::new();
    let store = database.try_open(&[ONE]).unwrap();
    let jobs = [job(&store), job(&store), job(&store)];
    let ids = jobs.each_ref().map(|job| job.id);
    store.enqueue(jobs.into(), None).await.unwrap();
    copy_payload(&database.file);
    let claims = store.claim(request(10)).await.unwrap().claims;
    let claimed: Vec<_> = claims.iter().map(|claim| claim.job().id).collect();
    assert_eq!(claimed, ids[1..]);
    let damaged = store.list_damaged().await.unwrap();
    let reason = format!("{damaged:?}");
    assert!(reason.contains("copied from another row"), "{reason}");
}

/// The payload of the second job becomes that of the first.
fn copy_payload(file: &Path) {
    let conn = Connection::open(file).unwrap();
    let copy =
        "UPDATE steadfast_job SET payload = (SELECT payload FROM steadfast_job WHERE seq = 2)
                WHERE seq = 1";
    assert_eq!(conn.execute(copy, []).unwrap(), 1);
}
