//! Values that cannot be read without a key.

use std::sync::Arc;

use async_trait::async_trait;
use steadfast_store::{
    EncryptionKeys, ManualClock, PostgresStore, Store,
    conformance::{Fixture, Harness},
};

use crate::common::TestDatabase;

const ONE: &str = "one:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
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
            "another one than the key `one` that was given",
        ),
    ] {
        let keys = key.map(|key| EncryptionKeys::parse(&key).unwrap());
        let options = database.options().encryption(keys);
        let refused = PostgresStore::open(&database.url, options).await;
        let refused = refused.map(drop).unwrap_err().to_string();
        assert!(refused.contains(sentence), "{refused}");
    }
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
