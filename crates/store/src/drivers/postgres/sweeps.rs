//! Where running jobs begin in the index of leases.
//!
//! Every attempt leaves a dead entry there. While an old snapshot is held, none of them can be
//! removed, and a look at all of them would take longer each time.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::Timestamp;

use crate::limits::{LEASE_COMMIT_MARGIN, LEASES_WHOLE_EVERY, WHOLE_LOOK_COST_FACTOR};

#[derive(Default)]
pub(super) struct Sweeps(Mutex<SweepState>);

#[derive(Default)]
struct SweepState {
    /// No living row has a lease that ends earlier.
    low: Option<Timestamp>,
    /// The time of the last look.
    now: Option<Timestamp>,
    whole: Option<LastWholeLook>,
}

struct LastWholeLook {
    at: Instant,
    took: Duration,
}

impl Sweeps {
    /// From where to look: now and then from the beginning, in case a lease was committed late or
    /// the clock was set back.
    pub(super) fn low(&self, now: Timestamp) -> Timestamp {
        let state = self.lock();
        let is_whole_due = state.whole.as_ref().is_none_or(|last| {
            let wait = LEASES_WHOLE_EVERY.max(last.took * WHOLE_LOOK_COST_FACTOR);
            last.at.elapsed() >= wait
        });
        let is_back = state.now.is_some_and(|known| now < known);
        match state.low {
            Some(low) if !is_whole_due && !is_back => low,
            _ => Timestamp::EPOCH,
        }
    }

    /// What a look from there has found: the lease that ended first, if any has.
    pub(super) fn note(
        &self,
        low: Timestamp,
        first: Option<Timestamp>,
        now: Timestamp,
        took: Duration,
    ) {
        let mut state = self.lock();
        let latest = now.minus(LEASE_COMMIT_MARGIN);
        state.low = Some(first.map_or(latest, |first| first.min(latest)));
        state.now = Some(now);
        if low == Timestamp::EPOCH {
            state.whole = Some(LastWholeLook {
                at: Instant::now(),
                took,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, SweepState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_micros(minutes * 60_000_000)
    }

    #[test]
    fn what_has_ended_is_not_walked_over_again() {
        let sweeps = Sweeps::default();
        assert_eq!(sweeps.low(at(10)), Timestamp::EPOCH, "nothing is known");
        sweeps.note(Timestamp::EPOCH, None, at(10), Duration::ZERO);
        let low = sweeps.low(at(11));
        assert_eq!(low, at(10).minus(LEASE_COMMIT_MARGIN));
        // What was found is found again until it is settled.
        sweeps.note(low, Some(low), at(12), Duration::ZERO);
        assert_eq!(sweeps.low(at(13)), low);
        sweeps.note(low, None, at(13), Duration::ZERO);
        assert_eq!(sweeps.low(at(14)), at(13).minus(LEASE_COMMIT_MARGIN));
    }

    #[test]
    fn a_clock_that_was_set_back_makes_it_look_anew() {
        let sweeps = Sweeps::default();
        sweeps.note(Timestamp::EPOCH, None, at(10), MINUTE);
        assert_eq!(sweeps.low(at(9)), Timestamp::EPOCH);
        assert_ne!(sweeps.low(at(10)), Timestamp::EPOCH);
    }
}
