//! What the verbs get of this driver.

use std::ops::{Deref, DerefMut};

use async_trait::async_trait;
use futures_util::FutureExt;
use rusqlite::{
    Connection, params_from_iter,
    types::{Null, ToSql, ToSqlOutput, ValueRef},
};
use send_wrapper::SendWrapper;
use steadfast_core::{Job, JobCommand, JobId, NewJob, Subscriptions, Timestamp};

use super::{SqliteStore, change, enqueue, readers::Reader, session::Session};
use crate::{
    damage::DamageLog,
    driver::{Answer, Asker, Driver, Query, Verb},
    driver_error::DriverError,
    error::{CommandError, EnqueueError, StoreError},
    sql::{
        session::{SqlRow, SqlSession, SqlValue},
        transaction::SqlWriter,
    },
    store::{BaseStore, EnqueueResult},
    transaction::JobCondition,
};

impl Driver for SqliteStore {
    async fn transact<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        rows: usize,
        arguments: A,
        verb: Verb<A, T>,
    ) -> Result<T, StoreError> {
        self.write(operation, rows, move |session| {
            let mut transaction = WriterTransaction(SendWrapper::new(session));
            finish(verb(&mut transaction, &arguments))
        })
        .await
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
            let damage = reader.names.damage();
            let reader = SendWrapper::new(reader);
            let mut snapshot = ReaderSnapshot {
                reader,
                damage,
                now,
            };
            finish(query(&mut snapshot, &arguments))
        };
        let answer = self.inner.readers.read(asker, read).await;
        answer.map_err(|error| error.in_operation(operation))
    }
}

/// No primitive of this driver waits, so a verb is done when it is polled once.
fn finish<T>(answer: Answer<'_, T>) -> Result<T, DriverError> {
    answer.now_or_never().unwrap_or(Err(DriverError::NotRun))
}

/// A session does not leave the writer's thread.
struct WriterTransaction<'s, 'c>(SendWrapper<&'s mut Session<'c>>);

impl<'c> Deref for WriterTransaction<'_, 'c> {
    type Target = Session<'c>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for WriterTransaction<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
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
    async fn lock_name(&mut self, _name: &str) -> Result<(), DriverError> {
        // There is one writer.
        Ok(())
    }

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError> {
        for job in jobs {
            enqueue::insert_unless_stored(self, job)?;
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

    fn wake_schedules(&mut self) {
        self.wakes.schedule_waits();
    }
}

/// A reader does not leave its thread.
struct ReaderSnapshot<'r> {
    reader: SendWrapper<&'r mut Reader>,
    damage: std::sync::Arc<DamageLog>,
    now: Timestamp,
}

#[async_trait]
impl SqlSession for ReaderSnapshot<'_> {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn damage(&self) -> &DamageLog {
        &self.damage
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
