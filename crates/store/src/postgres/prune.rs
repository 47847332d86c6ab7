//! Retention: small batches, so that no transaction waits long for a lock or for vacuum.

use steadfast_core::{Timestamp, limits};

use super::{driver_error::DriverError, session::Session};
use crate::{
    limits::{MINUTES_KEPT, PRUNE_BATCH_MAX},
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

async fn delete_ticks_and_minutes(
    session: &Session<'_>,
    ended_before: Timestamp,
    limit: usize,
    now: Timestamp,
) -> Result<(), DriverError> {
    let sql = include_str!("sql/prune_ticks.sql");
    session
        .execute(sql, &[&ended_before.as_micros(), &row_limit(limit)])
        .await?;
    let oldest = minute(ended_before.min(now.minus(MINUTES_KEPT)));
    let sql = include_str!("sql/prune_minutes.sql");
    session.execute(sql, &[&oldest, &row_limit(limit)]).await
}
