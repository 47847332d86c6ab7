//! What a node has to look for, because nobody notifies it: jobs that transactions of other programs
//! have stored, and, without a connection that listens, the work of other nodes.
//!
//! A NOTIFY takes a lock over the whole server until its transaction has ended, so a user's transaction
//! leaves a row instead. The node that finds it first deletes it and tells the others. If that node dies
//! before it has told them, they find the job when they next scan all ranges.

use std::{
    sync::Weak,
    time::{Duration, Instant},
};

use tokio::time;

use super::{
    driver_error::DriverError,
    inner::{Inner, on_one_connection},
    session::Session,
};
use crate::{
    limits::{
        POLL_INTERVAL, WAKE_REQUEST_INTERVAL, WAKE_REQUEST_LATE, WAKE_REQUEST_WHOLE_EVERY,
        WAKE_REQUESTS_PER_ROUND,
    },
    wake::WakeReasons,
};

/// Leaves messages to the nodes, which find them when the transaction has committed.
pub(super) const REQUEST: &str = include_str!("poll/wake_request_insert.sql");

/// Goes on until the store is dropped.
pub(super) async fn run(store: Weak<Inner>) {
    let mut position = Position::default();
    loop {
        let Some(store) = store.upgrade() else {
            return;
        };
        if let Err(error) = run_once(&store, &mut position).await {
            tracing::debug!(%error, "wake-ups postponed");
        }
        let pause = match store.listener.listens {
            true => WAKE_REQUEST_INTERVAL,
            false => POLL_INTERVAL,
        };
        drop(store);
        time::sleep(pause).await;
    }
}

async fn run_once(store: &Inner, position: &mut Position) -> Result<(), DriverError> {
    let round = on_one_connection!(store, |conn| async {
        let session = conn.session();
        let now = store.shared.clock.now();
        let requests = take_requests(&session, position).await?;
        store.listener.wake_if_needed(&requests, now);
        if !store.listener.listens {
            let mut found = store.shared.due.poll(&session).await?;
            found.schedule_waits();
            store.listener.waker.wake_for(&found, now);
        }
        Ok::<_, DriverError>(())
    });
    round.await
}

/// Takes the messages of transactions that have committed.
async fn take_requests(
    session: &Session<'_>,
    position: &mut Position,
) -> Result<WakeReasons, DriverError> {
    let mut reasons = WakeReasons::default();
    let sql = include_str!("poll/wake_requests_take.sql");
    loop {
        let after = position.begin(Instant::now());
        let rows = session
            .query(sql, &[&after, &WAKE_REQUESTS_PER_ROUND])
            .await?;
        for row in &rows {
            position.seen = position.seen.max(row.try_get("id")?);
            if let Some(message) = WakeReasons::from_message(row.try_get("message")?) {
                reasons.add(&message);
            }
        }
        if rows.len() < usize::try_from(WAKE_REQUESTS_PER_ROUND).unwrap_or(usize::MAX) {
            return Ok(reasons);
        }
    }
}

/// Where to look for rows. While another session holds an old snapshot, the entries of deleted rows
/// stay in the index, and a search from the beginning would walk over all of them each time.
#[derive(Default)]
struct Position {
    /// Rows up to here were seen a while ago. A transaction that took its number before that may still
    /// be running, so a search begins at the beginning now and then.
    after: i64,
    /// The same for the next while.
    next: i64,
    seen: i64,
    raised: Option<Instant>,
    whole: Option<Instant>,
}

impl Position {
    fn begin(&mut self, now: Instant) -> i64 {
        let is_due = |last: Option<Instant>, every: Duration| {
            last.is_none_or(|last| now.saturating_duration_since(last) >= every)
        };
        if is_due(self.raised, WAKE_REQUEST_LATE) {
            (self.after, self.next) = (self.next, self.seen);
            self.raised = Some(now);
        }
        if is_due(self.whole, WAKE_REQUEST_WHOLE_EVERY) {
            self.whole = Some(now);
            return 0;
        }
        self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_searched_from_where_all_were_seen_a_while_ago() {
        let mut position = Position::default();
        let start = Instant::now();
        let mut begin = |after: Duration, seen| {
            let found = position.begin(start + after);
            position.seen = seen;
            found
        };
        assert_eq!(begin(Duration::ZERO, 10), 0, "the first");
        assert_eq!(begin(WAKE_REQUEST_LATE / 2, 20), 0);
        assert_eq!(begin(WAKE_REQUEST_LATE, 30), 0, "20 may have been passed");
        assert_eq!(begin(WAKE_REQUEST_LATE * 3 / 2, 40), 0);
        assert_eq!(begin(WAKE_REQUEST_LATE * 2, 50), 20);
        assert_eq!(begin(WAKE_REQUEST_LATE * 3, 60), 40);
        assert_eq!(begin(WAKE_REQUEST_WHOLE_EVERY, 60), 0, "all of them");
    }
}
