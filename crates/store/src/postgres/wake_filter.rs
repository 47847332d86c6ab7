//! What sleepers were told, and so whether news would wake them for nothing.
//!
//! Whoever claims is told when to look again and sleeps until then. A job that waits for a
//! later time than any sleeper was told of need not wake anybody: they will be told of it when
//! they look. This is known only for the sleepers of this node; the others find the job when
//! they next look by themselves.

use std::sync::{Mutex, MutexGuard, PoisonError};

use steadfast_core::Timestamp;

/// What a write may have made due sooner.
#[derive(Default)]
pub(super) struct WakeHints {
    earliest: Option<Timestamp>,
    concerns_everybody: bool,
}

impl WakeHints {
    /// A job waits that did not, or not for this time.
    pub(super) fn waits(&mut self, run_at: Timestamp) {
        self.earliest = Some(self.earliest.map_or(run_at, |known| known.min(run_at)));
    }

    /// Something changed that has no time, or whose time only the sleepers know.
    pub(super) fn for_everybody(&mut self) {
        self.concerns_everybody = true;
    }
}

pub(super) struct WakeFilter(Mutex<State>);

struct State {
    /// The latest time that anybody may be sleeping for.
    latest: Timestamp,
    /// How many are looking just now; what they will be told is not known.
    looking: usize,
}

impl Default for WakeFilter {
    fn default() -> Self {
        Self(Mutex::new(State {
            latest: Timestamp::MAX,
            looking: 0,
        }))
    }
}

impl WakeFilter {
    pub(super) fn looks(&self) -> Look<'_> {
        self.lock().looking += 1;
        Look {
            told: self,
            next_due: Some(Timestamp::MAX),
        }
    }

    /// Whether a sleeper may have to be woken.
    pub(super) fn matters(&self, news: &WakeHints, now: Timestamp) -> bool {
        let state = self.lock();
        let is_earlier = news
            .earliest
            .is_some_and(|run_at| run_at <= now || run_at < state.latest || state.looking > 0);
        news.concerns_everybody || is_earlier
    }

    /// Everybody is awake, and will be told anew.
    pub(super) fn forget(&self) {
        self.lock().latest = Timestamp::EPOCH;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Someone is looking for jobs. A look that comes to nothing counts as if all had been told
/// that nothing waits.
pub(super) struct Look<'t> {
    told: &'t WakeFilter,
    next_due: Option<Timestamp>,
}

impl Look<'_> {
    pub(super) fn was_told(mut self, next_due: Option<Timestamp>) {
        self.next_due = next_due;
    }
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut state = self.told.lock();
        state.looking -= 1;
        state.latest = state.latest.max(self.next_due.unwrap_or(Timestamp::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn matters(told: &WakeFilter, run_at: i64) -> bool {
        let mut news = WakeHints::default();
        news.waits(at(run_at));
        told.matters(&news, at(1_000))
    }

    #[test]
    fn only_times_before_the_latest_that_was_told_matter() {
        let told = WakeFilter::default();
        assert!(matters(&told, 9_000), "nobody has been told anything");
        told.forget();
        told.looks().was_told(Some(at(5_000)));
        told.looks().was_told(Some(at(3_000)));
        assert!(matters(&told, 4_000));
        assert!(!matters(&told, 5_000));
        told.looks().was_told(None);
        assert!(matters(&told, 5_000));
    }

    #[test]
    fn what_is_due_always_matters() {
        let told = WakeFilter::default();
        told.forget();
        assert!(matters(&told, 1_000));
        assert!(!matters(&told, 1_001));
    }

    #[test]
    fn everything_matters_to_one_who_is_looking() {
        let told = WakeFilter::default();
        told.forget();
        let look = told.looks();
        assert!(matters(&told, 9_000));
        look.was_told(Some(at(2_000)));
        assert!(!matters(&told, 9_000));
    }
}
