//! Every limit of the command line tool, with its reason.

use std::{ops::RangeInclusive, time::Duration};

/// The core accepts no more in any retry policy.
pub use steadfast_core::limits::MAX_RETRIES;
/// The core accepts no longer delay.
pub use steadfast_core::limits::RETRY_AFTER_MAX;

/// What the setting may be: the description of some work fits, and the core accepts no more.
pub const PAYLOAD_BYTES_RANGE: RangeInclusive<usize> =
    1024..=steadfast_core::limits::PAYLOAD_BYTES_MAX;

/// Prerequisites that are listed for a job: `--json` has them all.
pub const AFTER_SHOWN_MAX: usize = 5;

/// Sweeping without a pause would keep the store busy for nothing.
pub const SWEEP_EVERY_MIN: Duration = Duration::from_millis(100);
/// How long responses that were under way, and the last metrics, may take after the node has stopped.
pub const DRAIN_MAX: Duration = Duration::from_secs(8);
/// What still blocks a thread after a command has finished must not keep the process.
pub const RUNTIME_SHUTDOWN_MAX: Duration = Duration::from_secs(1);
/// Open files that a node asks for: connections of clients, connections to targets, and the store,
/// with room to spare. More only if the settings ask for more connections.
pub const OPEN_FILES_MAX: u64 = 65_536;
/// Open files that are not connections of clients: those to targets, and the store.
pub const OPEN_FILES_RESERVED: u64 = 1_024;

/// Connections that wait to be accepted: with the usual 128, thousands of workers that connect at
/// once, as after a restart, wait for seconds until they try again. The system may allow fewer.
pub const LISTEN_QUEUE_MAX: u32 = 4_096;

/// Bars of a forecast in a line: two minutes each by default.
pub const FORECAST_CHARS: usize = 60;
/// The page size of lists unless the caller gives one: what a person scrolls through.
pub const LIST_DEFAULT: usize = 50;
/// Ticks of a schedule in a list unless the caller gives a number.
pub const TICKS_DEFAULT: usize = 20;
/// Attempts in `jobs history` unless the caller gives a number.
pub const HISTORY_DEFAULT: usize = 10;
/// Attempts in `jobs show`: one whole retry budget.
pub const SHOW_ATTEMPTS_MAX: usize = MAX_RETRIES as usize + 1;
/// Upcoming ticks above the list of past ones.
pub const UPCOMING_TICKS: usize = 3;

/// How long `doctor` counts jobs without being asked to.
pub const RECOUNT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long `doctor` reads jobs to find corrupt ones.
pub const DAMAGE_SCAN_MAX: Duration = Duration::from_secs(5);
/// Rows that `doctor` reads at once.
pub const SCAN_PAGE: usize = 500;
/// Damaged rows that `doctor` names: enough to see a pattern.
pub const DAMAGED_ROWS_SHOWN: usize = 10;
/// How long `serve` waits for a database that is not there yet, by default: about as long as one
/// takes that is started at the same time.
pub const WAIT_FOR_STORE_DEFAULT: Duration = Duration::from_secs(30);
/// Between two attempts to open such a database.
pub const WAIT_FOR_STORE_PAUSE: Duration = Duration::from_millis(500);
/// How long a probe may take while the store is not open yet.
pub const PROBE_TIME_MAX: Duration = Duration::from_millis(250);
/// The longest head of such a probe.
pub const PROBE_HEAD_BYTES_MAX: usize = 8 * 1024;
/// At most one line for each cause in this time, while the store is away.
pub const STORE_LOG_EVERY: Duration = Duration::from_secs(5);
/// Causes that each have a line of their own; a flood of others has none.
pub const STORE_LOG_CAUSES_MAX: usize = 64;

/// How often `dev` looks for new workers and for jobs that no worker takes.
pub const DEV_LOOK_EVERY: Duration = Duration::from_millis(500);
/// How many ready jobs `dev` looks at: a backlog is of a few kinds.
pub const DEV_JOBS_MAX: usize = 100;

/// After how many rounds `jobs watch ID` says that no worker asks for the kind of a ready job.
pub const WATCH_EXPLAIN_AFTER: u32 = 4;
/// How often `jobs watch ID` asks for the job: a person sees no shorter delay.
pub const WATCH_EVERY: Duration = Duration::from_millis(250);
/// How often a log is asked for again while its node restarts: for half a minute.
pub const LOG_TRIES_MAX: u32 = 120;
/// How soon an operation is asked for first: few jobs are done at once.
pub const FOLLOW_FIRST: Duration = Duration::from_millis(20);
/// More attempts than this between two requests of `jobs watch` scroll by unread.
pub const WATCH_ATTEMPTS_MAX: usize = 20;
/// How often a progress bar is redrawn.
pub const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// How often `top` asks the server: a person sees a change, and the server does not feel it.
pub const TOP_EVERY_DEFAULT: Duration = Duration::from_secs(2);
/// What `--every` may be: five requests each time.
pub const TOP_EVERY_RANGE: RangeInclusive<Duration> =
    Duration::from_millis(500)..=Duration::from_secs(60 * 60);
/// Keys and answers that wait for the screen; a terminal that stops reading must not collect more.
pub const TOP_EVENTS_MAX: usize = 64;
/// Groups of failures in `top`: more do not fit beside the queues.
pub const TOP_FAILURES_MAX: usize = 20;
/// Failures that `top` shows.
pub const TOP_FAILURES_WITHIN: Duration = Duration::from_secs(60 * 60);
/// The name of a queue in `top` on 80 columns; on more it has the rest.
pub const TOP_NAME_CHARS: usize = 20;

/// The width of tables where the terminal's width is unknown.
pub const WIDTH_DEFAULT: u16 = 80;
/// The height of a terminal that does not tell.
pub const HEIGHT_DEFAULT: u16 = 24;
/// In a terminal that is narrower, what is longest in a list stands on a line of its own.
pub const WIDTH_NARROW: u16 = 120;
/// In a terminal that is even narrower, an id stands above its row.
pub const WIDTH_SLIM: u16 = 60;
/// Characters of a handler's result in a line of the execution log.
pub const RESULT_CHARS_MAX: usize = 200;
/// The summary of a job in a terminal, in characters: a host and the beginning of a path.
pub const SUMMARY_CHARS_MAX: usize = 40;
/// The longest bar in the drawing of a policy, in characters.
pub const BAR_CHARS: usize = 24;

/// The demo is over in seconds; after this, something is wrong and the user should know.
pub const DEMO_MAX: Duration = Duration::from_secs(45);
/// The load of the storm: enough for a health to be decided within seconds.
pub const STORM_JOBS_PER_SECOND: u32 = 50;
/// Before the storm, and for as long after it, the target works under load.
pub const STORM_CALM: Duration = Duration::from_secs(3);
/// After the storm the backlog is gone in less; after this, something is wrong.
pub const STORM_DRAIN_MAX: Duration = Duration::from_secs(300);
/// Text of the demo is wrapped here, so that it fits a terminal of 80 columns.
pub const DEMO_TEXT_CHARS: usize = 78;
/// The demo's slow target: far longer than the job's timeout.
pub const DEMO_SLOW: Duration = Duration::from_secs(20);
/// Runs of the demo's schedule.
pub const DEMO_TICKS: u32 = 3;
/// Webhooks that the demo's jobs ask for.
pub const DEMO_WEBHOOKS: u32 = 2;

/// Roles of people: each is compared at a sign-in, and a person reads them.
pub const OIDC_ROLES_MAX: usize = 200;
/// How long people stay signed in: longer than a page is open, and at most a working day.
pub const SESSION_TIME_RANGE: RangeInclusive<Duration> =
    Duration::from_secs(5 * 60)..=Duration::from_secs(12 * 60 * 60);
/// Names of contexts are typed and stand in a column of a table.
pub const CONTEXT_NAME_BYTES_MAX: usize = 64;

/// `doctor`: the clocks of one machine and its file system are this far apart at most.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(2);
/// `doctor` warns below this much free space.
pub const DISK_WARN_BYTES: u64 = 1 << 30;
/// `doctor` fails below this much free space: a large transaction no longer fits.
pub const DISK_FAIL_BYTES: u64 = 64 << 20;

const _: () = assert!(DISK_FAIL_BYTES < DISK_WARN_BYTES);
/// Counters that differ are shown one by one up to this many; beyond that only their number.
pub const DIFFERENCES_SHOWN_MAX: usize = 20;
