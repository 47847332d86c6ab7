//! What a store does now and then without being asked: it measures the database's clock again,
//! and moves changes of counts into the totals.

use std::{
    sync::Weak,
    time::{Duration, Instant},
};

use tokio::time;

use super::{Inner, counts, fault::Fault, session::Session};

const EVERY: Duration = Duration::from_secs(5);

/// Goes on until the store is gone.
pub(super) async fn run(store: Weak<Inner>) {
    let mut ticks = time::interval(EVERY);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(store) = store.upgrade() else {
            return;
        };
        if let Err(fault) = once(&store).await {
            tracing::debug!(%fault, "upkeep has to wait");
        }
    }
}

async fn once(store: &Inner) -> Result<(), Fault> {
    let conn = store.conn().await?;
    let session = conn.session();
    measure(&session).await?;
    counts::fold(&session).await
}

/// Asks the database what time it is.
pub(super) async fn measure(session: &Session<'_>) -> Result<(), Fault> {
    let time = &session.shared.time;
    let asked = Instant::now();
    let row = session
        .query_one(include_str!("sql/time.sql"), &[&time.given()])
        .await?;
    time.learn(row.try_get(0)?, asked);
    Ok(())
}
