//! Deleting lanes, policies and gates that nothing uses.
//!
//! One node a day looks for them. A job may be written by a transaction that began before and is not
//! visible yet, so nothing is deleted while one goes on that was under way at the last search, and
//! only what was not used for a day before that search: who looks up such a number from then on waits
//! for its row or changes it, and finds it gone or keeps it from going.

use std::collections::HashSet;

use steadfast_core::Timestamp;

use super::{
    PostgresStore, counts,
    driver_error::DriverError,
    inner::on_connection,
    key::Key,
    names::{LaneId, PolicyId},
    session::{Conn, Session},
    values::time,
};
use crate::{
    error::StoreError,
    limits::{NAME_SEARCH_EVERY, NAME_SEARCH_STEP, NAMES_DELETED_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
    sql::{name_use::unused_before, paging::row_limit},
};

impl PostgresStore {
    pub(super) async fn delete_unused_names(&self, keep: usize) -> Result<usize, StoreError> {
        let last = on_connection!(self, "prune_names", |conn| begin(&conn.session()))?;
        let Some(last) = last else {
            return Ok(0);
        };
        let before = unused_before(last);
        self.delete_gates(before).await?;
        Ok(self.delete_lanes(before, keep).await? + self.delete_policies(before, keep).await?)
    }

    /// Gates that were not used since then. A node that uses one says so at least every hour.
    async fn delete_gates(&self, before: i64) -> Result<(), StoreError> {
        for _ in 0..PRUNE_BATCHES_MAX {
            let deleted = on_connection!(self, "prune_names", |conn| delete_gates(
                conn.session(),
                before
            ))?;
            if deleted < NAME_SEARCH_STEP {
                break;
            }
        }
        Ok(())
    }

    async fn delete_lanes(&self, before: i64, keep: usize) -> Result<usize, StoreError> {
        let mut unused: HashSet<LaneId> = on_connection!(self, "prune_names", |conn| find_old(
            conn.session(),
            include_str!("sql/names_unused_lanes.sql"),
            before,
            keep
        ))?;
        for sql in [
            include_str!("sql/names_counted_lanes.sql"),
            include_str!("sql/names_waiting_lanes.sql"),
        ] {
            let mut after = (i64::MIN, 0);
            while !unused.is_empty() {
                let (last, counted) = on_connection!(self, "prune_names", |conn| counted_lanes(
                    conn.session(),
                    sql,
                    after
                ))?;
                unused.retain(|lane| !counted.contains(lane));
                let Some(last) = last else {
                    break;
                };
                after = last;
            }
        }
        let (lock, delete) = (
            include_str!("sql/lanes_lock.sql"),
            include_str!("sql/lanes_delete.sql"),
        );
        self.delete_all(unused, [lock, delete], before).await
    }

    async fn delete_policies(&self, before: i64, keep: usize) -> Result<usize, StoreError> {
        let mut unused: HashSet<PolicyId> = on_connection!(self, "prune_names", |conn| find_old(
            conn.session(),
            include_str!("sql/names_unused_policies.sql"),
            before,
            keep
        ))?;
        let mut after: Option<Key> = None;
        while !unused.is_empty() {
            let (last, used) = on_connection!(self, "prune_names", |conn| policies_of_jobs(
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
        let (lock, delete) = (
            include_str!("sql/policies_lock.sql"),
            include_str!("sql/policies_delete.sql"),
        );
        self.delete_all(unused, [lock, delete], before).await
    }

    /// In short transactions, so that who looks up one of these numbers does not wait long.
    async fn delete_all(
        &self,
        unused: HashSet<i32>,
        sql: [&'static str; 2],
        before: i64,
    ) -> Result<usize, StoreError> {
        let unused: Vec<i32> = unused.into_iter().collect();
        let mut deleted = 0;
        for batch in unused.chunks(NAME_SEARCH_STEP) {
            deleted +=
                on_connection!(self, "prune_names", |conn| delete(conn, batch, sql, before))?;
        }
        if deleted > 0 {
            self.inner.shared.names.clear();
        }
        Ok(deleted)
    }
}

/// Notes that a search begins, unless one did less than a day ago or something goes on that was under
/// way then. Answers when the one before began.
async fn begin(session: &Session<'_>) -> Result<Option<Timestamp>, DriverError> {
    let every = i64::try_from(NAME_SEARCH_EVERY.as_micros()).unwrap_or(i64::MAX);
    let sql = include_str!("sql/names_begin.sql");
    let rows = session
        .query(sql, &[&session.shared.clock.given(), &every])
        .await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    // Lanes of which changes are not in the totals yet are kept.
    counts::fold(session).await?;
    // A clock that was set back says nothing of what was used since.
    let is_past: bool = row.try_get("is_past")?;
    Ok(is_past.then_some(time(row.try_get("at")?)))
}

async fn delete_gates(session: Session<'_>, before: i64) -> Result<usize, DriverError> {
    let now = session.shared.clock.now();
    let started = now.minus(steadfast_core::limits::PROBE_LOST_AFTER);
    let row = session
        .query_one(
            include_str!("sql/gate_delete.sql"),
            &[
                &before,
                &started.as_micros(),
                &minute(now),
                &row_limit(NAME_SEARCH_STEP),
            ],
        )
        .await?;
    Ok(usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0))
}

/// Numbers that were not used for long, if there are many of their sort.
async fn find_old(
    session: Session<'_>,
    sql: &'static str,
    before: i64,
    keep: usize,
) -> Result<HashSet<i32>, DriverError> {
    let (keep, limit) = (row_limit(keep), row_limit(NAMES_DELETED_MAX));
    let rows = session.query(sql, &[&before, &keep, &limit]).await?;
    rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
}

/// The lanes of the counts after one of them, and the last of those counts.
async fn counted_lanes(
    session: Session<'_>,
    sql: &'static str,
    after: (i64, LaneId),
) -> Result<(Option<(i64, LaneId)>, HashSet<LaneId>), DriverError> {
    let limit = row_limit(NAME_SEARCH_STEP);
    let rows = session.query(sql, &[&after.0, &after.1, &limit]).await?;
    let (mut last, mut counted) = (None, HashSet::new());
    for row in rows {
        let lane = row.try_get("lane")?;
        last = Some((row.try_get("minute")?, lane));
        counted.insert(lane);
    }
    Ok((last, counted))
}

/// The policies of the jobs after one of them, and the last of those jobs.
async fn policies_of_jobs(
    session: Session<'_>,
    after: Option<Key>,
) -> Result<(Option<Key>, Vec<PolicyId>), DriverError> {
    let sql = include_str!("sql/names_job_policies.sql");
    let limit = row_limit(NAME_SEARCH_STEP);
    let row = session.query_one(sql, &[&after, &limit]).await?;
    Ok((row.try_get("last")?, row.try_get("policies")?))
}

/// Two statements: the second sees what those have committed who held a row before the first.
async fn delete(
    conn: &mut Conn<'_>,
    unused: &[i32],
    [lock, delete]: [&'static str; 2],
    before: i64,
) -> Result<usize, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    let rows = session.query(lock, &[&unused, &before]).await?;
    let held: Vec<i32> = rows
        .iter()
        .map(|row| row.try_get("id"))
        .collect::<Result<_, _>>()?;
    let row = session.query_one(delete, &[&held]).await?;
    let deleted = usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0);
    transaction.commit().await?;
    Ok(deleted)
}
