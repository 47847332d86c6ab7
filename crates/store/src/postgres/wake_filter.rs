//! Which changes are worth a wake-up.
//!
//! A claim learns when to look again, and its fetcher waits until then. A job that waits for a
//! later time than any fetcher does need not wake one: they find it when they next look. Only
//! the fetchers of this node are known; those of other nodes find the job when they next look
//! by themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use steadfast_core::Timestamp;

/// What a write may have made due sooner.
#[derive(Default)]
pub(super) struct WakeHints {
    earliest: Option<Timestamp>,
    wake_all: bool,
}

impl WakeHints {
    /// A job waits for this time that did not before.
    pub(super) fn job_waits(&mut self, run_at: Timestamp) {
        self.earliest = Some(self.earliest.map_or(run_at, |known| known.min(run_at)));
    }

    /// Something changed that has no time, such as a pause that ended.
    pub(super) fn wake_all(&mut self) {
        self.wake_all = true;
    }
}

pub(super) struct WakeFilter(Mutex<FilterState>);

struct FilterState {
    /// The latest time that a fetcher may be waiting for.
    latest: Timestamp,
    /// How many searches are under way; what they will find is not known.
    searches: usize,
}

impl Default for WakeFilter {
    fn default() -> Self {
        Self(Mutex::new(FilterState {
            latest: Timestamp::MAX,
            searches: 0,
        }))
    }
}

impl WakeFilter {
    /// A fetcher looks for jobs.
    pub(super) fn begin_search(&self) -> Search<'_> {
        self.lock().searches += 1;
        Search {
            filter: self,
            next_due: Some(Timestamp::MAX),
        }
    }

    /// Whether a waiting fetcher may have to be woken.
    pub(super) fn needs_wake(&self, hints: &WakeHints, now: Timestamp) -> bool {
        let state = self.lock();
        let is_earlier = hints
            .earliest
            .is_some_and(|run_at| run_at <= now || run_at < state.latest || state.searches > 0);
        hints.wake_all || is_earlier
    }

    /// All fetchers are awake, and will look again.
    pub(super) fn reset(&self) {
        self.lock().latest = Timestamp::EPOCH;
    }

    fn lock(&self) -> MutexGuard<'_, FilterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A search for jobs that is under way. One that fails counts as if it had found that no job
/// waits.
pub(super) struct Search<'f> {
    filter: &'f WakeFilter,
    next_due: Option<Timestamp>,
}

impl Search<'_> {
    /// The fetcher now waits until this time.
    pub(super) fn finish(mut self, next_due: Option<Timestamp>) {
        self.next_due = next_due;
    }
}

impl Drop for Search<'_> {
    fn drop(&mut self) {
        let mut state = self.filter.lock();
        state.searches -= 1;
        state.latest = state.latest.max(self.next_due.unwrap_or(Timestamp::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn needs_wake(filter: &WakeFilter, run_at: i64) -> bool {
        let mut hints = WakeHints::default();
        hints.job_waits(at(run_at));
        filter.needs_wake(&hints, at(1_000))
    }

    #[test]
    fn only_times_before_the_latest_that_a_fetcher_waits_for_need_a_wake() {
        let filter = WakeFilter::default();
        assert!(needs_wake(&filter, 9_000), "no fetcher has looked yet");
        filter.reset();
        filter.begin_search().finish(Some(at(5_000)));
        filter.begin_search().finish(Some(at(3_000)));
        assert!(needs_wake(&filter, 4_000));
        assert!(!needs_wake(&filter, 5_000));
        filter.begin_search().finish(None);
        assert!(needs_wake(&filter, 5_000));
    }

    #[test]
    fn a_job_that_is_due_always_needs_a_wake() {
        let filter = WakeFilter::default();
        filter.reset();
        assert!(needs_wake(&filter, 1_000));
        assert!(!needs_wake(&filter, 1_001));
    }

    #[test]
    fn every_time_needs_a_wake_while_a_search_is_under_way() {
        let filter = WakeFilter::default();
        filter.reset();
        let search = filter.begin_search();
        assert!(needs_wake(&filter, 9_000));
        search.finish(Some(at(2_000)));
        assert!(!needs_wake(&filter, 9_000));
    }
}
