//! Rows of failure groups.

use async_trait::async_trait;
use steadfast_core::{
    FailureFingerprint, FailureGroup, FailureKey, FailureState, Invalid, Tenant, Timestamp,
};

use super::{
    session::{SqlRow, SqlSession, insert_chunks, insert_rows, rows_of_lists, values_list},
    transaction::SqlWriter,
    values::to_json,
};
use crate::{
    drivers::{
        driver_error::DriverError,
        transaction::{FailureReads, FailureRow, FailureWrites},
    },
    failures::FailureTallies,
    store::FailureCursor,
};

#[async_trait]
impl<S: SqlSession> FailureReads for S {
    async fn failure_groups(
        &mut self,
        keys: &[FailureKey],
    ) -> Result<Vec<FailureGroup>, DriverError> {
        let sql = include_str!("shared/failures/failures_find.sql");
        let mut groups = Vec::with_capacity(keys.len());
        for some in insert_chunks(keys) {
            let params = some.iter().flat_map(|key| {
                [
                    key.tenant.as_str().into(),
                    key.fingerprint.to_string().into(),
                ]
            });
            let params: Vec<_> = params.collect();
            let sql = sql.replace("/*rows*/", &values_list(some.len(), 2));
            for row in self.rows(&sql, &params).await? {
                groups.extend(read(&row)?.group);
            }
        }
        Ok(groups)
    }

    async fn failure_rows(
        &mut self,
        tenant: Option<&Tenant>,
        below: Option<&FailureCursor>,
        limit: usize,
    ) -> Result<Vec<FailureRow>, DriverError> {
        let count = below.map_or(i64::MAX, |it| i64::try_from(it.count).unwrap_or(i64::MAX));
        // Behind every name and every fingerprint.
        let last_name = char::MAX.to_string();
        let print = below.map_or_else(|| "~".to_owned(), |it| it.fingerprint.to_string());
        let (sql, tenant) = match tenant {
            Some(tenant) => (
                include_str!("shared/failures/failures_of_tenant.sql"),
                tenant.as_str(),
            ),
            None => (
                include_str!("shared/failures/failures_of_all.sql"),
                below.map_or(last_name.as_str(), |it| it.tenant.as_str()),
            ),
        };
        let params = [tenant.into(), count.into(), print.into(), limit.into()];
        let rows = self.rows(sql, &params).await?;
        rows.iter().map(read).collect()
    }

    async fn failures_in_state(
        &mut self,
        state: FailureState,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<FailureGroup>, DriverError> {
        let sql = include_str!("shared/failures/failures_in_state.sql");
        let params = [state.as_str().into(), since.into(), limit.into()];
        let mut groups = Vec::new();
        for row in self.rows(sql, &params).await? {
            groups.extend(read(&row)?.group);
        }
        Ok(groups)
    }

    async fn count_failure_groups(
        &mut self,
        tenants: &[&str],
    ) -> Result<Vec<(Tenant, usize)>, DriverError> {
        let sql = include_str!("shared/failures/failures_count.sql");
        let rows = rows_of_lists(self, sql, &[], tenants).await?;
        let read = |row: &SqlRow| {
            let tenant = Tenant::new(row.text(0)?).map_err(unreadable)?;
            Ok((tenant, usize::try_from(row.int(1)?).unwrap_or(0)))
        };
        rows.iter().map(read).collect()
    }
}

#[async_trait]
impl<S: SqlWriter> FailureWrites for S {
    async fn take_failure_counts(&mut self) -> Result<FailureTallies, DriverError> {
        SqlWriter::take_failure_counts(self).await
    }

    async fn save_failure_groups(&mut self, groups: &[FailureGroup]) -> Result<(), DriverError> {
        let bodies = groups.iter().map(to_json);
        let bodies: Vec<String> = bodies.collect::<Result<_, _>>()?;
        let rows: Vec<(&FailureGroup, &str)> = groups
            .iter()
            .zip(bodies.iter().map(String::as_str))
            .collect();
        let sql = include_str!("shared/failures/failures_save.sql");
        insert_rows(self, sql, &rows, |(group, body)| {
            [
                group.key.tenant.as_str().into(),
                group.key.fingerprint.to_string().into(),
                group.tally.count.into(),
                group.stored_state().as_str().into(),
                group.state_since.into(),
                group.tally.last_seen.into(),
                group.tally.dead_letters.into(),
                (*body).into(),
            ]
        })
        .await
    }
}

/// Of the columns tenant, fingerprint, count and body.
fn read(row: &SqlRow) -> Result<FailureRow, DriverError> {
    let fingerprint: FailureFingerprint = row.text(1)?.parse().map_err(unreadable)?;
    let cursor = FailureCursor {
        count: u64::try_from(row.int(2)?).unwrap_or(0),
        tenant: Tenant::new(row.text(0)?).map_err(unreadable)?,
        fingerprint,
    };
    let group = read_group(row.text(3)?, &cursor);
    Ok(FailureRow { cursor, group })
}

/// A group that cannot be read begins anew when it is counted next.
fn read_group(body: &str, of: &FailureCursor) -> Option<FailureGroup> {
    serde_json::from_str(body)
        .inspect_err(|error| {
            tracing::warn!(tenantId = %of.tenant, fingerprint = %of.fingerprint, %error,
                "cannot decode a failure group");
        })
        .ok()
}

fn unreadable(error: Invalid) -> DriverError {
    DriverError::unreadable("failure group", error)
}
