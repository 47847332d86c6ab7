//! Ended jobs and attempts by day.
//!
//! The jobs whose ids were made on one day leave the hot ones for a partition of that day when they
//! end, and their attempts are written to another. When all that is in them is old enough, both are
//! dropped, which costs the same for ten jobs as for ten million. What stays longer is moved out first.
//!
//! No statement waits long for this: tables are locked for a moment, or it is tried again a minute
//! later. Each step may be interrupted, and may run on several nodes at once.

use std::time::Duration;

use steadfast_core::{JobId, Timestamp, limits::DAY};

use crate::drivers::postgres::{
    PostgresStore,
    driver_error::DriverError,
    inner::on_connection,
    jobs::prune::delete_ended,
    key::Key,
    session::{Conn, Session},
};
use crate::{
    drivers::sql::paging::row_limit,
    error::StoreError,
    limits::{DAY_LATE_MAX, DAYS_AHEAD, PRUNE_BATCH_MAX, PRUNE_BATCHES_MAX, PRUNE_OVERLAP},
    store::BaseStore as _,
};

/// A table is waited for no longer than this: all that comes behind waits, too.
const LOCK_WAIT: &str = "SET LOCAL lock_timeout = '100ms'"; // not a limit: a statement
/// All jobs of a day are counted before it is dropped.
const NO_TIMEOUT: &str = "SET LOCAL statement_timeout = 0"; // not a limit: a statement

/// The days that have partitions, or had.
#[derive(Clone, Copy, Debug)]
struct KnownDay {
    day: i32,
    is_dropped: bool,
}

impl PostgresStore {
    /// Makes the first partitions; retention makes more. Without one for its day, a job only takes
    /// longer to delete.
    pub(crate) async fn prepare_days(&self) {
        let now = self.now();
        let prepared = on_connection!(self, "prepare_days", |conn| prepare(conn, now, 1));
        match prepared {
            Err(error) if error.is_transient() => {
                tracing::debug!(%error, "partitions of days are made later");
            }
            Err(error) => tracing::warn!(
                %error,
                "partitions of days cannot be made; retention will delete ended jobs one by one"
            ),
            Ok(()) => {}
        }
    }

    /// Makes partitions for the days to come, fills those of ended jobs, and drops one that is over.
    /// Answers how many jobs that were.
    pub(crate) async fn prune_days(&self, ended_before: Timestamp, now: Timestamp) -> usize {
        let mut dropped = 0;
        let done = async {
            self.sweep(now).await?;
            on_connection!(self, "prune", |conn| prepare(conn, now, DAYS_AHEAD))?;
            if let Some(over) = self.day_that_is_over(ended_before).await? {
                let mut is_gone = over.is_dropped;
                if !is_gone {
                    (dropped, is_gone) = self.drop_day(over.day, ended_before).await?;
                }
                if is_gone {
                    self.delete_orphans(over.day).await?;
                }
            }
            Ok::<_, StoreError>(())
        };
        if let Err(error) = done.await {
            tracing::debug!(%error, "partitions of days are left for later");
        }
        dropped
    }

    /// Moves what ended among the hot jobs, and what is in no day.
    async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let before = now.minus(PRUNE_OVERLAP).as_micros();
        for _ in 0..PRUNE_BATCHES_MAX {
            let moved = on_connection!(self, "prune", |conn| sweep(conn, before))?;
            if moved < PRUNE_BATCH_MAX {
                break;
            }
        }
        Ok(())
    }

    /// The earliest day of which nothing is kept any more but what ended late.
    async fn day_that_is_over(
        &self,
        ended_before: Timestamp,
    ) -> Result<Option<KnownDay>, StoreError> {
        let known = on_connection!(self, "prune", |conn| known(conn))?;
        let is_over = |known: &KnownDay| end_of(known.day).plus(DAY_LATE_MAX) <= ended_before;
        Ok(known.into_iter().find(is_over))
    }

    /// Answers how many jobs were deleted, and whether the day is gone.
    async fn drop_day(
        &self,
        day: i32,
        ended_before: Timestamp,
    ) -> Result<(usize, bool), StoreError> {
        on_connection!(self, "prune", |conn| close(conn, day))?;
        let mut deleted = 0;
        for _ in 0..PRUNE_BATCHES_MAX {
            let batch = on_connection!(self, "prune", |conn| async {
                empty(&conn.session(), day, ended_before).await
            })?;
            deleted += batch.deleted;
            if batch.is_last() {
                let mut after = before_day(day);
                while let Some(last) = on_connection!(self, "prune", |conn| async {
                    keep_attempts(&conn.session(), day, after).await
                })? {
                    after = last;
                }
                let rest = on_connection!(self, "prune", |conn| drop_day(conn, day, ended_before))?;
                return Ok((deleted + rest, true));
            }
        }
        Ok((deleted, false))
    }

    /// Deletes what belonged to the jobs of a day that was dropped.
    async fn delete_orphans(&self, day: i32) -> Result<(), StoreError> {
        for sql in [
            include_str!("days/orphan_attempts.sql"),
            include_str!("days/orphan_logs.sql"),
            include_str!("days/orphan_steps.sql"),
        ] {
            let mut after = before_day(day);
            while let Some(last) = on_connection!(self, "prune", |conn| async {
                let params = (before_day(day + 1), row_limit(PRUNE_BATCH_MAX));
                let session = conn.session();
                let rows = session.query(sql, &[&after, &params.0, &params.1]).await?;
                let last = rows.first().map(|row| row.try_get::<_, Key>("last"));
                Ok::<_, DriverError>(last.transpose()?)
            })? {
                after = last;
            }
        }
        on_connection!(self, "prune", |conn| async {
            let sql = include_str!("days/forget.sql");
            conn.session().execute(sql, &[&day]).await
        })
    }
}

/// The number of a day since 1970.
fn day_at(time: Timestamp) -> i32 {
    let days = time.as_micros().div_euclid(micros(DAY));
    i32::try_from(days).unwrap_or(i32::MAX)
}

fn end_of(day: i32) -> Timestamp {
    Timestamp::from_micros((i64::from(day) + 1).saturating_mul(micros(DAY)))
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// An id before all of a day.
fn before_day(day: i32) -> Key {
    let millis = u128::from(day.unsigned_abs()) * DAY.as_millis();
    Key::from(JobId::from_bits((millis << 80).saturating_sub(1)))
}

async fn known(conn: &mut Conn<'_>) -> Result<Vec<KnownDay>, DriverError> {
    let session = conn.session();
    let rows = session.query(include_str!("days/known.sql"), &[]).await?;
    let mut known = Vec::new();
    for row in rows {
        known.push(KnownDay {
            day: row.try_get("day")?,
            is_dropped: row.try_get("is_dropped")?,
        });
    }
    Ok(known)
}

/// Makes the partitions of today and of some days to come, as far as they are missing.
async fn prepare(conn: &mut Conn<'_>, now: Timestamp, ahead: i32) -> Result<(), DriverError> {
    let known = known(conn).await?;
    let today = day_at(now);
    for day in today.max(1)..=today.saturating_add(ahead) {
        if known.iter().all(|known| known.day != day) {
            create(conn, day).await?;
        }
    }
    Ok(())
}

async fn create(conn: &mut Conn<'_>, day: i32) -> Result<(), DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    session.client.batch_execute(LOCK_WAIT).await?;
    let sql = include_str!("days/make.sql");
    session.query_one(sql, &[&day]).await?;
    drop(session);
    transaction.commit().await
}

async fn sweep(conn: &mut Conn<'_>, before: i64) -> Result<usize, DriverError> {
    let (session, limit) = (conn.session(), row_limit(PRUNE_BATCH_MAX));
    let moved = [
        session
            .query_one(include_str!("days/sweep.sql"), &[&before, &limit])
            .await?,
        session
            .query_one(include_str!("days/other_jobs.sql"), &[&limit])
            .await?,
        session
            .query_one(include_str!("days/other_attempts.sql"), &[&limit])
            .await?,
    ];
    let mut most = 0;
    for row in moved {
        let moved = usize::try_from(row.try_get::<_, i64>("moved")?).unwrap_or(0);
        most = most.max(moved);
    }
    Ok(most)
}

async fn close(conn: &mut Conn<'_>, day: i32) -> Result<(), DriverError> {
    let sql = include_str!("days/close.sql");
    conn.session().execute(sql, &[&day]).await
}

/// What was taken out of a day.
struct Batch {
    kept: usize,
    deleted: usize,
}

impl Batch {
    fn is_last(&self) -> bool {
        self.kept.max(self.deleted) < PRUNE_BATCH_MAX
    }
}

/// Moves a batch of jobs out of a day that stay, and deletes one of those that are to be deleted one
/// by one.
async fn empty(
    session: &Session<'_>,
    day: i32,
    ended_before: Timestamp,
) -> Result<Batch, DriverError> {
    let limit = row_limit(PRUNE_BATCH_MAX);
    let since = ended_before.as_micros();
    let sql = include_str!("days/keep_late.sql");
    let row = session.query_one(sql, &[&day, &since, &limit]).await?;
    let mut batch = Batch {
        kept: usize::try_from(row.try_get::<_, i64>("moved")?).unwrap_or(0),
        deleted: 0,
    };
    if batch.is_last() {
        let sql = include_str!("days/referred.sql");
        let mut referred: Vec<JobId> = Vec::new();
        for row in session.query(sql, &[&day, &limit]).await? {
            referred.push(row.try_get::<_, Key>("id")?.job());
        }
        batch.deleted = delete_ended(session, &referred, Some(day)).await?;
    }
    Ok(batch)
}

/// Moves attempts out of a day whose jobs stay: a page of jobs. Answers the last of them.
async fn keep_attempts(
    session: &Session<'_>,
    day: i32,
    after: Key,
) -> Result<Option<Key>, DriverError> {
    let sql = include_str!("days/keep_attempts.sql");
    let (before, limit) = (before_day(day + 1), row_limit(PRUNE_BATCH_MAX));
    let row = session
        .query_one(sql, &[&day, &after, &before, &limit])
        .await?;
    Ok(row.try_get("last")?)
}

/// Drops a day that was emptied of what stays. Answers how many jobs it still had.
async fn drop_day(
    conn: &mut Conn<'_>,
    day: i32,
    ended_before: Timestamp,
) -> Result<usize, DriverError> {
    let transaction = conn.begin().await?;
    let session = transaction.session();
    session.client.batch_execute(LOCK_WAIT).await?;
    let sql = include_str!("days/lock.sql");
    if !session
        .query_one(sql, &[&day])
        .await?
        .try_get("is_locked")?
    {
        return Ok(0);
    }
    // What has changed since, until nobody could change it any more.
    let mut deleted = 0;
    loop {
        let batch = empty(&session, day, ended_before).await?;
        deleted += batch.deleted;
        if batch.is_last() {
            break;
        }
    }
    let mut after = before_day(day);
    while let Some(last) = keep_attempts(&session, day, after).await? {
        after = last;
    }
    session.client.batch_execute(NO_TIMEOUT).await?;
    let sql = include_str!("days/drop.sql");
    let row = session.query_one(sql, &[&day]).await?;
    let jobs = deleted + usize::try_from(row.try_get::<_, i64>("jobs")?).unwrap_or(0);
    drop(session);
    transaction.commit().await?;
    tracing::info!(day, jobs, "dropped the jobs of a day");
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_day_of_an_id_is_that_on_which_it_was_made() {
        let day = DAY.as_micros();
        let day = i64::try_from(day).unwrap();
        for (micros, number) in [(day - 1, 0), (day, 1), (20_000 * day, 20_000)] {
            let time = Timestamp::from_micros(micros);
            assert_eq!(day_at(time), number);
            assert_eq!(Key::from(JobId::new(time, 7)).day(), number);
        }
        for random in [0, u64::MAX] {
            let first = Timestamp::from_micros(20_000 * day);
            let [last, first] = [first.minus(Duration::from_micros(1)), first]
                .map(|at| Key::from(JobId::new(at, random)));
            assert!(last <= before_day(20_000) && before_day(20_000) < first);
        }
        assert_eq!(end_of(0).as_micros(), day);
    }
}
