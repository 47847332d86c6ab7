//! Deleting lanes, policies and how gates stood that nothing uses.
//!
//! What a search finds out by reading takes many short looks, so that others are served in between.
//! The writer then deletes what is still as old as it was: a number that was looked up meanwhile says
//! so in its row.

use std::collections::HashSet;

use rusqlite::{Connection, params};
use steadfast_core::{Timestamp, limits::PROBE_LOST_AFTER};

use super::{SqliteStore, driver_error::DriverError, session::Session, values::time};
use crate::{
    error::StoreError,
    limits::{NAME_SEARCH_EVERY, NAME_SEARCH_STEP, NAMES_DELETED_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
    sql::{name_use::unused_before, paging::row_limit},
};

const OPERATION: &str = "prune_names";

impl SqliteStore {
    pub(super) async fn delete_unused_names(&self, keep: usize) -> Result<usize, StoreError> {
        let Some(last) = self.write(OPERATION, 1, begin).await? else {
            return Ok(0);
        };
        self.delete_gates().await?;
        let before = unused_before(last);
        let sql = include_str!("sql/names_unused_lanes.sql");
        let mut lanes = self.find_old(sql, before, keep).await?;
        for sql in [
            include_str!("sql/names_counted_lanes.sql"),
            include_str!("sql/names_waiting_lanes.sql"),
        ] {
            self.keep_counted(&mut lanes, sql).await?;
        }
        let sql = include_str!("sql/names_unused_policies.sql");
        let mut policies = self.find_old(sql, before, keep).await?;
        self.keep_policies_of_jobs(&mut policies).await?;
        let mut deleted = 0;
        for (unused, sql) in [
            (lanes, include_str!("sql/lane_delete.sql")),
            (policies, include_str!("sql/policy_delete.sql")),
        ] {
            let unused: Vec<i64> = unused.into_iter().collect();
            for batch in unused.chunks(NAME_SEARCH_STEP) {
                let batch = batch.to_vec();
                let delete = move |session: &mut Session<'_>| delete(session, &batch, sql, before);
                deleted += self.write(OPERATION, NAME_SEARCH_STEP, delete).await?;
            }
        }
        Ok(deleted)
    }

    /// How gates stood that nothing has passed lately; the writer remembers what still counts.
    async fn delete_gates(&self) -> Result<(), StoreError> {
        for _ in 0..PRUNE_BATCHES_MAX {
            let deleted = self
                .write(OPERATION, NAME_SEARCH_STEP, delete_gates)
                .await?;
            if deleted < NAME_SEARCH_STEP {
                break;
            }
        }
        Ok(())
    }

    /// Numbers that were not used for long, if there are many of their sort.
    async fn find_old(
        &self,
        sql: &'static str,
        before: i64,
        keep: usize,
    ) -> Result<HashSet<i64>, StoreError> {
        let find = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(sql)?;
            let limits = params![before, row_limit(keep), row_limit(NAMES_DELETED_MAX)];
            let ids = statement.query_map(limits, |row| row.get("id"))?;
            Ok(ids.collect::<Result<_, _>>()?)
        };
        self.read(OPERATION, move |reader| find(&reader.conn)).await
    }

    /// Takes out what jobs have.
    async fn keep_policies_of_jobs(&self, unused: &mut HashSet<i64>) -> Result<(), StoreError> {
        let mut after = 0;
        while !unused.is_empty() {
            let look = move |conn: &Connection| {
                let sql = include_str!("sql/names_job_policies.sql");
                let mut statement = conn.prepare_cached(sql)?;
                let mut rows = statement.query(params![after, row_limit(NAME_SEARCH_STEP)])?;
                let (mut last, mut used) = (None, HashSet::new());
                while let Some(row) = rows.next()? {
                    last = Some(row.get::<_, i64>("seq")?);
                    used.insert(row.get::<_, i64>("policy")?);
                }
                Ok((last, used))
            };
            let (last, used) = self
                .read(OPERATION, move |reader| look(&reader.conn))
                .await?;
            let Some(last) = last else {
                break;
            };
            unused.retain(|policy| !used.contains(policy));
            after = last;
        }
        Ok(())
    }

    /// Takes out lanes of which something is counted.
    async fn keep_counted(
        &self,
        unused: &mut HashSet<i64>,
        sql: &'static str,
    ) -> Result<(), StoreError> {
        let mut after = (i64::MIN, 0);
        while !unused.is_empty() {
            let look = move |conn: &Connection| {
                let mut statement = conn.prepare_cached(sql)?;
                let limit = row_limit(NAME_SEARCH_STEP);
                let mut rows = statement.query(params![after.0, after.1, limit])?;
                let (mut last, mut counted) = (None, HashSet::new());
                while let Some(row) = rows.next()? {
                    let lane: i64 = row.get("lane")?;
                    last = Some((row.get::<_, i64>("minute")?, lane));
                    counted.insert(lane);
                }
                Ok((last, counted))
            };
            let (last, counted) = self
                .read(OPERATION, move |reader| look(&reader.conn))
                .await?;
            let Some(last) = last else {
                break;
            };
            unused.retain(|lane| !counted.contains(lane));
            after = last;
        }
        Ok(())
    }
}

/// Notes that a search begins, unless one did less than a day ago. Answers when the one before began.
fn begin(session: &mut Session<'_>) -> Result<Option<Timestamp>, DriverError> {
    let Session { conn, now, .. } = session;
    let last = conn
        .prepare_cached(include_str!("sql/names_searched.sql"))?
        .query_row([], |row| row.get("at"))?;
    let last = time(last);
    let noted = conn
        .prepare_cached(include_str!("sql/names_begin.sql"))?
        .execute(params![
            now.as_micros(),
            now.minus(NAME_SEARCH_EVERY).as_micros()
        ])?;
    // A clock that was set back says nothing of what was used since.
    Ok((noted > 0 && last <= *now).then_some(last))
}

fn delete_gates(session: &mut Session<'_>) -> Result<usize, DriverError> {
    let started = session.now.minus(PROBE_LOST_AFTER).as_micros();
    let sql = include_str!("sql/gate_delete.sql");
    let limit = row_limit(NAME_SEARCH_STEP);
    let values = params![started, minute(session.now), limit];
    Ok(session.conn.prepare_cached(sql)?.execute(values)?)
}

fn delete(
    session: &mut Session<'_>,
    unused: &[i64],
    sql: &str,
    before: i64,
) -> Result<usize, DriverError> {
    let mut deleted = 0;
    let mut statement = session.conn.prepare_cached(sql)?;
    for id in unused {
        deleted += statement.execute(params![id, before])?;
    }
    session.names.forget_numbers();
    Ok(deleted)
}
