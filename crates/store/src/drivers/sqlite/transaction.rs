//! What the verbs get of this driver.

pub(super) mod wrappers;

use async_trait::async_trait;
use rusqlite::{
    Connection, params_from_iter,
    types::{Null, ToSql, ToSqlOutput, ValueRef},
};
use steadfast_core::{Job, JobCommand, JobId, NewJob, Subscriptions, Timestamp, WaitingRequest};

use super::{
    SqliteStore, change, counts, enqueue, get, insert, jobs::prune, names::Names, readers::Reader,
    session::Session,
};
use crate::{
    damage::DamageLog,
    drivers::current_gates::CurrentGates,
    drivers::driver_error::DriverError,
    drivers::sql::encryption::Cipher,
    drivers::sql::{
        session::{SqlRow, SqlSession, SqlValue},
        tables::{Dialect, SqlDriver},
        transaction::SqlWriter,
    },
    drivers::transaction::{JobCondition, WakeReason},
    drivers::{Asker, Driver, KeyRotator, Query, Verb},
    error::{CommandError, EnqueueError, StoreError},
    failures::FailureTallies,
    store::{BaseStore, EnqueueResult},
    verbs::{event_position::EventPosition, failures::add_counts},
};
use wrappers::{ReaderSnapshot, WriterTransaction, finish};

impl Driver for SqliteStore {
    fn event_position(&self) -> &EventPosition {
        &self.inner.event_position
    }

    fn gates(&self) -> &CurrentGates {
        &self.inner.gates
    }

    async fn transact<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        arguments: A,
        verb: Verb<A, T>,
    ) -> Result<T, StoreError> {
        self.write_page(operation, rows, move |session| {
            let mut transaction = WriterTransaction::new(session);
            finish(verb(&mut transaction, &arguments))
        })
        .await
    }

    fn key_rotator(&self) -> Option<&dyn KeyRotator> {
        Some(self)
    }

    async fn prune_jobs(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        prune::jobs(self, ended_before, limit).await
    }

    async fn prune_names(&self, keep: usize) -> Result<usize, StoreError> {
        self.delete_unused_names(keep).await
    }

    async fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        asker: Asker,
        arguments: A,
        query: Query<A, T>,
    ) -> Result<T, StoreError> {
        let now = self.now();
        let read = move |reader: &mut Reader| {
            let mut snapshot = ReaderSnapshot::new(reader, now);
            finish(query(&mut snapshot, &arguments))
        };
        let answer = self.inner.readers.read(asker, read).await;
        answer.map_err(|error| error.in_operation(operation))
    }
}

impl SqlDriver for SqliteStore {
    const DIALECT: Dialect = Dialect::Sqlite;

    fn move_fence(_is_up: bool) -> Option<&'static str> {
        None
    }

    async fn add_counts(&self) -> Result<(), StoreError> {
        // They are added with each transaction.
        Ok(())
    }
}

impl Session<'_> {
    pub(super) fn commit(&mut self) -> Result<(), DriverError> {
        if !self.failures.is_empty() {
            finish(add_counts(&mut WriterTransaction::new(self)))?;
        }
        self.counts.write(self.conn)?;
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

#[async_trait]
impl SqlSession for WriterTransaction<'_, '_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn damage(&self) -> &DamageLog {
        self.names.damage_log()
    }

    fn cipher(&self) -> &Cipher {
        self.names.cipher()
    }

    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError> {
        let Session { conn, names, .. } = &mut **self.0;
        readable_jobs(conn, names, ids)
    }

    async fn rows(
        &mut self,
        sql: &str,
        params: &[SqlValue<'_>],
    ) -> Result<Vec<SqlRow>, DriverError> {
        rows(self.conn, sql, params)
    }

    async fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, DriverError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        Ok(statement.execute(params_from_iter(params))?)
    }
}

#[async_trait]
impl SqlWriter for WriterTransaction<'_, '_> {
    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError> {
        Ok(std::mem::take(&mut self.failures))
    }

    async fn lock_names(&mut self, _names: &[String]) -> Result<(), DriverError> {
        // There is one writer.
        Ok(())
    }

    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError> {
        let count = |request| counts::waiting_at_gate::waiting_at_gate(self, request);
        requests.iter().map(count).collect()
    }

    fn wake(&mut self, reason: WakeReason) {
        match reason {
            WakeReason::Dependencies => self.wakes.links_changed(),
            WakeReason::Schedules => self.wakes.schedule_waits(),
        }
    }

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError> {
        for job in jobs {
            insert::insert_unless_stored(self, job)?;
        }
        Ok(())
    }

    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError> {
        enqueue::enqueue(self, jobs)
    }

    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
        let mut results = Vec::with_capacity(jobs.len());
        for id in jobs {
            let result = change::run_command_if(self, *id, command, subscriptions, condition);
            results.push(result?);
        }
        Ok(results)
    }

    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        prune::delete_jobs(self, jobs)
    }
}

#[async_trait]
impl SqlSession for ReaderSnapshot<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn damage(&self) -> &DamageLog {
        self.reader.names.damage_log()
    }

    fn cipher(&self) -> &Cipher {
        self.reader.names.cipher()
    }

    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError> {
        let Reader { conn, names } = &mut **self.reader;
        readable_jobs(conn, names, ids)
    }

    async fn rows(
        &mut self,
        sql: &str,
        params: &[SqlValue<'_>],
    ) -> Result<Vec<SqlRow>, DriverError> {
        rows(&self.reader.conn, sql, params)
    }

    async fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, DriverError> {
        let mut statement = self.reader.conn.prepare_cached(sql)?;
        Ok(statement.execute(params_from_iter(params))?)
    }
}

fn readable_jobs(
    conn: &Connection,
    names: &mut Names,
    ids: &[JobId],
) -> Result<Vec<Job>, DriverError> {
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        match get::job(conn, names, *id) {
            Ok(row) => jobs.extend(row.map(|row| row.job)),
            // It is noted by now.
            Err(DriverError::Damaged(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(jobs)
}

fn rows(conn: &Connection, sql: &str, params: &[SqlValue<'_>]) -> Result<Vec<SqlRow>, DriverError> {
    let mut statement = conn.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(params))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let value = |column| Ok(value(row.get_ref(column)?));
        let values: Result<_, rusqlite::Error> = (0..columns).map(value).collect();
        found.push(SqlRow(values?));
    }
    Ok(found)
}

fn value(stored: ValueRef<'_>) -> SqlValue<'static> {
    match stored {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(value) => SqlValue::Int(value),
        ValueRef::Real(value) => SqlValue::Unreadable(format!("found the number {value}")),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => SqlValue::from(text.to_owned()),
            Err(error) => SqlValue::Unreadable(error.to_string()),
        },
        ValueRef::Blob(bytes) => match bytes.try_into() {
            Ok(bytes) => SqlValue::Id(u128::from_be_bytes(bytes)),
            Err(_) => SqlValue::Unreadable(format!("found {} bytes", bytes.len())),
        },
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Null => Null.to_sql(),
            Self::Int(value) => Ok(ToSqlOutput::from(*value)),
            Self::Text(text) => Ok(ToSqlOutput::from(&**text)),
            Self::Id(bits) => Ok(ToSqlOutput::from(bits.to_be_bytes().to_vec())),
            Self::Unreadable(reason) => Err(rusqlite::Error::ToSqlConversionFailure(
                reason.as_str().into(),
            )),
        }
    }
}
