//! Values that cannot be read without a key.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_core::OperationStatus;
use steadfast_store::{
    EncryptionKeys, JobStore as _, ManualClock, PostgresStore, QueryStore as _, Store,
    conformance::{Fixture, Harness},
};

use crate::common::{TestDatabase, job, request};

const ONE: &str = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TWO: &str = "two:/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const WORD: &str = "swordfish";

struct With<'k>(&'k TestDatabase, Option<&'k str>);

#[async_trait]
impl Harness for With<'_> {
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store> {
        let keys = self.1.map(|key| EncryptionKeys::parse(key).unwrap());
        let options = self.0.options().clock(clock).encryption(keys);
        Arc::new(PostgresStore::open(&self.0.url, options).await.unwrap())
    }
}

#[tokio::test]
async fn no_table_of_an_encrypted_store_contains_what_was_stored() {
    for (key, is_readable) in [(None, true), (Some(ONE), false)] {
        let database = TestDatabase::new();
        let fixture = Fixture::new(&With(&database, key)).await;
        let id = fixture.write_everywhere(WORD).await;
        assert_eq!(database.contains(WORD).await, is_readable);
        fixture.reads_everywhere(id, WORD).await;
    }
}

#[tokio::test]
async fn a_database_is_opened_with_its_keys_only() {
    let database = TestDatabase::new();
    let fixture = Fixture::new(&With(&database, Some(ONE))).await;
    fixture.write_everywhere(WORD).await;
    for (key, sentence) in [
        (None, "it is encrypted with key `one`, which was not given"),
        (
            Some(ONE.replace("AAEC", "AAED")),
            "the key `one` that was given is not the key `one` that it was encrypted with",
        ),
    ] {
        let keys = key.map(|key| EncryptionKeys::parse(&key).unwrap());
        let options = database.options().encryption(keys);
        let refused = PostgresStore::open(&database.url, options).await;
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(refused.contains(sentence), "{refused}");
    }
}

#[tokio::test]
async fn a_rotated_database_needs_the_newest_key_only() {
    for before in [None, Some(ONE)] {
        let database = TestDatabase::new();
        let fixture = Fixture::new(&With(&database, before)).await;
        let id = fixture.write_everywhere(WORD).await;
        let keys = format!("{TWO}\n{}", before.unwrap_or_default());
        let fixture = Fixture::new(&With(&database, Some(&keys))).await;
        let done = fixture.rotate().await;
        assert_eq!(done.progress.status, OperationStatus::Done, "{done}");
        let rotation = done.rotation.unwrap();
        let unused: Vec<&str> = rotation.unused_keys().collect();
        assert_eq!(unused, before.map(|_| "one").as_slice());
        assert_eq!(rotation.unreadable, 0);
        assert!(!database.contains(WORD).await);
        let fixture = Fixture::new(&With(&database, Some(TWO))).await;
        fixture.reads_everywhere(id, WORD).await;
    }
}

#[tokio::test]
async fn a_process_without_a_key_sets_no_job_aside_that_another_can_read() {
    let database = TestDatabase::new();
    let open = async |key: Option<&str>| {
        let keys = key.map(|key| EncryptionKeys::parse(key).unwrap());
        let options = database.options().encryption(keys);
        PostgresStore::open(&database.url, options).await.unwrap()
    };
    let (old, new) = (open(None).await, open(Some(ONE)).await);
    let job = job(&new);
    let id = job.id;
    new.enqueue(vec![job], None).await.unwrap();
    let refused = old.claim(request(10)).await.unwrap_err().to_string();
    assert!(
        refused.contains("key `one`, which this process does not have"),
        "{refused}"
    );
    assert_eq!(new.claim(request(10)).await.unwrap().claims[0].job().id, id);
    assert!(new.list_damaged().await.unwrap().rows.is_empty());
}

impl TestDatabase {
    /// Whether any row of any table has the word.
    async fn contains(&self, word: &str) -> bool {
        let client = self.client().await;
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1";
        let tables = client.query(tables, &[&self.schema]).await.unwrap();
        let mut found = 0_i64;
        for table in tables {
            let (schema, table): (_, String) = (&self.schema, table.get(0));
            let sql = format!("SELECT count(*) FROM {schema}.{table} AS it WHERE it::text LIKE $1");
            let row = client.query_one(&sql, &[&format!("%{word}%")]).await;
            found += row.unwrap().get::<_, i64>(0);
        }
        found > 0
    }
}
