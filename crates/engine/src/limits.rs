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
/// What a stop that is out of patience waits for its last commits.
pub const HURRY: Duration = Duration::from_secs(2);
/// Long enough that a role which panics at once does not spin.
pub const RESTART: Duration = Duration::from_secs(1);
/// Between pages of a bulk command, so that requeueing a million jobs leaves room for others.
pub const BULK_PAUSE: Duration = Duration::from_millis(10);
/// A handler that gives its job back unasked gets it back no sooner than this.
pub const RELEASE_MIN: Duration = Duration::from_secs(1);
/// A clock that jumps further than this between two looks was set, not slow.
pub const CLOCK_JUMP: Duration = Duration::from_secs(2);
