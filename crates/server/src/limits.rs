//! Every limit of the HTTP side, with its reason.

use std::time::Duration;

/// A thousand small jobs fit; whoever sends more sends bulk data, which belongs elsewhere.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Most programs that read JSON stop at 128, and what is stored will be wrapped in a few more.
pub const BODY_DEPTH_MAX: usize = 100;
/// A client that cannot send a megabyte in this time holds a connection for nothing.
pub const BODY_TIME_MAX: Duration = Duration::from_secs(30);
/// How long a client may take to send its headers, the wait for its next request included.
pub const HEADER_TIME_MAX: Duration = Duration::from_secs(30);
/// A client that takes nothing of its answer for this long does not want it.
pub const WRITE_TIME_MAX: Duration = Duration::from_secs(30);
/// One slow client must not be able to hold them all.
pub const CONNECTIONS_MAX: usize = 4_096;
/// How long answers may take that are under way when the node stops.
pub const LAST_ANSWERS_TIME_MAX: Duration = Duration::from_secs(5);

pub const PAGE_DEFAULT: usize = 50;
pub const PAGE_MAX: usize = 500;
pub const HISTORY_DEFAULT: usize = 10;
pub const TICKS_DEFAULT: usize = 20;
/// A list that finds little may be asked on for this long before it answers with a cursor.
pub const LIST_TIME_MAX: Duration = Duration::from_millis(200);
/// Counting further costs more than the figure is worth.
pub const COUNT_MAX: u64 = 100_000;

pub const CLAIMS_DEFAULT: usize = 10;
pub const CLAIMS_MAX: usize = 1_000;
/// Proxies cut longer silences.
pub const CLAIM_WAIT_MAX: Duration = Duration::from_secs(30);
pub const SETTLE_MAX: usize = 1_000;

pub const EVENT_STREAMS_MAX: usize = 256;
/// Proxies cut silent connections; a comment now and then keeps a stream.
pub const EVENT_KEEP_ALIVE: Duration = Duration::from_secs(15);

/// How soon a stream ends whose key or session was taken back on this node.
pub const EVENT_LOOK_EVERY: Duration = Duration::from_secs(1);

/// How soon the first key restricts outbound requests.
pub const KEYS_LOOK_EVERY: Duration = Duration::from_millis(500);
pub const ENDPOINTS_MAX: usize = 1_000;
pub const KEYS_MAX: usize = 10_000;
/// Labels of metrics are names that users choose; past this many they are called `other`.
pub const METRIC_LANES_MAX: usize = 500;

// Dashboard

/// How old the counts on a page may be. Ten people who watch one incident ask the store once.
pub const LANE_STATS_AGE_MAX: Duration = Duration::from_secs(1);
/// One more look at the store may take as long again, and a page has a tenth of a second.
pub const PAGE_LIST_TIME_MAX: Duration = Duration::from_millis(25);
/// Texts of jobs on a page: enough to recognise them, and a page stays small.
pub const PAGE_TEXT_BYTES_MAX: usize = 16 * 1024;
/// What fits into a cell of a table in two lines.
pub const CELL_CHARS_MAX: usize = 120;
/// An id in an address may be anything; an error page repeats this much of it.
pub const ID_CHARS_MAX: usize = 64;

/// Attempts on the page of a job; the API has the rest.
pub const PAGE_ATTEMPTS_MAX: usize = 50;
/// Past attempts that fit into the timeline of a job without becoming unreadable.
pub const TIMELINE_ATTEMPTS_MAX: usize = 14;
/// Upcoming attempts in the timeline of a job, beside the past ones.
pub const TIMELINE_FORECAST_MAX: usize = 8;
/// Jobs that are looked at to find the webhook deliveries of one job: no index has them.
pub const DELIVERIES_SCAN_MAX: usize = 100;
/// A delivery is created in the transaction that ends the job; clocks of nodes may differ.
pub const DELIVERIES_CREATED_WITHIN: Duration = Duration::from_secs(60);

/// Dead letters that are sorted into groups: grouping reads each of them whole.
pub const DEAD_LETTERS_GROUPED_MAX: usize = 500;
/// Dead letters listed in each group while all groups are shown.
pub const GROUP_ROWS_MAX: usize = 10;
/// How far into a failure message a difference makes another group.
pub const PATTERN_CHARS_MAX: usize = 200;

/// More queues than this cannot be read on one page.
pub const PAGE_QUEUES_MAX: usize = 200;
/// Each schedule on the list is asked for its last ticks, so the list is short.
pub const PAGE_SCHEDULES_MAX: usize = 25;
/// Ticks in the strip beside a schedule.
pub const STRIP_TICKS_MAX: usize = 24;
/// Past ticks on the page of a schedule.
pub const PAGE_TICKS_MAX: usize = 50;
/// Upcoming ticks of a schedule in the list of schedules.
pub const LIST_UPCOMING_TICKS_MAX: usize = 3;
/// Upcoming ticks on the page of a schedule.
pub const PAGE_UPCOMING_TICKS_MAX: usize = 10;
/// Running jobs that are read to show who holds them.
pub const PAGE_RUNNING_JOBS_MAX: usize = 500;

/// Kinds and destinations on the overview that fail most.
pub const TOP_FAILURES_MAX: usize = 5;
/// Dead letters that are read for the hosts they called.
pub const DESTINATIONS_SCAN_MAX: usize = 200;

/// Attempts in the timetable of the simulator; a policy may have a hundred retries.
pub const SIMULATOR_ROWS_MAX: usize = 30;
/// Jobs that fail together in the simulator: enough for a smooth picture.
pub const HERD_JOBS: u64 = 1_000;

/// Jobs that a bulk action reads and changes in one step.
pub const BULK_PAGE: usize = 500;
/// Between two steps of a bulk action, so that claims and settlements get their turn.
pub const BULK_PAUSE: Duration = Duration::from_millis(10);
/// Most bulk actions are over by then, and the response can give the result.
pub const BULK_WAIT_MAX: Duration = Duration::from_secs(2);
/// Bulk actions of a node at the same time: each is a steady load on the store.
pub const BULK_ACTIONS_MAX: usize = 4;

/// How long the answer to a wrong key takes. A key cannot be guessed; this keeps it from being
/// tried quickly.
pub const WRONG_KEY_DELAY: Duration = Duration::from_millis(300);
/// Wrong keys that wait at the same time; more are refused at once.
pub const WRONG_KEYS_MAX: usize = 16;
