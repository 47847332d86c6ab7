//! Retention: small batches, so that nothing waits long for a lock or for vacuum.

use steadfast_core::{Timestamp, limits};

use super::{fault::Fault, rows::limit, session::Session};
use crate::columns::minute;

/// Counts by the minute are asked for over days at most.
const MINUTES_KEPT: std::time::Duration = std::time::Duration::from_secs(32 * 24 * 60 * 60);
/// How many jobs one transaction deletes.
const BATCH_MAX: usize = 500;

pub(super) async fn prune(
    session: &Session<'_>,
    ended_before: Timestamp,
    most: usize,
    now: Timestamp,
) -> Result<usize, Fault> {
    let mut pruned = 0;
    for sql in [
        include_str!("sql/prune_ended.sql"),
        include_str!("sql/prune_discarded.sql"),
    ] {
        pruned += prune_all(session, sql, ended_before, most - pruned, now).await?;
    }
    forget_times(session, ended_before, most, now).await?;
    Ok(pruned)
}

async fn prune_all(
    session: &Session<'_>,
    sql: &'static str,
    ended_before: Timestamp,
    most: usize,
    now: Timestamp,
) -> Result<usize, Fault> {
    let keyed_before = now.minus(limits::DAY).as_micros();
    let mut pruned = 0;
    while pruned < most {
        let batch = BATCH_MAX.min(most - pruned);
        let row = session
            .query_one(
                sql,
                &[&ended_before.as_micros(), &keyed_before, &limit(batch)],
            )
            .await?;
        let gone = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(0);
        pruned += gone;
        if gone < batch {
            break;
        }
    }
    Ok(pruned)
}

async fn forget_times(
    session: &Session<'_>,
    ended_before: Timestamp,
    most: usize,
    now: Timestamp,
) -> Result<(), Fault> {
    let sql = include_str!("sql/prune_ticks.sql");
    session
        .execute(sql, &[&ended_before.as_micros(), &limit(most)])
        .await?;
    let oldest = minute(ended_before.min(now.minus(MINUTES_KEPT)));
    let sql = include_str!("sql/prune_minutes.sql");
    session.execute(sql, &[&oldest, &limit(most)]).await
}
