//! Every limit of the engine, with its reason.

use std::time::Duration;

/// Past a thousand jobs per transaction a bigger batch saves nothing and only adds latency.
pub const CLAIM_BATCH_MAX: usize = 1_000;
pub const COMMIT_BATCH_MAX: usize = 1_000;
/// Attempts that ended but are not committed yet hold their slot when this is full.
pub const ENDED_MAX: usize = 2 * COMMIT_BATCH_MAX;
pub const SWEEP_BATCH_MAX: usize = 500;
pub const CRON_BATCH_MAX: usize = 100;
/// Small, so that pruning never holds up claims.
pub const PRUNE_BATCH_MAX: usize = 500;
/// A subscriber that is further behind misses notices and is told so.
pub const NOTICES_MAX: usize = 4_096;
/// One page of a bulk command.
pub const BULK_PAGE_MAX: usize = 500;

/// How far back a worker may repeat what it said of an attempt.
pub const SETTLED_LOOK_MAX: usize = 20;

/// The safety net under wake-ups: nothing is found later than this.
pub const POLL: Duration = Duration::from_secs(5);
/// Wake-ups are mostly about jobs, and a look at the schedules costs more than one at the jobs.
/// Ticks are known beforehand; only a schedule that was just changed can be this late.
pub const CRON_PAUSE: Duration = Duration::from_millis(50);
/// What a stop that is out of backoff waits for its last commits.
pub const HURRY: Duration = Duration::from_secs(2);
/// Long enough that a role which panics at once does not spin.
pub const RESTART: Duration = Duration::from_secs(1);
/// Between pages of a bulk command, so that requeueing a million jobs leaves room for others.
pub const BULK_PAUSE: Duration = Duration::from_millis(10);
/// A handler that gives its job back unasked gets it back no sooner than this.
pub const RELEASE_MIN: Duration = Duration::from_secs(1);
/// A clock that jumps further than this between two looks was set, not slow.
pub const CLOCK_JUMP: Duration = Duration::from_secs(2);

/// Of requests to other people's servers.
#[cfg(feature = "http")]
pub mod http {
    use std::time::Duration;

    /// What an attempt may take where the job does not say.
    pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
    pub const URL_BYTES_MAX: usize = 2_048;
    pub const HEADERS_MAX: usize = 64;
    pub const HEADERS_BYTES_MAX: usize = 16 * 1024;

    /// Of a body, what explains a failure is in the beginning.
    pub const BODY_KEPT_MAX: usize = 16 * 1024;
    /// A body longer than this is no answer to a job; its status is known by then.
    pub const BODY_READ_MAX: usize = 10 * 1024 * 1024;
    /// The head of an answer must fit at once; real ones are under 16 KiB.
    pub const HEAD_BYTES_MAX: usize = 64 * 1024;
    pub const HEADERS_KEPT_MAX: usize = 64;
    pub const HEADERS_KEPT_BYTES_MAX: usize = 8 * 1024;
    /// What a failure's message quotes of the answer.
    pub const QUOTE_CHARS_MAX: usize = 200;

    /// Shorter than the five seconds after which the most impatient servers hang up.
    pub const IDLE_MAX: Duration = Duration::from_secs(3);
    pub const IDLE_CONNECTIONS_MAX: usize = 256;
    /// A connection that has ended its last request is ready at once.
    pub const READY_MAX: Duration = Duration::from_millis(50);
    /// What one of several addresses gets before the next is tried.
    pub const DIAL_MAX: Duration = Duration::from_secs(3);

    const _: () =
        assert!(BODY_KEPT_MAX + HEADERS_KEPT_BYTES_MAX < steadfast_core::limits::OUTPUT_BYTES_MAX);
}
