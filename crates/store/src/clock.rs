//! The only place that asks the time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use steadfast_core::Timestamp;

/// What a store takes its time from.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::EPOCH.plus(since_epoch)
    }
}

/// A clock that stands still until a test moves it. Clones show the same time.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows this time.
    pub fn new(start: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(start.as_micros())))
    }

    /// Moves it forward. Answers with the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let later = |now| Some(Timestamp::from_micros(now).plus(by).as_micros());
        let order = Ordering::SeqCst;
        let before = self.0.fetch_update(order, order, later);
        Timestamp::from_micros(before.unwrap_or_else(|now| now)).plus(by)
    }

    /// Sets the time, which may also go backwards, as real clocks do.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_micros(), Ordering::SeqCst);
    }
}

/// Starts at 2026-01-01T00:00:00Z, a round time that reads well in failed assertions.
impl Default for ManualClock {
    fn default() -> Self {
        Self::new(Timestamp::from_millis(1_767_225_600_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}
