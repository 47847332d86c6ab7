//! The PostgreSQL driver against the contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_store::{
    ManualClock, PostgresOptions, PostgresStore, Store,
    conformance::{Durable, Harness},
    conformance_tests,
    testing::Server,
};

/// A schema of its own for each case, in one server for all of them.
struct Postgres(String);

impl Postgres {
    fn new() -> Self {
        Self(Server::shared().fresh_schema())
    }

    async fn open(&self, clock: ManualClock) -> Arc<dyn Store> {
        // Cases with a thousand callers share a busy machine with others.
        let options = PostgresOptions::default()
            .schema(&self.0)
            .clock(clock)
            .timeout(Duration::from_secs(120));
        let url = Server::shared().url();
        Arc::new(PostgresStore::open(&url, options).await.unwrap())
    }
}

#[async_trait]
impl Harness for Postgres {
    async fn fresh(&self, clock: ManualClock) -> Arc<dyn Store> {
        self.open(clock).await
    }
}

#[async_trait]
impl Durable for Postgres {
    async fn reopen(&self, clock: ManualClock) -> Arc<dyn Store> {
        self.open(clock).await
    }
}

conformance_tests!(durable Postgres::new());
