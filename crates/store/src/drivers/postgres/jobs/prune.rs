//! Retention: small batches, so that no transaction waits long for a lock or for vacuum.

use steadfast_core::{JobId, Timestamp, limits};

use crate::drivers::postgres::{
    counts,
    driver_error::DriverError,
    failures,
    key::Key,
    session::{Conn, Session},
};
use crate::{
    drivers::sql::{
        paging::row_limit,
        prune_position::{PruneFinding, PrunePosition, PruneRange},
    },
    limits::{DAYS_KEPT_MIN, MINUTES_KEPT, PRUNE_BATCH_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
};

pub(crate) async fn prune(
    conn: &mut Conn<'_>,
    ended_before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<usize, DriverError> {
    // A dead letter that was taken away may still be counted.
    failures::fold(conn).await?;
    let session = &conn.session();
    let mut position = session.shared.pruned_to().at(now);
    let mut is_recent = false;
    let mut pruned = 0;
    while pruned < limit {
        let range = match is_recent {
            false => Some(PrunePosition::old(ended_before, now)),
            true => position.recent(ended_before, now),
        };
        let Some(range) = range else {
            break;
        };
        let batch = PRUNE_BATCH_MAX.min(limit - pruned);
        let (deleted, found) = delete_jobs(session, range, batch, now).await?;
        pruned += deleted;
        if is_recent {
            position.advance(range, found, now);
        }
        if !found.is_full && std::mem::replace(&mut is_recent, true) {
            break;
        }
    }
    *session.shared.pruned_to() = position;
    delete_ticks_and_minutes(session, ended_before, limit, now).await?;
    Ok(pruned)
}

/// Deletes one batch of jobs. Answers how many it was, and how far that is.
async fn delete_jobs(
    session: &Session<'_>,
    range: PruneRange,
    batch: usize,
    now: Timestamp,
) -> Result<(usize, PruneFinding), DriverError> {
    let keyed_before = now.minus(limits::DAY).as_micros();
    // What is kept for days is dropped day by day. The rest is what no day has.
    let is_by_day = now.since(Timestamp::from_micros(range.before)) >= DAYS_KEPT_MIN;
    let last_day = is_by_day.then_some(0_i32);
    let row = session
        .query_one(
            include_str!("prune/prune.sql"),
            &[
                &range.before,
                &keyed_before,
                &row_limit(batch),
                &range.ended_from,
                &range.discarded_from,
                &last_day,
            ],
        )
        .await?;
    let deleted = usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0);
    let found = PruneFinding {
        is_full: deleted >= batch,
        last_ended: row.try_get("last_ended")?,
        last_discarded: row.try_get("last_discarded")?,
    };
    Ok((deleted, found))
}

/// Deletes these jobs, if they are in the partition of a day, or wherever they are. Answers how many.
pub(crate) async fn delete_ended(
    session: &Session<'_>,
    ids: &[JobId],
    day: Option<i32>,
) -> Result<usize, DriverError> {
    if ids.is_empty() {
        return Ok(0);
    }
    let keys: Vec<Key> = ids.iter().map(|id| Key::from(*id)).collect();
    let sql = include_str!("prune/erase.sql");
    let row = session.query_one(sql, &[&keys, &day]).await?;
    Ok(usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0))
}

/// In short transactions, so that none waits long for a lock or for vacuum.
async fn delete_ticks_and_minutes(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<(), DriverError> {
    // What was counted long ago and not moved since would come back as an old minute.
    counts::fold(session).await?;
    counts::fold_past(session).await?;
    let oldest = ended_before.min(now.minus(MINUTES_KEPT));
    for (sql, before) in [
        (
            include_str!("prune/prune_ticks.sql"),
            ended_before.as_micros(),
        ),
        (include_str!("prune/prune_minutes.sql"), minute(oldest)),
        (include_str!("prune/prune_failures.sql"), oldest.as_micros()),
    ] {
        for _ in 0..PRUNE_BATCHES_MAX {
            let row = session
                .query_one(sql, &[&before, &row_limit(limit)])
                .await?;
            let deleted = usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0);
            if deleted < limit.max(1) {
                break;
            }
        }
    }
    Ok(())
}
