//! What a verb works with: a connection, perhaps inside a transaction, with its prepared
//! statements, the store's time and the cache of names.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use deadpool::managed;
use deadpool_postgres::StatementCache;
use futures_util::future::join3;
use tokio_postgres::{Client, Error, IsolationLevel, Row, Statement, types::ToSql};

use super::{
    driver_error::DriverError, due_cache::DueCache, names::cache::Names,
    servers::manager::ConnectionManager, sweeps::Sweeps, time::DatabaseClock,
    waiting::shared_limits::SharedLimits,
};
use crate::{
    damage::DamageLog,
    drivers::sql::encryption::Cipher,
    drivers::sql::{prune_position::PrunePosition, session::postgres_text},
    fair_gate::Admission,
    verbs::event_position::EventPosition,
};

/// What all connections of a store share.
pub(super) struct PoolContext {
    pub texts: SqlTexts,
    /// The settings of each transaction, if the connections lead through a pooler: what a statement
    /// sets outside of one would stay on a server's connection that others use next.
    pub settings: Option<String>,
    pub names: Names,
    pub clock: DatabaseClock,
    pub damage: DamageLog,
    pub cipher: Cipher,
    pub due: Arc<DueCache>,
    pub sweeps: Sweeps,
    pub waiting_limits: SharedLimits,
    /// Where retention goes on.
    pub pruned_to: Mutex<PrunePosition>,
    /// Where the counting of batches goes on.
    pub event_position: EventPosition,
}

impl PoolContext {
    pub(super) fn pruned_to(&self) -> MutexGuard<'_, PrunePosition> {
        self.pruned_to
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) type Pool = managed::Pool<ConnectionManager>;
pub(super) type PoolClient = managed::Object<ConnectionManager>;

/// A connection of the pool.
pub(super) struct Conn<'s> {
    pub client: PoolClient,
    pub shared: &'s PoolContext,
    /// Room that its caller has.
    pub _admission: Option<Admission>,
}

impl Conn<'_> {
    /// Ends the connection instead of giving it back.
    pub(super) fn close(self) {
        drop(PoolClient::take(self.client));
    }

    /// Each statement is a transaction of its own.
    pub(super) fn session(&self) -> Session<'_> {
        Session {
            client: &self.client,
            cache: Some(Arc::clone(&self.client.statement_cache)),
            may_roll_back: false,
            shared: self.shared,
        }
    }

    pub(super) async fn begin(&mut self) -> Result<Transaction<'_>, DriverError> {
        let shared = self.shared;
        Transaction::new(self.client.transaction().await?, shared).await
    }

    /// A transaction whose statements all see the same moment, and change nothing.
    pub(super) async fn snapshot(&mut self) -> Result<Transaction<'_>, DriverError> {
        self.repeatable(true).await
    }

    /// The same for statements that change something.
    pub(super) async fn repeatable_read(&mut self) -> Result<Transaction<'_>, DriverError> {
        self.repeatable(false).await
    }

    async fn repeatable(&mut self, is_read_only: bool) -> Result<Transaction<'_>, DriverError> {
        let builder = self.client.build_transaction();
        let builder = builder
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(is_read_only);
        let shared = self.shared;
        Transaction::new(builder.start().await?, shared).await
    }
}

/// Rolled back, unless it is committed.
pub(super) struct Transaction<'c> {
    transaction: deadpool_postgres::Transaction<'c>,
    shared: &'c PoolContext,
}

impl<'c> Transaction<'c> {
    async fn new(
        transaction: deadpool_postgres::Transaction<'c>,
        shared: &'c PoolContext,
    ) -> Result<Self, DriverError> {
        if let Some(settings) = &shared.settings {
            transaction.batch_execute(settings).await?;
        }
        Ok(Self {
            transaction,
            shared,
        })
    }

    pub(super) fn session(&self) -> Session<'_> {
        Session {
            client: self.transaction.client(),
            cache: Some(Arc::clone(&self.transaction.statement_cache)),
            may_roll_back: true,
            shared: self.shared,
        }
    }

    pub(super) async fn commit(self) -> Result<(), DriverError> {
        Ok(self.transaction.commit().await?)
    }

    pub(super) async fn roll_back(self) -> Result<(), DriverError> {
        Ok(self.transaction.rollback().await?)
    }
}

pub(super) struct Session<'c> {
    pub client: &'c Client,
    /// Connections that are not ours have none.
    pub cache: Option<Arc<StatementCache>>,
    /// Whether it is inside a transaction, which may roll back what its statements did.
    pub may_roll_back: bool,
    pub shared: &'c PoolContext,
}

impl Session<'_> {
    pub(super) async fn query(
        &self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DriverError> {
        let text = self.shared.texts.of(sql);
        let Some(cache) = &self.cache else {
            return Ok(self.client.query(&*text, params).await?);
        };
        let statement = cache.prepare(self.client, &text).await?;
        self.with_settings(self.client.query(&statement, params))
            .await
    }

    /// For statements that answer with exactly one row.
    pub(super) async fn query_one(
        &self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Row, DriverError> {
        let rows = self.query(sql, params).await?;
        rows.into_iter()
            .next()
            .ok_or_else(|| DriverError::unreadable("answer", "it has no row"))
    }

    /// A statement that both dialects share.
    pub(super) async fn shared_query(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, DriverError> {
        let statement = self.shared_statement(sql).await?;
        self.with_settings(self.client.query(&statement, params))
            .await
    }

    /// The same for one without rows: answers how many were changed.
    pub(super) async fn shared_execute(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<usize, DriverError> {
        let statement = self.shared_statement(sql).await?;
        let run = self.client.execute(&statement, params);
        let changed = self.with_settings(run).await?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Runs a statement with the settings of this store, which a connection has unless it leads
    /// through a pooler. There, a statement outside of a transaction gets one, in the same round trip.
    async fn with_settings<T>(
        &self,
        statement: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, DriverError> {
        let settings = match &self.shared.settings {
            Some(settings) if !self.may_roll_back => settings,
            _ => return Ok(statement.await?),
        };
        let begin = format!("BEGIN; {settings}");
        // Each is sent when it is first polled, in this order, before the first answer has come.
        let begun = self.client.batch_execute(&begin);
        let ended = self.client.batch_execute("COMMIT");
        let (begun, answer, ended) = join3(begun, statement, ended).await;
        begun?;
        let answer = answer?;
        ended?;
        Ok(answer)
    }

    async fn shared_statement(&self, sql: &str) -> Result<Statement, DriverError> {
        let text = self.shared.texts.shared(sql);
        Ok(match &self.cache {
            Some(cache) => cache.prepare(self.client, &text).await?,
            None => self.client.prepare(&text).await?,
        })
    }

    /// For statements without rows.
    pub(super) async fn execute(
        &self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), DriverError> {
        self.query(sql, params).await.map(drop)
    }
}

/// Statements as the database gets them: with the name of the schema in use. Names are always
/// spelled out, because the connection may be a user's with a search path of its own.
pub(super) struct SqlTexts {
    schema: String,
    texts: RwLock<HashMap<&'static str, Arc<str>>>,
    /// Those that both dialects share. They are few, because rows are inserted in few sizes.
    shared: RwLock<HashMap<String, Arc<str>>>,
}

impl SqlTexts {
    pub(super) fn new(schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            texts: RwLock::default(),
            shared: RwLock::default(),
        }
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    fn shared(&self, sql: &str) -> Arc<str> {
        let texts = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = texts.get(sql) {
            return Arc::clone(text);
        }
        drop(texts);
        let text: Arc<str> = postgres_text(sql, &self.schema).into();
        let mut texts = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        texts.insert(sql.to_owned(), Arc::clone(&text));
        text
    }

    pub(super) fn of(&self, sql: &'static str) -> Arc<str> {
        let texts = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = texts.get(sql) {
            return Arc::clone(text);
        }
        drop(texts);
        let text: Arc<str> = sql
            .replace("steadfast.", &format!("{}.", self.schema))
            .replace("'steadfast'", &format!("'{}'", self.schema))
            .into();
        let mut texts = self.texts.write().unwrap_or_else(PoisonError::into_inner);
        texts.insert(sql, Arc::clone(&text));
        text
    }
}
