//! Deleting lanes, policies and the state of gates that nothing uses.
//!
//! A reader finds unused names, and the writer marks them. Whoever uses a name again takes its mark
//! away, because marking makes the writer check each row anew, and other processes notice the write.
//! A name that is found unused a day later, and has its mark still, was not used in between.

use rusqlite::{Connection, params};
use steadfast_core::limits::{PROBE_LOST_AFTER, RATE_PER};

use crate::drivers::sqlite::{SqliteStore, driver_error::DriverError, session::Session};
use crate::{
    drivers::sql::paging::row_limit,
    error::StoreError,
    limits::{NAME_SEARCH_EVERY, NAME_SEARCH_STEP, NAMES_DELETED_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
};

const OPERATION: &str = "prune";

/// The statements about one sort of names: to find unused ones, to delete one, and to mark one.
type NameStatements = [&'static str; 3];

const LANES: NameStatements = [
    include_str!("unused_names/lanes_unused.sql"),
    include_str!("unused_names/lane_delete.sql"),
    include_str!("unused_names/lane_mark.sql"),
];
const POLICIES: NameStatements = [
    include_str!("unused_names/policies_unused.sql"),
    include_str!("unused_names/policy_delete.sql"),
    include_str!("unused_names/policy_mark.sql"),
];

impl SqliteStore {
    pub(crate) async fn delete_unused_names(&self, keep: usize) -> Result<usize, StoreError> {
        if !self.write(OPERATION, 1, begin).await? {
            return Ok(0);
        }
        self.delete_gates().await?;
        Ok(self.delete_unused(LANES, keep).await? + self.delete_unused(POLICIES, keep).await?)
    }

    async fn delete_unused(
        &self,
        [find, delete, mark]: NameStatements,
        keep: usize,
    ) -> Result<usize, StoreError> {
        let look = move |conn: &Connection| {
            let mut statement = conn.prepare_cached(find)?;
            let limits = params![row_limit(keep), row_limit(NAMES_DELETED_MAX)];
            let ids = statement.query_map(limits, |row| row.get("id"))?;
            Ok(ids.collect::<Result<Vec<i64>, _>>()?)
        };
        let unused = self
            .read(OPERATION, move |reader| look(&reader.conn))
            .await?;
        let mut deleted = 0;
        for some in unused.chunks(NAME_SEARCH_STEP) {
            let some = some.to_vec();
            let run = move |session: &mut Session<'_>| delete_or_mark(session, &some, delete, mark);
            deleted += self.write_page(OPERATION, NAME_SEARCH_STEP, run).await?;
        }
        Ok(deleted)
    }

    /// The state of gates that nothing has passed lately; the writer remembers what still counts.
    async fn delete_gates(&self) -> Result<(), StoreError> {
        for _ in 0..PRUNE_BATCHES_MAX {
            let deleted = self
                .write_page(OPERATION, NAME_SEARCH_STEP, delete_gates)
                .await?;
            if deleted < NAME_SEARCH_STEP {
                break;
            }
        }
        Ok(())
    }
}

/// Answers whether a search may begin.
fn begin(session: &mut Session<'_>) -> Result<bool, DriverError> {
    let Session { conn, now, .. } = session;
    let begun = conn
        .prepare_cached(include_str!("unused_names/names_search.sql"))?
        .execute(params![
            now.as_micros(),
            now.minus(NAME_SEARCH_EVERY).as_micros()
        ])?;
    Ok(begun > 0)
}

fn delete_gates(session: &mut Session<'_>) -> Result<usize, DriverError> {
    let started = session.now.minus(PROBE_LOST_AFTER).as_micros();
    let sql = include_str!("unused_names/gate_delete.sql");
    let limit = row_limit(NAME_SEARCH_STEP);
    let used = minute(session.now.minus(*RATE_PER.end()));
    let values = params![started, minute(session.now), limit, used];
    Ok(session.conn.prepare_cached(sql)?.execute(values)?)
}

fn delete_or_mark(
    session: &mut Session<'_>,
    unused: &[i64],
    delete: &str,
    mark: &str,
) -> Result<usize, DriverError> {
    let Session { conn, now, .. } = session;
    let a_day_ago = now.minus(NAME_SEARCH_EVERY).as_micros();
    let (mut delete, mut mark) = (conn.prepare_cached(delete)?, conn.prepare_cached(mark)?);
    let mut deleted = 0;
    for id in unused {
        match delete.execute(params![id, a_day_ago])? {
            0 => drop(mark.execute(params![id, now.as_micros()])?),
            _ => deleted += 1,
        }
    }
    session.names.forget_stored();
    Ok(deleted)
}
