//! What a store does now and then in the background: it measures the database's clock again,
//! moves changes of counts into the totals and failures into their groups, looks where jobs wait if
//! claims have left that to it, and recounts attempts at gates that were set meanwhile.

use std::{sync::Weak, time::Instant};

use tokio::time;

use super::{
    claim, counts,
    driver_error::DriverError,
    failures,
    inner::{Inner, on_one_connection},
    servers::CHECK_WRITABLE,
    session::Session,
};
use crate::limits::{RECOUNT_INTERVAL, UPKEEP_INTERVAL};

/// Goes on until the store is dropped.
pub(super) async fn run(store: Weak<Inner>) {
    let mut ticks = time::interval(UPKEEP_INTERVAL);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    let mut recounted = None;
    loop {
        ticks.tick().await;
        let Some(store) = store.upgrade() else {
            return;
        };
        if let Err(error) = run_once(&store, &mut recounted).await {
            tracing::debug!(%error, "maintenance postponed");
        }
    }
}

async fn run_once(store: &Inner, recounted: &mut Option<Instant>) -> Result<(), DriverError> {
    let round = on_one_connection!(store, |conn| async {
        measure_clock(&conn.session()).await?;
        counts::fold(&conn.session()).await?;
        failures::fold(conn).await?;
        store
            .shared
            .due
            .refresh_in_background(&conn.session())
            .await?;
        if recounted.is_none_or(|at| at.elapsed() >= RECOUNT_INTERVAL) {
            *recounted = Some(Instant::now());
            counts::fold_past(&conn.session()).await?;
            claim::uncount_ended(&conn.session()).await?;
        }
        Ok::<_, DriverError>(())
    });
    round.await
}

/// Commits a message that no program reads.
pub(super) async fn check_writable(session: &Session<'_>) -> Result<(), DriverError> {
    let row = session.query_one(CHECK_WRITABLE, &[]).await?;
    let position: Option<String> = row.try_get("position")?;
    position.map(drop).ok_or(DriverError::ReadOnly)
}

/// Asks the database what time it is.
pub(super) async fn measure_clock(session: &Session<'_>) -> Result<(), DriverError> {
    let clock = &session.shared.clock;
    let asked = Instant::now();
    let row = session
        .query_one(include_str!("upkeep/time.sql"), &[&clock.given()])
        .await?;
    clock.learn(row.try_get("now")?, asked);
    Ok(())
}
