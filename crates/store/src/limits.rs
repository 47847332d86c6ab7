//! Every limit of the stores, with its reason.
//!
//! The limits of the data itself are those of core.

use std::time::Duration;

// Answers.

/// One claim is built in memory. A caller that asks for more learns that more is due, and asks
/// again.
pub const CLAIMS_MAX: usize = 10_000;
/// One claim holds payloads up to this size, and one more.
pub const CLAIM_PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many rows one list looks at when few of them match, so that no request runs for long.
pub const ROWS_EXAMINED_MAX: usize = 10_000;
/// How many jobs one list reads whole that then do not match, because only the text of a failure
/// rules them out: each costs as much as ten rows that are only looked at.
pub const JOBS_EXAMINED_MAX: usize = 2_000;
/// Rows that cannot be read are remembered, with what is wrong with them, up to this many: enough
/// for a person to see a pattern.
pub const DAMAGED_ROWS_MAX: usize = 100;
/// How many rows one count looks at if the counters do not tell; beyond that it is "at least".
pub const ROWS_COUNTED_MAX: usize = 100_000;
/// How long one count looks at rows, for the same reason.
pub const COUNT_TIME_MAX: Duration = Duration::from_secs(1);
/// One step of a count reads so many jobs, which takes some milliseconds. Between two steps those
/// who ask for little have their turn.
pub const COUNT_STEP_JOBS_MAX: usize = 1_000;
/// A list that is narrowed to a tenant, queue or kind merges the ranges of so many lanes; if
/// there are more, it walks all jobs.
pub const LANES_MERGED_MAX: usize = 10_000;
/// Of a request to be sent, lists read so many characters: an address of any length that is
/// allowed, and the method.
pub const PAYLOAD_HEAD_CHARS: usize = 4_096;
/// Rows of the present minute that are counted for one question about all lanes: tens of
/// milliseconds.
pub const PRESENT_ROWS_MAX: i64 = 200_000;
/// Rows of the present minute that are counted of one lane, of what is due and of what is not.
/// A lane that has more of both shows a share of the minute.
pub const PRESENT_ROWS_OF_LANE_MAX: i64 = 10_000;
/// However many lanes there are, so many rows of each are counted.
pub const PRESENT_ROWS_OF_LANE_MIN: i64 = 100;
/// Of one lane, statistics look at so many flow keys and levels; a lane that has more shows a share of
/// the present minute.
pub const RANGES_OF_LANE_MAX: usize = 256;
/// Waiting jobs whose minute is past by so much are counted together. A clock that is set back
/// by more counts them as due before they are.
pub const WAITING_MINUTES_KEPT: Duration = Duration::from_secs(60 * 60);
/// Of a filter with several tags, the one that the fewest jobs have is walked; so many jobs of each are
/// counted to find it.
pub const TAGGED_JOBS_COUNTED_MAX: usize = 1_000;
/// A list reads at least so many rows at once.
pub const LIST_ROWS_MIN: usize = 64;
/// Each further read of a list is so many times longer: more than are asked for, because some
/// will not match.
pub const LIST_ROWS_GROWTH: usize = 8;
/// If jobs are kept for less than a day, retention remembers how far it has come, and begins anew
/// this often: so much later than its day a key may go.
pub const PRUNE_ANEW_EVERY: Duration = Duration::from_secs(60 * 60);
/// Retention looks again at what ended this shortly ago: as long as a transaction may take.
pub const PRUNE_OVERLAP: Duration = Duration::from_secs(60);
/// Retention drops whole days of jobs if it keeps jobs for at least so long, and deletes them one by one
/// otherwise.
pub const DAYS_KEPT_MIN: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// A day is dropped so much later than its last job could have ended at once. What ended later still
/// is moved first.
pub const DAY_LATE_MAX: Duration = Duration::from_secs(60 * 60);
/// Days for which partitions are made ahead.
pub const DAYS_AHEAD: i32 = 3;
/// Counts by the minute are shown for a month at most.
pub const MINUTES_KEPT: Duration = Duration::from_secs(32 * 24 * 60 * 60);

/// How often a node warns of a counter that is negative.
pub const COUNTERS_WARN_EVERY: Duration = Duration::from_secs(300);
/// How often a repair of counters that another one overtook looks again.
pub const RECOUNT_TRIES_MAX: usize = 3;

// Caches.

/// Policies are few. An application that makes one for every job gets a cache that starts over.
pub const POLICIES_CACHED_MAX: usize = 1_024;
/// The latest policies are compared one by one, which beats writing JSON to look a policy up.
pub const POLICIES_RECENT_MAX: usize = 8;

// Names: lanes and policies, which rows carry as numbers.

/// Lanes in memory: about 200 bytes each.
pub const LANES_CACHED_MAX: usize = 262_144;
/// Whether the row of a number is stored is checked again after this.
pub const NUMBERS_REMEMBERED: Duration = Duration::from_secs(10 * 60);
/// A row that is deleted between two looks is stored again; more often than this it is a mistake.
pub const NAME_TRIES_MAX: usize = 10;
/// Names that nothing uses are looked for once a day: that reads the policy of every job.
pub const NAME_SEARCH_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Names that one search deletes at most, of each sort: their numbers are held in memory.
pub const NAMES_DELETED_MAX: usize = 1_000_000;
/// Rows that one statement of a search reads or deletes: some milliseconds.
pub const NAME_SEARCH_STEP: usize = 2_000;

// Claims.

/// Jobs that are looked at to find one that may be the probe of a destination, and is tried again if
/// it fails.
pub const PROBE_JOBS_LOOKED_MAX: usize = 1_000;
/// When it is looked again if there is none.
pub const PROBE_LOOK_AGAIN: Duration = Duration::from_secs(1);
/// A job that is too late to start and keeps back others of its ordered key is looked at again after
/// this: the sweeper ends it.
pub const LATE_JOB_LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Dependants of a job that are named with their count.
pub const FIRST_DEPENDANTS_MAX: usize = 20;
/// Jobs before another one that are counted for people: more are not worth the time.
pub const JOBS_AHEAD_MAX: u64 = 1_000;
/// Places where jobs of one tenant wait that are looked at to find those before a job.
pub const RANGES_AHEAD_MAX: usize = 1_000;
/// Flow keys of a tenant that are looked at to find those places: some milliseconds.
pub const FLOW_KEYS_LOOKED_MAX: usize = 10_000;
/// Places that are looked at to find the first job of a queue.
pub const FIRST_RANGES_MAX: usize = 32;
/// Counters of a minute that a forecast reads: a day of seventy lanes, or two hours of eight hundred.
pub const LANE_MINUTES_MAX: usize = 100_000;
/// Places where jobs for one destination wait that are looked at to count those that are due: one
/// search of an index each.
pub const DESTINATION_RANGES_MAX: usize = 500;
/// How many ranges are counted in one read.
pub const RANGES_COUNTED_TOGETHER: usize = 32;
/// Attempts at a gate that are named to people.
pub const GATE_HOLDERS_MAX: usize = 10;
/// Running jobs that are looked at to find those attempts.
pub const HOLDERS_LOOKED_MAX: usize = 2_000;
/// Callers that want different jobs have different views of what is due. Beyond this, a view of the
/// tenant that has most is made anew when it is needed.
pub const DUE_VIEWS_MAX: usize = 64;
/// Ranges in all views, some hundred bytes each; or four times as many as there are.
pub const DUE_VIEW_RANGES_MAX: usize = 1_000_000;
/// Views that a tenant has for free: as many as a few programs need.
pub const DUE_VIEWS_PER_TENANT_FREE: usize = 8;
/// Ranges that are examined each second for further views of one tenant: one hundredth of the time.
pub const VIEW_CREDIT_PER_SECOND: i64 = 20_000;
/// What a tenant may save of that. The last view may take it below zero.
pub const VIEW_CREDIT_MAX: i64 = 100_000;
/// When a caller asks again whose tenant has no credit left.
pub const VIEW_PAUSE: Duration = Duration::from_secs(1);
/// Different pairs of queue and kind that a tenant has used lately: counts of all tenants are made of
/// them, and read often.
pub const LANES_PER_TENANT_MAX: usize = 5_000;
/// Schedules of a tenant: each makes jobs for ever, and one every second is much work already.
pub const SCHEDULES_PER_TENANT_MAX: usize = 1_000;
/// Places where jobs of a tenant wait: pairs of queue and kind, apart by destination and concurrency
/// key. Every node keeps them in memory, about 700 bytes each.
pub const FLOW_KEYS_PER_TENANT_MAX: usize = 100_000;
/// How often such places are looked through for those in which nothing waits any more, if a tenant has
/// all that it may: that takes some milliseconds.
pub const ROOM_SEARCH_EVERY: Duration = Duration::from_secs(1);
/// Tenants whose shares are remembered, in about 100 bytes each; beyond this, those that have had no
/// more than the others are forgotten, or all if that does not help.
pub const TENANT_SHARES_MAX: usize = 200_000;
/// Gates with room that a claim examines for ranges of the tenant that is next: each costs less than a
/// microsecond. Beyond this, a tenant's more urgent range may be found by a later claim.
pub const GATES_WITH_ROOM_EXAMINED_MAX: usize = 64;
/// Ranges without a job to take that one claim on SQLite searches, some microseconds each; then the
/// writer thread serves others first.
pub const CLAIM_EMPTY_RANGES_MAX: usize = 10_000;
/// Strips of one tenant that are kept in a list, in 40 bytes each; more of them are kept in a tree.
pub const FEW_RANGES: usize = 64;
/// Claims of one node that read a range at the same time: more than it has connections by default.
/// Beyond this, the first of them cannot tell where the oldest live row is.
pub const RANGE_CLAIMS_MAX: usize = 16;
/// A range is forgotten this long after its last job.
pub const IDLE_RANGES_KEPT: Duration = Duration::from_secs(300);

/// Statements that one claim sends if it gets less than it asked for: then the caller gets what there
/// is.
pub const CLAIM_ROUNDS_MAX: usize = 16;
/// Statements that may find due jobs and take none, because others have locked or taken them.
pub const CLAIM_EMPTY_ROUNDS_MAX: usize = 3;
/// Index entries that a claim reads in all to find the most urgent jobs among many ranges of a tenant.
pub const CLAIM_LOOK_ROWS_MAX: usize = 2_000;
/// Rows that others have locked are tried again after this.
pub const LOCKED_ROWS_RETRY: Duration = Duration::from_millis(50);
/// A claim that holds gates and is not heard of for so long loses them.
pub const GATE_SILENCE: Duration = Duration::from_secs(5);
/// How often a node says of a gate that it uses it. Gates that were not used for a day and more are deleted.
pub const GATE_USE_NOTED_EVERY: Duration = Duration::from_secs(60 * 60);
/// A claim reads the versions of gates if they were last read longer ago. Nodes read them every second
/// beside their claims, so that no claim waits for it; together with the time a read takes, a change
/// applies within two seconds.
pub const GATES_AGE_MAX: Duration = Duration::from_millis(1_500);
/// A gate that other nodes fill is looked at again this often, in case no notification came.
pub const GATE_POLL: Duration = Duration::from_secs(1);
/// Jobs behind another one of their ordered key are looked at again this often, in case no notification
/// came: seldom, because there may be one such job for each of many keys.
pub const ORDER_POLL: Duration = Duration::from_secs(60);
/// Ranges that one statement of a full scan returns.
pub const DUE_CACHE_SLICE: i64 = 1_000;
/// A node scans all ranges at least this often, if that is cheap.
pub const DUE_CACHE_SYNC_EVERY: Duration = Duration::from_secs(2);
/// If there are many ranges, upkeep scans them, so that no claim waits. A claim does so itself if upkeep
/// has not done it for this long.
pub const DUE_CACHE_SYNC_LATE: Duration = Duration::from_secs(60);
/// A node pauses for this many times as long as the scan took.
pub const DUE_CACHE_SYNC_COST_FACTOR: u32 = 50;
/// The same after a change in an unknown range.
pub const DUE_CACHE_STALE_COST_FACTOR: u32 = 5;
/// Up to this many ranges are scanned without a pause: that is one cheap statement.
pub const DUE_CACHE_RANGES_FEW: usize = 100;
/// Ranges that other nodes have named and that are not read yet; beyond this, all ranges are scanned.
pub const DUE_CACHE_UNKNOWN_MAX: usize = 10_000;
// Wake-ups.

/// Writes that make jobs of more ranges due say nothing of which, and all ranges are looked at: as
/// many as one request creates. Some megabytes.
pub const RANGE_HINTS_MAX: usize = 10_000;
/// Strips that one message between nodes names, of up to 70 bytes each.
pub const MESSAGE_RANGES: usize = 100;

/// A write that makes jobs of more lanes due wakes all that wait: that costs less than finding out
/// whom it concerns.
pub const WAKE_LANES_MAX: usize = 64;

// SQLite.

/// A payload up to this size lives in the row that claims and commits rewrite. At this size
/// about four rows share a page; larger payloads would make each claim write pages of its own,
/// smaller ones are cheaper to copy than to look up elsewhere.
pub const PAYLOAD_INLINE_BYTES_MAX: usize = 1_000;
/// Requests that may wait for the writer; further callers wait before they queue.
pub const WRITER_QUEUE_MAX: usize = 4_096;
/// Requests in one transaction, so that its callers do not wait too long.
pub const TRANSACTION_REQUESTS_MAX: usize = 512;
/// Rows in one transaction, for the same reason.
pub const TRANSACTION_ROWS_MAX: usize = 4_096;
/// Rows of background work that joins a transaction. A longer page begins the next one.
pub const JOINING_ROWS_MAX: usize = 64;
/// Rows of a table that are checked by one statement: it takes milliseconds, and nothing waits for it.
pub const CHECKED_ROWS: usize = 5_000;
/// Values that are encrypted again in one transaction: each may be a payload, and others wait meanwhile.
pub const REENCRYPTED_ROWS: usize = 64;
/// Pages of a rotation without such a value after which its progress is stored.
pub const REENCRYPTED_PAGES_MAX: usize = 32;
/// Rows that are moved in one transaction: each may have a payload, and as many are read ahead.
pub const MOVED_ROWS: usize = 256;
/// Rows that one statement of a move inserts, the most that fit first.
pub const MOVE_INSERT_ROWS: [usize; 3] = [128, 16, 1];
/// Broken rows of one sort that a check keeps to show; the others are counted.
pub const BROKEN_ROWS_KEPT: usize = 5;
/// Rows that one statement inserts, the most that fit first. A statement with 32 rows takes 15,100
/// instructions for each job, one with 8 takes 16,800, one with a single row 27,600; larger ones
/// gain little more.
pub const INSERT_ROWS: [usize; 3] = [32, 8, 1];
/// How often an idle writer looks for what other processes have written.
pub const OTHER_PROCESSES_POLL: Duration = Duration::from_secs(1);
/// Rows of running jobs that the writer remembers. Jobs whose attempts end in another process
/// are never taken out, so the memory starts over when it is full.
pub const RUNNING_ROWS_MAX: usize = 100_000;
/// Batches of ticks, and of minutes, that one call of retention deletes, each in a transaction of
/// its own: more than come into being between two calls, and still an end.
pub const PRUNE_BATCHES_MAX: usize = 1_000;
/// Prepared statements of one connection: more than there are statements.
pub const STATEMENTS_MAX: usize = 128;
/// Pages in the log before a commit checkpoints them: rows are rewritten soon after they were
/// written, and each round that they stay in the log saves a write to the file.
pub const CHECKPOINT_PAGES: i64 = 4_000;
/// A log with anything in it has at least this: its header, and a header and a page of the
/// smallest size.
pub const LOG_BYTES_MIN: u64 = 32 + 24 + 512;
/// A log that a long reader made large is cut back to this.
pub const LOG_BYTES_KEPT: i64 = 64 * 1024 * 1024;
/// A log of this size cannot be emptied: a checkpoint is due at about 16 MiB.
pub const LOG_BYTES_WARN: u64 = 256 * 1024 * 1024;
/// How often the writer looks at the size of the log.
pub const LOG_CHECK_EVERY: Duration = Duration::from_secs(10);
/// How often it warns of one that is too large.
pub const LOG_WARN_EVERY: Duration = Duration::from_secs(300);
/// Changing the journal mode does not wait for locks by itself; this is between two attempts.
pub const JOURNAL_MODE_RETRY: Duration = Duration::from_millis(10);
/// The pages of one reader: enough for the inner pages of every index; rows are seldom asked
/// for twice.
pub const READER_CACHE_KIB: i64 = 2 * 1024;
/// Readers that the lists of one tenant leave to the others.
pub const READERS_KEPT: usize = 1;
/// While other tenants send requests, a tenant has at most half of the readers for its lists.
pub const READERS_BESIDE_OTHERS_DIVISOR: usize = 2;
/// Reads of workers that renew or settle at a time: each is a few index searches.
pub const WORK_READS_MAX: usize = 64;
/// Those of one tenant.
pub const WORK_READS_PER_TENANT_MAX: usize = 16;
/// Rows that one tenant's requests may have with the writer at a time, work and the rest apart: one
/// bulk create, or as many single ones. The others wait no longer than for that.
pub const WRITTEN_ROWS_PER_TENANT_MAX: usize = 1_000;
/// The same while other tenants send requests.
pub const WRITTEN_ROWS_BESIDE_OTHERS_MAX: usize = 250;
/// One connection in 8, at least one, is not for lists and creates: claims, heartbeats and
/// settlements find it free.
pub const WORK_CONNECTIONS_DIVISOR: usize = 8;
/// A tenant has at most half of the connections, for its work and for the rest each.
pub const CONNECTIONS_PER_TENANT_DIVISOR: usize = 2;
/// While other tenants send requests it has a quarter for each, so that half are free for theirs.
pub const CONNECTIONS_BESIDE_OTHERS_DIVISOR: usize = 4;
/// Only recovery after a crash makes a reader wait.
pub const READER_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Default memory for the writer's pages.
pub const WRITER_CACHE_BYTES_DEFAULT: usize = 32 * 1024 * 1024;
/// Default number of readers: a dashboard asks about this many questions at once.
pub const READERS_DEFAULT: usize = 4;
/// Default wait for other processes that hold the write lock; backups hold it for seconds.
pub const BUSY_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// Pages of a copy of a file that are written at a time: about 4 MiB.
pub const COPY_PAGES: i32 = 1_000;
/// The first SQLite in which a checkpoint cannot race a writer into corrupting the file.
pub const SQLITE_VERSION_MIN: (i32, &str) = (3_051_003, "3.51.3");

// PostgreSQL.

/// Where schema versions begin. Previews counted from 1; their stores cannot be read.
pub const SCHEMA_VERSION_FIRST: i64 = 106;
/// The first version that the migrations run on.
pub const POSTGRES_VERSION_MIN: i32 = 130_000;
/// Default number of connections for queries and changes.
pub const CONNECTIONS_DEFAULT: usize = 8;
/// Default wait for a connection, and for an answer.
pub const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The server gives up on a statement after the timeout; the client waits so many times longer,
/// for that answer to arrive.
pub const CLIENT_TIMEOUT_FACTOR: u32 = 2;
/// An identifier has at most 63 bytes, and ours have a prefix or suffix at times.
pub const SCHEMA_NAME_BYTES_MAX: usize = 48;
/// Connecting takes milliseconds, or does not work.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A peer that vanished is noticed after about this.
pub const PEER_SILENCE_MAX: Duration = Duration::from_secs(10);
/// After so long without an answer, a node looks whether another server has taken over.
pub const LATE_AFTER: Duration = Duration::from_secs(1);
/// Between two questions to a server that does not take writes, while a primary is searched.
pub const SEARCH_PAUSE: Duration = Duration::from_millis(250);
/// How often a transaction that the database rolled back, or that another overtook, is tried.
pub const TRANSACTION_TRIES_MAX: usize = 10;
/// Transitions written by one statement; callers send fewer.
pub const COMMIT_BATCH_MAX: usize = 10_000;
/// Logs that one transaction appends to: each is read and written again.
pub const LOGS_AT_ONCE: usize = 100;
/// Rows that appending to a log counts for: the whole log is read and written again.
pub const LOG_ROWS: usize = 16;
/// Logs that are read at once.
pub const LOGS_READ_AT_ONCE: usize = 4;
/// The logs of a job that are kept, by claim; a job that is snoozed for years has no more.
pub const LOGS_PER_JOB_MAX: u32 = 100;
/// Jobs that one transaction of a command locks.
pub const COMMAND_BATCH_MAX: usize = 1_000;
/// Jobs that one transaction of retention deletes, so that locks and vacuum stay short.
pub const PRUNE_BATCH_MAX: usize = 500;
/// Changes of counts that one statement moves into the totals: small enough that a commit never
/// waits long for them.
pub const COUNTS_MOVED_MAX: i64 = 5_000;
/// However many lanes a list merges, so many rows of each are read at once.
pub const LANE_ROWS_MIN: usize = 8;
/// Groups of failures of a list are read so many at once: each is some kilobytes.
pub const FAILURE_GROUPS_READ_MAX: usize = 200;
/// Transactions that add tallies of failures to their groups before groups are read: many nodes may
/// append more meanwhile.
pub const FAILURE_FOLDS_MAX: usize = 50;
/// Tallies of failures that one transaction adds to their groups, which all others wait for.
pub const FAILURES_FOLDED_MAX: i64 = 500;
/// Jobs of a list are read so many at once.
pub const JOBS_READ_MAX: usize = 500;
/// Between two rounds of upkeep: the clock is measured, and counts are moved.
pub const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Between two counts of lanes that nodes of the version before have touched: each reads all
/// waiting jobs of those lanes. Minutes that are past are tidied up as often, because idle nodes
/// should ask for little.
pub const RECOUNT_INTERVAL: Duration = Duration::from_secs(60);
/// A claim may be committed so much later than the time at which its lease began.
pub const LEASE_COMMIT_MARGIN: Duration = Duration::from_secs(10);
/// How often events of batches are read from the beginning of their index, in case one was committed late,
/// or another server has taken over that lacks the last transactions.
pub const EVENTS_FULL_SCAN_EVERY: Duration = Duration::from_secs(60);
/// Tenants take turns within this many events of batches: as many as a tenant has unfinished batches.
pub const EVENTS_PAGE_MAX: usize = 10_000;
/// An event of a job of a batch may be committed this much later than one with a higher number. One that
/// is even later waits for the next full scan.
pub const EVENT_COMMIT_MARGIN: Duration = Duration::from_secs(5);
/// Batches that are counted in one transaction, which holds them all: so few that callers who add jobs
/// to one of them do not notice.
pub const BATCHES_COUNTED_TOGETHER_MAX: usize = 50;
/// How often expired leases are looked for from the beginning of their index, in case one was
/// committed later than that.
pub const LEASES_WHOLE_EVERY: Duration = Duration::from_secs(60);
/// Such a look pauses for so many times as long as it took.
pub const WHOLE_LOOK_COST_FACTOR: u32 = 50;
/// Between two looks at what other nodes have made due, if a node cannot listen to them.
pub const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Between two looks at the messages of users' transactions, whose jobs start within a second.
pub const WAKE_REQUEST_INTERVAL: Duration = Duration::from_millis(500);
/// Messages that one statement takes.
pub const WAKE_REQUESTS_PER_ROUND: i64 = 1_000;
/// A message is expected to be visible this soon after it got its number.
pub const WAKE_REQUEST_LATE: Duration = Duration::from_secs(60);
/// Messages of slower transactions are searched for this often.
pub const WAKE_REQUEST_WHOLE_EVERY: Duration = Duration::from_secs(600);
/// Between two notifications of one node: each takes a lock over the whole server.
pub const NOTIFY_INTERVAL: Duration = Duration::from_millis(50);
/// How long lists of values in shared statements are. Each length is a statement of its own.
pub const LIST_LENGTHS: [usize; 4] = [1, 4, 32, 256];
/// What a notification says at most; PostgreSQL takes fewer than 8,000 bytes. What is more goes
/// out in several.
pub const NOTIFY_BYTES_MAX: usize = 7_900;
/// After so long without a message, the listening connection is tested.
pub const LISTEN_SILENCE_MAX: Duration = Duration::from_secs(30);
/// How long that test may take.
pub const LISTEN_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// The first wait before the listening connection is opened again.
pub const LISTEN_BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// The longest wait before the listening connection is opened again.
pub const LISTEN_BACKOFF_MAX: Duration = Duration::from_secs(2);
/// The database's time is known here to within less than this.
pub const CLOCK_ERROR_MAX: Duration = Duration::from_secs(1);
/// A measurement of the database's clock is trusted less as it ages: clocks drift apart by up
/// to this share.
pub const CLOCK_DRIFT_MAX: f64 = 0.001;

/// Keys that the values of a store may be encrypted with.
pub const ENCRYPTION_KEYS_MAX: usize = 100;
/// Characters of the id of such a key.
pub const ENCRYPTION_KEY_ID_CHARS_MAX: usize = 32;
/// Of an encrypted payload that is longer, lists show nothing.
pub const SEALED_LISTED_CHARS_MAX: usize = 16_384;

const _: () = assert!(LIST_ROWS_GROWTH > 1);
const _: () = assert!(MESSAGE_RANGES * 70 < NOTIFY_BYTES_MAX);
const _: () = assert!(NUMBERS_REMEMBERED.as_secs() < NAME_SEARCH_EVERY.as_secs() / 2);
const _: () = assert!(GATE_USE_NOTED_EVERY.as_secs() < NAME_SEARCH_EVERY.as_secs() / 2);
const _: () = assert!(PRESENT_ROWS_OF_LANE_MIN <= PRESENT_ROWS_OF_LANE_MAX);
const _: () = assert!(POLICIES_RECENT_MAX < POLICIES_CACHED_MAX);
const _: () = assert!(LIST_ROWS_MIN <= ROWS_EXAMINED_MAX && JOBS_READ_MAX <= ROWS_EXAMINED_MAX);
