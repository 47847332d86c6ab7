//! How long commits take. While they take too long, requests that create jobs would fill the memory of
//! the node, and only add to what the store has to do.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::limits::STORE_SLOW_AFTER;

/// Measures commits. One that is fast enough shows that the store is not slow, whatever others take: they
/// may wait for a lock.
#[derive(Debug)]
pub(crate) struct StoreMeter {
    /// A commit may take this long; zero if none is too slow.
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// When each commit began that has not ended.
    running: BTreeMap<u64, Instant>,
    last_fast: Option<Instant>,
    slow_since: Option<Instant>,
}

/// A commit that has begun.
pub(crate) struct CommitTimer<'m> {
    meter: &'m StoreMeter,
    number: u64,
}

impl StoreMeter {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) fn begin(&self) -> CommitTimer<'_> {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.running.insert(number, Instant::now());
        CommitTimer {
            meter: self,
            number,
        }
    }

    /// For how long commits have taken too long, if they have for long enough.
    pub(crate) fn slow_for(&self) -> Option<Duration> {
        self.lock().slow_for(self.limit, Instant::now())
    }

    /// The same, but while no commit is under way: another one may show that the store has recovered.
    pub(crate) fn refuses(&self) -> Option<Duration> {
        let state = self.lock();
        let is_measured = !state.running.is_empty();
        let slow_for = state.slow_for(self.limit, Instant::now());
        slow_for.filter(|_| is_measured)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn slow_for(&self, limit: Duration, now: Instant) -> Option<Duration> {
        if limit.is_zero() {
            return None;
        }
        // Those that have not ended are at least this slow.
        let oldest = self.running.values().min();
        let late = oldest.map(|begun| *begun + limit).filter(|at| *at <= now);
        let late = late.map(|at| self.last_fast.map_or(at, |fast| fast.max(at)));
        let since = [self.slow_since, late].into_iter().flatten().min()?;
        let slow_for = now - since;
        (slow_for >= STORE_SLOW_AFTER).then_some(slow_for)
    }

    fn end(&mut self, number: u64, limit: Duration, now: Instant) {
        let Some(begun) = self.running.remove(&number) else {
            return;
        };
        if now - begun <= limit {
            self.last_fast = Some(now);
            self.slow_since = None;
            return;
        }
        let late = begun + limit;
        let late = self.last_fast.map_or(late, |fast| fast.max(late));
        self.slow_since.get_or_insert(late);
    }
}

impl CommitTimer<'_> {
    /// The store has answered.
    pub(crate) fn done(self) {
        let (meter, now) = (self.meter, Instant::now());
        meter.lock().end(self.number, meter.limit, now);
    }
}

/// One that failed, or whose caller has left, says nothing of how long commits take.
impl Drop for CommitTimer<'_> {
    fn drop(&mut self) {
        self.meter.lock().running.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(2);
    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn commits_that_stay_slow_are_found_and_one_that_is_fast_ends_it() {
        let meter = StoreMeter::new(LIMIT);
        assert_eq!(meter.slow_for(), None);
        let mut slow_for = Vec::new();
        for _ in 0..5 {
            let timer = meter.begin();
            advance(3 * SECOND).await;
            timer.done();
            slow_for.push(meter.slow_for().map(|time| time.as_secs()));
        }
        // From the end of what the first one might take.
        assert_eq!(slow_for, [None, None, None, Some(10), Some(13)]);
        assert_eq!(meter.refuses(), None, "one may show that it has recovered");
        let timer = meter.begin();
        assert_eq!(meter.refuses(), Some(13 * SECOND));
        advance(LIMIT).await;
        timer.done();
        assert_eq!((meter.slow_for(), meter.refuses()), (None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_answer_is_slow() {
        let meter = StoreMeter::new(LIMIT);
        let _timer = meter.begin();
        advance(LIMIT + STORE_SLOW_AFTER - Duration::from_millis(1)).await;
        assert_eq!(meter.refuses(), None);
        advance(Duration::from_millis(1)).await;
        assert_eq!(meter.refuses(), Some(STORE_SLOW_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_that_waits_for_a_lock_makes_no_store_slow() {
        let meter = StoreMeter::new(LIMIT);
        let blocked = meter.begin();
        for _ in 0..30 {
            advance(SECOND).await;
            meter.begin().done();
            assert_eq!(meter.refuses(), None);
        }
        drop(blocked);
        assert_eq!(meter.slow_for(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_commit_that_failed_shows_nothing() {
        let meter = StoreMeter::new(LIMIT);
        let _stuck = meter.begin();
        for _ in 0..11 {
            advance(SECOND).await;
            drop(meter.begin());
        }
        assert_eq!(meter.slow_for(), Some(9 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_limit_no_store_is_slow() {
        let meter = StoreMeter::new(Duration::ZERO);
        let _timer = meter.begin();
        advance(100 * SECOND).await;
        assert_eq!(meter.slow_for(), None);
    }
}
