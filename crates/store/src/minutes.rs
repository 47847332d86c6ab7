//! The minutes in which attempts are counted.

use steadfast_core::Timestamp;

const MICROS_PER_MINUTE: i64 = 60_000_000; // not a limit: a unit

/// The number of the minute that a time lies in.
pub(crate) fn minute(time: Timestamp) -> i64 {
    time.as_micros() / MICROS_PER_MINUTE
}

/// When a minute began.
pub(crate) fn minute_start(minute: i64) -> Timestamp {
    Timestamp::from_micros(minute.saturating_mul(MICROS_PER_MINUTE))
}
