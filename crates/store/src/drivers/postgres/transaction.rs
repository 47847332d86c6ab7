//! What the verbs get of this driver.

pub(super) mod wrappers;

use std::error::Error;

use async_trait::async_trait;
use bytes::BytesMut;
use steadfast_core::{Job, JobCommand, JobId, NewJob, Subscriptions, Timestamp, WaitingRequest};
use tokio_postgres::{
    Row,
    error::SqlState,
    types::{FromSql, IsNull, ToSql, Type, to_sql_checked},
};

use super::{
    PostgresStore, change, counts, enqueue, failures, get,
    inner::{on_connection, with_wake_hints},
    insert,
    jobs::prune,
    names::{policy_id, with_numbers},
    session::Conn,
    waiting,
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
    store::{BaseStore as _, EnqueueResult},
    verbs::event_position::EventPosition,
    wake::WakeReasons,
};
use wrappers::SessionTransaction;

impl Driver for PostgresStore {
    fn event_position(&self) -> &EventPosition {
        &self.inner.shared.event_position
    }

    fn gates(&self) -> &CurrentGates {
        &self.inner.shared.due.gates
    }

    async fn share_waiting_limits(&self) -> Result<(), StoreError> {
        let limits = Driver::gates(self).stored_waiting_limits();
        if self.inner.shared.waiting_limits.is_shared(&limits) {
            return Ok(());
        }
        let shared = on_connection!(self, "share_waiting_limits", |conn| waiting::share(
            &conn.session(),
            &limits
        ));
        self.inner
            .shared
            .waiting_limits
            .set_shared(limits, shared.is_ok());
        shared
    }

    async fn transact<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        _rows: usize,
        arguments: A,
        verb: Verb<A, T>,
    ) -> Result<T, StoreError> {
        with_wake_hints!(self, operation, |conn, hints| run(
            conn, verb, &arguments, hints
        ))
    }

    async fn add_failure_counts(&self) -> Result<(), StoreError> {
        on_connection!(self, "add_failure_counts", |conn| failures::fold(conn))
    }

    fn key_rotator(&self) -> Option<&dyn KeyRotator> {
        Some(self)
    }

    async fn prune_jobs(&self, ended_before: Timestamp, limit: usize) -> Result<usize, StoreError> {
        let now = self.now();
        let dropped = self.prune_days(ended_before, now).await;
        let pruned = on_connection!(self, "prune", |conn| prune::prune(
            conn,
            ended_before,
            limit,
            now
        ))?;
        Ok(dropped + pruned)
    }

    async fn prune_names(&self, keep: usize) -> Result<usize, StoreError> {
        self.delete_unused_names(keep).await
    }

    async fn read<A: Send + Sync + 'static, T: Send + 'static>(
        &self,
        operation: &'static str,
        _asker: Asker,
        arguments: A,
        query: Query<A, T>,
    ) -> Result<T, StoreError> {
        on_connection!(self, operation, |conn| {
            let arguments = &arguments;
            async move {
                let (session, mut none) = (conn.session(), WakeReasons::default());
                query(&mut SessionTransaction::new(&session, &mut none), arguments).await
            }
        })
    }
}

impl SqlDriver for PostgresStore {
    const DIALECT: Dialect = Dialect::Postgres;

    fn move_fence(is_up: bool) -> Option<&'static str> {
        Some(match is_up {
            true => include_str!("transaction/move_fence.sql"),
            false => include_str!("transaction/move_fence_drop.sql"),
        })
    }

    async fn add_counts(&self) -> Result<(), StoreError> {
        on_connection!(self, "add_counts", |conn| async move {
            counts::fold(&conn.session()).await
        })
    }
}

async fn run<A: Send + Sync, T: Send>(
    conn: &mut Conn<'_>,
    verb: Verb<A, T>,
    arguments: &A,
    hints: &mut WakeReasons,
) -> Result<T, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let answer = verb(&mut SessionTransaction::new(&session, hints), arguments).await?;
    drop(session);
    transaction.commit().await?;
    Ok(answer)
}

#[async_trait]
impl SqlSession for SessionTransaction<'_, '_> {
    fn now(&self) -> Timestamp {
        self.session.shared.clock.now()
    }

    fn damage(&self) -> &DamageLog {
        &self.session.shared.damage
    }

    fn cipher(&self) -> &Cipher {
        &self.session.shared.cipher
    }

    async fn readable_jobs(&mut self, ids: &[JobId]) -> Result<Vec<Job>, DriverError> {
        match get::jobs(self.session, ids).await {
            Ok(jobs) => Ok(jobs.into_iter().flatten().collect()),
            // The only one cannot be read, which is noted by now.
            Err(DriverError::Damaged(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn rows(
        &mut self,
        sql: &str,
        params: &[SqlValue<'_>],
    ) -> Result<Vec<SqlRow>, DriverError> {
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|it| it as _).collect();
        let rows = self.session.shared_query(sql, &params).await?;
        rows.iter().map(read).collect()
    }

    async fn execute(&mut self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, DriverError> {
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|it| it as _).collect();
        match self.session.shared_execute(sql, &params).await {
            // Verbs look first: another transaction has stored the same meanwhile.
            Err(DriverError::Postgres(error)) if is_taken(&error) => Err(DriverError::Overtaken),
            changed => changed,
        }
    }
}

#[async_trait]
impl SqlWriter for SessionTransaction<'_, '_> {
    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError> {
        failures::take(self.session).await
    }

    async fn lock_names(&mut self, names: &[String]) -> Result<(), DriverError> {
        let sql = include_str!("transaction/names_lock.sql");
        self.session.execute(sql, &[&names]).await
    }

    async fn hold_waiting(&mut self, requests: &[WaitingRequest]) -> Result<Vec<u64>, DriverError> {
        waiting::hold(self.session, requests).await
    }

    fn wake(&mut self, reason: WakeReason) {
        match reason {
            WakeReason::Dependencies => self.hints.links_changed(),
            WakeReason::Schedules => self.hints.schedule_waits(),
        }
    }

    async fn insert_jobs(&mut self, jobs: &[NewJob]) -> Result<(), DriverError> {
        let numbered = with_numbers(self.session, jobs.iter()).await?;
        insert::insert_unless_stored(self.session, &numbered, self.hints).await
    }

    async fn enqueue(
        &mut self,
        jobs: &[NewJob],
    ) -> Result<Result<Vec<EnqueueResult>, EnqueueError>, DriverError> {
        let numbered = match enqueue::numbered(self.session, jobs, self.hints).await? {
            Ok(numbered) => numbered,
            Err(full) => return Ok(Err(full)),
        };
        let client = self.session.client;
        client.batch_execute("SAVEPOINT steadfast").await?;
        let answer = enqueue::enqueue_in(self.session, &numbered, self.hints).await?;
        let end = match answer {
            Ok(_) => "RELEASE steadfast",
            Err(_) => "ROLLBACK TO steadfast; RELEASE steadfast",
        };
        client.batch_execute(end).await?;
        Ok(answer)
    }

    async fn run_command(
        &mut self,
        jobs: &[JobId],
        command: &JobCommand,
        subscriptions: &Subscriptions,
        condition: &JobCondition<'_>,
    ) -> Result<Vec<Result<Job, CommandError>>, DriverError> {
        if let JobCommand::Edit(edit) = command
            && let Some(policy) = &edit.policy
        {
            policy_id(self.session, policy).await?;
        }
        let Self { session, hints } = self;
        change::run_command_if(session, jobs, command, subscriptions, condition, hints).await
    }

    async fn delete_jobs(&mut self, jobs: &[JobId]) -> Result<(), DriverError> {
        prune::delete_ended(self.session, jobs, None)
            .await
            .map(drop)
    }
}

fn is_taken(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::UNIQUE_VIOLATION)
}

fn read(row: &Row) -> Result<SqlRow, DriverError> {
    let values = (0..row.len()).map(|column| row.try_get::<_, SqlValue<'static>>(column));
    Ok(SqlRow(values.collect::<Result<_, _>>()?))
}

impl FromSql<'_> for SqlValue<'static> {
    fn from_sql(ty: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(match *ty {
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::BOOL => Self::Int(bool::from_sql(ty, raw)?.into()),
            Type::UUID | Type::BYTEA => Self::Id(u128::from_be_bytes(raw.try_into()?)),
            Type::TEXT => Self::from(String::from_sql(ty, raw)?),
            _ => Self::Unreadable(format!("found a {ty}")),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) => match *ty {
                Type::INT8 => value.to_sql(ty, out),
                Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
                Type::INT2 => i16::try_from(*value)?.to_sql(ty, out),
                Type::BOOL => (*value != 0).to_sql(ty, out),
                _ => Err(format!("a number is no {ty}").into()),
            },
            Self::Text(text) => (&**text).to_sql(ty, out),
            Self::Id(bits) => {
                out.extend_from_slice(&bits.to_be_bytes());
                Ok(IsNull::No)
            }
            Self::Unreadable(reason) => Err(reason.as_str().into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
