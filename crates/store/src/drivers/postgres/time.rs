//! The database's time, for callers that cannot wait for an answer.
//!
//! Decisions are made by the clock of the database, inside its statements. Handlers that end,
//! and people who look, ask this node instead: it knows how far the database's clock was from
//! the local monotonic clock, measured again and again. The machine's own time of day is never
//! asked, so it may be wrong by an hour.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use steadfast_core::Timestamp;

use crate::{clock::Clock, limits::CLOCK_DRIFT_MAX};

pub(super) struct DatabaseClock {
    /// In place of the database's, for tests.
    given: Option<Arc<dyn Clock>>,
    measurement: Mutex<Measurement>,
}

#[derive(Clone, Copy)]
struct Measurement {
    database: Timestamp,
    at: Instant,
    /// How long the query took, which bounds the error.
    took: Duration,
}

impl DatabaseClock {
    /// Starts without a measurement; opening a store takes one first.
    pub(super) fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self {
            given,
            measurement: Mutex::new(Measurement {
                database: Timestamp::EPOCH,
                at: Instant::now(),
                took: Duration::MAX,
            }),
        }
    }

    /// The parameter of statements: a time, or null for the database's own.
    pub(super) fn given(&self) -> Option<i64> {
        self.given.as_ref().map(|clock| clock.now().as_micros())
    }

    pub(super) fn now(&self) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        let measurement = *self.lock();
        measurement.database.plus(measurement.at.elapsed())
    }

    /// Takes note of a time in the answer to a query that was sent at `asked`.
    pub(super) fn learn(&self, database: i64, asked: Instant) {
        if self.given.is_some() {
            return;
        }
        let took = asked.elapsed();
        let mut last = self.lock();
        let drift = last.at.elapsed().mul_f64(CLOCK_DRIFT_MAX);
        if took <= last.took.saturating_add(drift) {
            *last = Measurement {
                database: Timestamp::from_micros(database),
                at: asked + took / 2,
                took,
            };
        }
    }

    /// The next measurement counts, however long it takes: this may be another server.
    pub(super) fn invalidate(&self) {
        self.lock().took = Duration::MAX;
    }

    fn lock(&self) -> MutexGuard<'_, Measurement> {
        self.measurement
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
