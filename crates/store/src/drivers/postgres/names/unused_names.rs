//! Deleting lanes, policies and gates that nothing uses.
//!
//! One node a day looks for them. Unused names are marked, and those that still have their mark a day
//! later and no job are deleted. Whoever uses a name checks its row at least every
//! [`NUMBERS_REMEMBERED`](crate::limits::NUMBERS_REMEMBERED), which takes the mark away; a user's
//! transaction locks the row against deletion until it ends.

use std::collections::HashSet;

use steadfast_core::Timestamp;

use crate::drivers::postgres::{
    PostgresStore, counts,
    driver_error::DriverError,
    inner::on_connection,
    key::Key,
    session::{Conn, Session},
    values::time,
};
use crate::{
    drivers::sql::{numbers::PolicyId, paging::row_limit},
    error::StoreError,
    limits::{NAME_SEARCH_EVERY, NAME_SEARCH_STEP, NAMES_DELETED_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
};

impl PostgresStore {
    pub(crate) async fn delete_unused_names(&self, keep: usize) -> Result<usize, StoreError> {
        let begun = on_connection!(self, "prune", |conn| begin(&conn.session()))?;
        let Some(now) = begun else {
            return Ok(0);
        };
        self.delete_gates(now).await?;
        let mut deleted = 0;
        for _ in 0..PRUNE_BATCHES_MAX {
            let some = on_connection!(self, "prune", |conn| delete_lanes(conn, now, keep))?;
            deleted += some;
            if some < NAME_SEARCH_STEP {
                break;
            }
        }
        on_connection!(self, "prune", |conn| mark_lanes(conn.session(), now, keep))?;
        Ok(deleted + self.delete_policies(now, keep).await?)
    }

    /// Gates that were not used for a day. A node that uses one says so at least every hour.
    async fn delete_gates(&self, now: Timestamp) -> Result<(), StoreError> {
        for _ in 0..PRUNE_BATCHES_MAX {
            let deleted = on_connection!(self, "prune", |conn| delete_gates(conn.session(), now))?;
            if deleted < NAME_SEARCH_STEP {
                break;
            }
        }
        Ok(())
    }

    /// No index leads from a policy to its jobs, so all jobs are read, a page at a time.
    async fn delete_policies(&self, now: Timestamp, keep: usize) -> Result<usize, StoreError> {
        let mut unused = on_connection!(self, "prune", |conn| find_policies(conn.session(), keep))?;
        let mut after: Option<Key> = None;
        while !unused.is_empty() {
            let (last, used) = on_connection!(self, "prune", |conn| policies_of_jobs(
                conn.session(),
                after
            ))?;
            for policy in used {
                unused.remove(&policy);
            }
            let Some(last) = last else {
                break;
            };
            after = Some(last);
        }
        let unused: Vec<PolicyId> = unused.into_iter().collect();
        let mut deleted = 0;
        for some in unused.chunks(NAME_SEARCH_STEP) {
            deleted += on_connection!(self, "prune", |conn| delete_or_mark(
                conn.session(),
                some,
                now
            ))?;
        }
        Ok(deleted)
    }
}

/// When a search may begin: now, unless another one began less than a day ago.
async fn begin(session: &Session<'_>) -> Result<Option<Timestamp>, DriverError> {
    let every = i64::try_from(NAME_SEARCH_EVERY.as_micros()).unwrap_or(i64::MAX);
    let sql = include_str!("unused_names/names_search.sql");
    let rows = session
        .query(sql, &[&session.shared.clock.given(), &every])
        .await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    // Lanes with changes that are not in the totals yet are kept.
    counts::fold(session).await?;
    Ok(Some(time(row.try_get("now")?)))
}

fn a_day_before(now: Timestamp) -> i64 {
    now.minus(NAME_SEARCH_EVERY).as_micros()
}

async fn delete_gates(session: Session<'_>, now: Timestamp) -> Result<usize, DriverError> {
    let started = now.minus(steadfast_core::limits::PROBE_LOST_AFTER);
    let row = session
        .query_one(
            include_str!("unused_names/gate_delete.sql"),
            &[
                &a_day_before(now),
                &started.as_micros(),
                &minute(now),
                &row_limit(NAME_SEARCH_STEP),
            ],
        )
        .await?;
    Ok(usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0))
}

/// Two statements: the second sees the jobs of transactions that held a row before the first.
async fn delete_lanes(
    conn: &mut Conn<'_>,
    now: Timestamp,
    keep: usize,
) -> Result<usize, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let sql = include_str!("unused_names/lanes_lock.sql");
    let limits = (row_limit(keep), row_limit(NAME_SEARCH_STEP));
    let rows = session
        .query(sql, &[&a_day_before(now), &limits.0, &limits.1])
        .await?;
    let locked: Vec<i64> = rows
        .iter()
        .map(|row| row.try_get("id"))
        .collect::<Result<_, _>>()?;
    let row = session
        .query_one(include_str!("unused_names/lanes_delete.sql"), &[&locked])
        .await?;
    let deleted = usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0);
    transaction.commit().await?;
    Ok(deleted)
}

async fn mark_lanes(session: Session<'_>, now: Timestamp, keep: usize) -> Result<(), DriverError> {
    let sql = include_str!("unused_names/lanes_mark.sql");
    let (keep, limit) = (row_limit(keep), row_limit(NAMES_DELETED_MAX));
    session
        .execute(sql, &[&now.as_micros(), &keep, &limit])
        .await
}

async fn find_policies(
    session: Session<'_>,
    keep: usize,
) -> Result<HashSet<PolicyId>, DriverError> {
    let sql = include_str!("unused_names/policies_unused.sql");
    let (keep, limit) = (row_limit(keep), row_limit(NAMES_DELETED_MAX));
    let rows = session.query(sql, &[&keep, &limit]).await?;
    rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
}

/// The policies of the jobs after one of them, and the last of those jobs.
async fn policies_of_jobs(
    session: Session<'_>,
    after: Option<Key>,
) -> Result<(Option<Key>, Vec<PolicyId>), DriverError> {
    let sql = include_str!("unused_names/policies_of_jobs.sql");
    let limit = row_limit(NAME_SEARCH_STEP);
    let row = session.query_one(sql, &[&after, &limit]).await?;
    Ok((row.try_get("last")?, row.try_get("policies")?))
}

async fn delete_or_mark(
    session: Session<'_>,
    unused: &[PolicyId],
    now: Timestamp,
) -> Result<usize, DriverError> {
    let sql = include_str!("unused_names/policies_delete.sql");
    let row = session
        .query_one(sql, &[&unused, &now.as_micros(), &a_day_before(now)])
        .await?;
    Ok(usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0))
}
