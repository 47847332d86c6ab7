//! Rows of the logs of attempts.

use std::borrow::Cow;

use async_trait::async_trait;
use steadfast_core::{Fence, JobId};

use super::{
    session::{SqlRow, SqlSession, SqlValue, rows_of_lists},
    transaction::SqlWriter,
};
use crate::{
    drivers::sql::encryption::{Cell, Cipher},
    drivers::{
        driver_error::DriverError,
        transaction::{LogReads, LogWrites, StoredLog},
    },
};

#[async_trait]
impl<S: SqlSession> LogReads for S {
    async fn newest_logs(&mut self, jobs: &[JobId]) -> Result<Vec<StoredLog>, DriverError> {
        let sql = include_str!("shared/logs/logs_newest.sql");
        let rows = rows_of_lists(self, sql, &[], jobs).await?;
        let read = rows.iter().map(|row| {
            let job = JobId::from_bits(row.id(0)?);
            read_log(self.cipher(), job, row, [1, 3, 4], row.int(2)? != 0)
        });
        read.collect()
    }

    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
        line: u64,
        limit: usize,
    ) -> Result<Vec<StoredLog>, DriverError> {
        let sql = include_str!("shared/logs/logs_of_attempt.sql");
        let attempt = SqlValue::from(i64::from(attempt));
        let params = [job.into(), attempt, line.into(), limit.into()];
        let rows = self.rows(sql, &params).await?;
        let read = rows
            .iter()
            .map(|row| read_log(self.cipher(), job, row, [0, 1, 2], true));
        read.collect()
    }
}

fn read_log(
    cipher: &Cipher,
    job: JobId,
    row: &SqlRow,
    [fence, first_line, body]: [usize; 3],
    is_current: bool,
) -> Result<StoredLog, DriverError> {
    let fence = u32::try_from(row.int(fence)?);
    let fence = Fence(fence.map_err(|error| DriverError::unreadable("fence", error))?);
    let body = row.text(body);
    let body = body.and_then(|body| cipher.open(Cell::Log(job, fence), body));
    Ok(StoredLog {
        job,
        fence,
        is_current,
        first_line: u64::try_from(row.int(first_line)?).unwrap_or_default(),
        body: body.map(Cow::into_owned),
    })
}

#[async_trait]
impl<S: SqlWriter> LogWrites for S {
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        first_line: u64,
        body: &str,
    ) -> Result<bool, DriverError> {
        let sql = include_str!("shared/logs/log_save.sql");
        let body = self.cipher().seal(Cell::Log(job, fence), body)?;
        let params = [
            job.into(),
            fence_value(fence),
            first_line.into(),
            SqlValue::Text(body),
        ];
        Ok(self.execute(sql, &params).await? > 0)
    }

    async fn delete_attempt_logs(&mut self, job: JobId, upto: Fence) -> Result<(), DriverError> {
        let sql = include_str!("shared/logs/logs_delete.sql");
        self.execute(sql, &[job.into(), fence_value(upto)])
            .await
            .map(drop)
    }
}

fn fence_value(fence: Fence) -> SqlValue<'static> {
    i64::from(fence.0).into()
}
