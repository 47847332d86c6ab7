//! Values that cannot be read without a key.

use std::{fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_core::{OperationStatus, Payload, Timestamp};
use steadfast_store::{
    Document, DocumentKind, DocumentSaveResult, DocumentStore as _, EncryptionKeys, JobDetail,
    JobStore as _, ManualClock, OpenError, OperationStore as _, Outbox, QueryStore as _,
    SqliteOptions, SqliteStore, Store, TableStore as _,
    conformance::{Fixture, Harness},
    rusqlite::Connection,
};

use crate::common::{TestDatabase, job, jobs, request};

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
            "the key `one` that was given is not the key `one` that it was encrypted with",
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

#[tokio::test]
async fn a_rotation_keeps_the_key_of_a_node_that_has_written_nothing_yet() {
    let database = TestDatabase::new();
    let fixture = Fixture::new(&With(&database, &[ONE])).await;
    fixture.write_everywhere(WORD).await;
    drop(fixture);
    let fixture = Fixture::new(&With(&database, &[TWO, ONE])).await;
    let node = |key: &str, last_seen: Timestamp| {
        let state = serde_json::json!({"name": "n1", "lastSeen": last_seen, "encryptionKey": key});
        Document {
            kind: DocumentKind::Node,
            id: "n1".to_owned(),
            body: Payload::encode(&state).unwrap(),
            revision: 0,
        }
    };
    let saved = fixture
        .store
        .save_document(node("one", fixture.store.now()), Outbox::default());
    assert!(matches!(saved.await.unwrap(), DocumentSaveResult::Done(_)));
    let stopped = fixture.rotate().await;
    assert_eq!(stopped.progress.status, OperationStatus::Stopped);
    assert!(stopped.to_string().contains("(n1: one)"), "{stopped}");
    assert!(
        database.try_open(&[TWO]).is_err(),
        "its key is still needed"
    );
    // It was killed, and has started again with the other key.
    fixture.clock.advance(Duration::from_secs(60));
    let done = fixture.rotate().await;
    assert_eq!(done.progress.status, OperationStatus::Done, "{done}");
    drop(fixture);
    database.try_open(&[TWO]).unwrap();
}

#[tokio::test]
async fn a_rotated_store_needs_the_newest_key_only() {
    // Values that no key has encrypted, and values of an older key.
    for before in [&[][..], &[ONE][..]] {
        let database = TestDatabase::new();
        let fixture = Fixture::new(&With(&database, before)).await;
        let id = fixture.write_everywhere(WORD).await;
        drop(fixture);
        let keys = [&[TWO], before].concat();
        // A process that dies after its first part.
        let fixture = Fixture::new(&With(&database, &keys)).await;
        let rotation = fixture.store.new_rotation().await.unwrap().unwrap();
        let begun = fixture.create_rotation(rotation).await;
        let begun = fixture.work_rotation(&begun).await;
        assert_eq!(begun.operation.progress.status, OperationStatus::Running);
        drop(fixture);
        let fixture = Fixture::new(&With(&database, &keys)).await;
        // Jobs are created meanwhile.
        let store = database.try_open(&keys).unwrap();
        let new = jobs(&store, 100);
        let ids = new.iter().map(|job| job.id).collect();
        let (done, created) =
            tokio::join!(fixture.finish_rotation(begun), store.enqueue(new, None));
        created.unwrap();
        assert_eq!(done.progress.status, OperationStatus::Done, "{done}");
        let rotation = done.rotation.unwrap();
        let unused: Vec<&str> = rotation.unused_keys().collect();
        assert_eq!(unused.is_empty(), before.is_empty(), "{unused:?}");
        assert_eq!(rotation.unreadable, 0);
        // Its operation has another id.
        fixture.clock.advance(Duration::from_secs(1));
        let again = fixture.rotate().await;
        assert_eq!(again.progress.changed, 0, "{again}");
        assert_eq!(again.rotation.unwrap().older_keys, [""; 0]);
        drop(fixture);
        store.close();
        let conn = Connection::open(&database.file).unwrap();
        conn.execute_batch("VACUUM").unwrap();
        drop(conn);
        assert!(!database.contains(WORD));
        let fixture = Fixture::new(&With(&database, &[TWO])).await;
        let found = fixture.store.get_jobs(ids, JobDetail::Full).await.unwrap();
        assert!(found.iter().all(Option::is_some));
        fixture.reads_everywhere(id, WORD).await;
    }
}

#[tokio::test]
async fn a_value_that_is_written_during_a_rotation_stays() {
    let database = TestDatabase::new();
    let fixture = Fixture::new(&With(&database, &[ONE])).await;
    let id = fixture.write_everywhere(WORD).await;
    drop(fixture);
    let store = database.try_open(&[TWO, ONE]).unwrap();
    let page = store.reseal_table("steps", None, 10).await.unwrap();
    let conn = Connection::open(&database.file).unwrap();
    let change = "UPDATE steadfast_once SET result = '[7]'";
    assert_eq!(conn.execute(change, []).unwrap(), 1);
    assert_eq!(store.write_resealed(page).await.unwrap(), 0);
    let steps = store.list_steps(id, None, 10).await.unwrap();
    assert_eq!(steps[0].1.as_str(), "[7]");
    // What cannot be read stays as it is, and its key is kept.
    let spoil = "UPDATE steadfast_once SET result = '~one:AAAA'";
    assert_eq!(conn.execute(spoil, []).unwrap(), 1);
    let fixture = Fixture::new(&With(&database, &[TWO, ONE])).await;
    let done = fixture.rotate().await;
    let rotation = done.rotation.as_deref().unwrap();
    assert_eq!(
        (rotation.unreadable, rotation.unused_keys().count()),
        (1, 0)
    );
    assert_eq!(rotation.needed_keys, ["one"]);
    assert!(
        done.to_string()
            .ends_with(", 1 cannot be read; key one is still needed"),
        "{done}"
    );
}

#[tokio::test]
async fn a_process_without_a_key_sets_no_job_aside_that_another_can_read() {
    let database = TestDatabase::new();
    let old = database.try_open(&[]).unwrap();
    let new = database.try_open(&[ONE]).unwrap();
    let job = job(&new);
    let id = job.id;
    new.enqueue(vec![job], None).await.unwrap();
    let refused = old.claim(request(10)).await.unwrap_err().to_string();
    assert!(
        refused.contains("key `one`, which this process does not have"),
        "{refused}"
    );
    assert_eq!(new.claim(request(10)).await.unwrap().claims[0].job().id, id);
    // A key that nobody has is damage.
    let spoiled = crate::common::job(&new);
    new.enqueue(vec![spoiled], None).await.unwrap();
    let conn = Connection::open(&database.file).unwrap();
    let spoil = "UPDATE steadfast_job SET payload = '~none:AAAA' WHERE state = 0";
    assert_eq!(conn.execute(spoil, []).unwrap(), 1);
    assert_eq!(new.claim(request(10)).await.unwrap().claims.len(), 0);
    assert_eq!(new.list_damaged().await.unwrap().rows.len(), 1);
}
