//! The database's time, for those who cannot wait for an answer.
//!
//! Whatever decides is decided by the clock of the database, inside its statements. Handlers
//! that end, and people who look, ask this node instead: it knows how far the database's clock
//! was from a local clock that nobody sets, measured again and again. The machine's own time
//! of day is never asked, so it may be wrong by an hour.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::Timestamp;

use crate::Clock;

/// A measurement is trusted less as it ages: clocks drift apart by up to this share.
const DRIFT: f64 = 0.001;

pub(super) struct Time {
    /// In place of the database's, for tests.
    given: Option<Arc<dyn Clock>>,
    measured: Mutex<Measured>,
}

#[derive(Clone, Copy)]
struct Measured {
    database: Timestamp,
    at: Instant,
    /// How long the question and its answer took, which bounds the error.
    took: Duration,
}

impl Time {
    /// Starts without a measurement: whoever opens a store takes one first.
    pub(super) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self {
            given,
            measured: Mutex::new(Measured {
                database: Timestamp::EPOCH,
                at: Instant::now(),
                took: Duration::MAX,
            }),
        }
    }

    /// What statements are told: a time, or nothing where the database is to look itself.
    pub(super) fn given(&self) -> Option<i64> {
        self.given.as_ref().map(|clock| clock.now().as_micros())
    }

    pub(super) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let measured = *self.lock();
        measured.database.plus(measured.at.elapsed())
    }

    /// Takes note of a time in an answer to what was asked at `asked`.
    pub(super) fn learn(&self, database: i64, asked: Instant) {
        if self.given.is_some() {
            return;
        }
        let took = asked.elapsed();
        let mut measured = self.lock();
        let aged = measured.at.elapsed().mul_f64(DRIFT);
        if took <= measured.took.saturating_add(aged) {
            *measured = Measured {
                database: Timestamp::from_micros(database),
                at: asked + took / 2,
                took,
            };
        }
    }

    /// The next measurement counts whatever it took: this is another server, perhaps.
    pub(super) fn doubt(&self) {
        self.lock().took = Duration::MAX;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
