//! Rows of the logs of attempts.

use async_trait::async_trait;
use steadfast_core::{Fence, JobId};

use super::{
    session::{SqlSession, SqlValue},
    transaction::SqlWriter,
};
use crate::drivers::{
    driver_error::DriverError,
    transaction::{LogReads, LogWrites},
};

#[async_trait]
impl<S: SqlSession> LogReads for S {
    async fn attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
    ) -> Result<Option<String>, DriverError> {
        let sql = include_str!("shared/logs/log_find.sql");
        let rows = self.rows(sql, &[job.into(), fence_value(fence)]).await?;
        rows.first()
            .map(|row| Ok(row.text(0)?.to_owned()))
            .transpose()
    }

    async fn logs_of_attempt(
        &mut self,
        job: JobId,
        attempt: u32,
    ) -> Result<Vec<(Fence, Result<String, DriverError>)>, DriverError> {
        let sql = include_str!("shared/logs/logs_of_attempt.sql");
        let rows = self
            .rows(sql, &[job.into(), i64::from(attempt).into()])
            .await?;
        let read = rows.iter().map(|row| {
            let fence = u32::try_from(row.int(0)?);
            let fence = fence.map_err(|error| DriverError::unreadable("fence", error))?;
            Ok((Fence(fence), row.text(1).map(str::to_owned)))
        });
        read.collect()
    }
}

#[async_trait]
impl<S: SqlWriter> LogWrites for S {
    async fn save_attempt_log(
        &mut self,
        job: JobId,
        fence: Fence,
        body: &str,
    ) -> Result<bool, DriverError> {
        let sql = include_str!("shared/logs/log_save.sql");
        let params = [job.into(), fence_value(fence), body.into()];
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
