//! Retention: small batches, so that no transaction waits long for a lock or for vacuum.

use steadfast_core::{Timestamp, limits};

use super::{counts, driver_error::DriverError, session::Session};
use crate::{
    limits::{MINUTES_KEPT, PRUNE_BATCH_MAX, PRUNE_BATCHES_MAX},
    minutes::minute,
    sql::paging::row_limit,
};

pub(super) async fn prune(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<usize, DriverError> {
    let keyed_before = now.minus(limits::DAY).as_micros();
    let sql = include_str!("sql/prune.sql");
    let mut pruned = 0;
    while pruned < limit {
        let batch = PRUNE_BATCH_MAX.min(limit - pruned);
        let row = session
            .query_one(
                sql,
                &[&ended_before.as_micros(), &keyed_before, &row_limit(batch)],
            )
            .await?;
        let deleted = usize::try_from(row.try_get::<_, i64>("deleted")?).unwrap_or(0);
        pruned += deleted;
        if deleted < batch {
            break;
        }
    }
    delete_ticks_and_minutes(session, ended_before, limit, now).await?;
    Ok(pruned)
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
    let oldest = minute(ended_before.min(now.minus(MINUTES_KEPT)));
    for (sql, before) in [
        (
            include_str!("sql/prune_ticks.sql"),
            ended_before.as_micros(),
        ),
        (include_str!("sql/prune_minutes.sql"), oldest),
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
