//! Every limit of the product's data, with its reason.
//!
//! Limits are checked where a value is built, so that nothing past a constructor needs to
//! check again.

use std::{ops::RangeInclusive, time::Duration};

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Past a hundred tries a job is not being retried, it is being polled.
pub const MAX_RETRIES: u32 = 100;
/// A delay longer than a month outlives the people who set it.
pub const DELAY_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Whoever wants to go on for longer than a year can leave it out.
pub const ELAPSED_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// A server must not be able to park a job for a day with one header.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);
pub const FACTOR_MIN: f64 = 1.0;
pub const FACTOR_MAX: f64 = 10.0;
/// Long enough for any hand-written timetable; the last entry repeats anyway.
pub const DELAYS_MAX: usize = MAX_RETRIES as usize;
/// Rules are tried in order on every failure.
pub const RULES_MAX: usize = 32;
/// Classes or statuses of one rule; more are better written as a range.
pub const RULE_CHOICES_MAX: usize = 32;
pub const PATTERN_BYTES_MAX: usize = 256;

/// Snoozes are not counted as attempts, so they need a bound of their own.
pub const SNOOZES_MAX: u32 = 1_000;

pub const PRIORITY_MAX: u8 = 9;
pub const PRIORITY_DEFAULT: u8 = 5;
/// Names become index keys, metric labels and log fields.
pub const NAME_BYTES_MAX: usize = 128;
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// A payload describes work; bulk data belongs in a store of its own.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
pub const TAGS_MAX: usize = 32;
pub const TAG_BYTES_MAX: usize = 256;
/// One transaction holds a whole bulk request.
pub const BULK_JOBS_MAX: usize = 1_000;

/// One attempt's outbox is written in one transaction with its outcome.
pub const OUTBOX_MAX: usize = 1_000;

/// Keys of one endpoint that sign at once; more make headers that receivers refuse.
pub const ENDPOINT_SECRETS_MAX: usize = 5;

/// Attempts are counted by the minute; a day of them is the most that every look should sum up.
pub const ALERT_WINDOW: RangeInclusive<Duration> = Duration::from_secs(60)..=DAY;
/// An alert every few seconds is noise; one less often than every month is forgotten.
pub const ALERT_RENOTIFY: RangeInclusive<Duration> = Duration::from_secs(60)..=DELAY_MAX;
/// How old the figures of an alert that goes on firing may be before they are written anew.
pub const ALERT_REFRESH: Duration = Duration::from_secs(60);

/// Shorter leases expire under ordinary scheduling noise; longer ones hide crashes.
pub const LEASE_MIN: Duration = Duration::from_secs(1);
pub const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
pub const LEASE_DEFAULT: Duration = Duration::from_secs(30);
pub const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Enough for a stack trace; one per attempt is kept for days.
pub const MESSAGE_BYTES_MAX: usize = 4 * 1024;
pub const CLASS_BYTES_MAX: usize = 64;
/// What an attempt leaves behind: a response excerpt of 16 KiB with its headers, escaped.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
pub const NOTE_BYTES_MAX: usize = 1024;
/// A `once` result is a receipt, not a document.
pub const ONCE_BYTES_MAX: usize = 64 * 1024;

/// What `runAll` fires at most: enough for a weekend of hourly runs, few enough for one
/// transaction and for the queue behind it.
pub const DUE_LISTED_MAX: usize = 100;

const _: () = assert!(PRIORITY_DEFAULT <= PRIORITY_MAX);
const _: () = assert!(RETRY_AFTER_MAX.as_secs() <= DELAY_MAX.as_secs());
const _: () = assert!(LEASE_MIN.as_secs() <= LEASE_DEFAULT.as_secs());
const _: () = assert!(LEASE_DEFAULT.as_secs() <= LEASE_MAX.as_secs());
const _: () = assert!(ONCE_BYTES_MAX <= PAYLOAD_BYTES_MAX);
