//! The PostgreSQL driver against the contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use steadfast_store::{
    ManualClock, PostgresOptions, PostgresStore, Store,
    conformance::{Durable, Harness},
    conformance_tests,
    testing::{Pooler, Server},
};

/// With `polling` or `listening`, all cases reach the server through a pooler: without another address,
/// or with one for LISTEN.
const POOLER: &str = "STEADFAST_TEST_POOLER";

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
        let direct = Server::shared().url();
        let (url, options) = match std::env::var(POOLER).as_deref() {
            Ok("polling") => (Pooler::shared().url(), options),
            Ok("listening") => (Pooler::shared().url(), options.direct(&direct)),
            Ok(other) => panic!("{POOLER}={other}: use polling or listening"),
            Err(_) => (direct, options),
        };
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
