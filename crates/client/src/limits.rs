//! Every limit of the client, with its reason.

use std::time::Duration;

use steadfast_core::limits as core_limits;

/// A server on the same continent accepts a connection in well under a second.
pub const CONNECT_TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);
/// The default for a whole request; the server's own work on one request takes seconds at most.
pub const REQUEST_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);
/// Shorter than the 30 seconds after which the server closes a silent connection, so that a
/// request seldom meets a connection that is about to be closed.
pub const POOL_IDLE_MAX: Duration = Duration::from_secs(20);
/// The server sends a comment every 15 seconds; a stream silent for four times that is dead.
pub const EVENT_SILENCE_MAX: Duration = Duration::from_secs(60);
/// An event is one small JSON object; more than this without its end is not an event stream.
pub const EVENT_BYTES_MAX: usize = 1024 * 1024;

const _: () = assert!(CONNECT_TIMEOUT_DEFAULT.as_secs() <= REQUEST_TIMEOUT_DEFAULT.as_secs());

/// How often a request that can be repeated is sent: with the pauses in between, for about a second.
pub const CALL_TRIES_MAX: usize = 4;

/// How many handlers run at once, unless the worker says otherwise.
pub const CONCURRENCY_DEFAULT: usize = 10;
/// How long handlers may go on when the worker stops. Process managers kill after 30 s or more.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(30);
/// How long a claim waits for the first job. The server allows 30 s.
pub const CLAIM_WAIT: Duration = Duration::from_secs(20);
/// How long a claim may take beyond its wait before it is given up.
pub const CLAIM_MARGIN: Duration = Duration::from_secs(10);
/// The server takes this many claims, heartbeats and settlements in one request.
pub const BATCH_MAX: usize = 1_000;
/// The server takes this many kinds in one claim.
pub const KINDS_MAX: usize = 100;
/// The server takes this many jobs with one success.
pub const ON_SUCCESS_MAX: usize = 100;
/// An answer without jobs that comes sooner did not wait; asking again at once would not end.
pub const CLAIM_EARLY: Duration = Duration::from_secs(1);
/// A claim is made when this part of the slots is free, so that short jobs are not claimed singly.
pub const ROOM_SHARE: usize = 4;
/// But a free slot does not wait longer than this.
pub const ROOM_TIMEOUT: Duration = Duration::from_millis(5);
/// No job is claimed while more outcomes than this wait for the server.
pub const UNSETTLED_MAX: usize = 1_000;
/// How long a stopping worker waits for the answer to a claim that may be on its way.
pub const LAST_ANSWER_WAIT: Duration = Duration::from_secs(1);
/// How long a handler may go on after its job was cancelled, before it is cut off.
pub const CANCEL_WAIT: Duration = Duration::from_secs(1);
/// How long a stopping worker tries to report the last outcomes.
pub const FLUSH_WAIT: Duration = Duration::from_secs(5);
/// How long a settle may take until it is sent again.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);
/// The server takes bodies of 1 MiB; a batch that would be larger is sent in parts.
pub const SETTLE_BYTES_MAX: usize = 900 * 1024;
/// Lines of logs in one request of heartbeats, as JSON. The server takes bodies of 1 MiB.
pub const LOG_BYTES_PER_REQUEST_MAX: usize = 512 * 1024;
/// How long an outcome is reported again after the end of its lease: the claim may still hold by
/// then, if the server was away for as long.
pub const SETTLE_AFTER_LEASE: Duration = Duration::from_secs(300);
/// A heartbeat of a very short lease still has time for a slow network.
pub const HEARTBEAT_TIMEOUT_MIN: Duration = Duration::from_millis(250);
/// The shortest time between two heartbeats of a handler that reports often.
pub const REPORT_PAUSE: Duration = Duration::from_millis(200);
/// The first pause after a request that failed; each one after it is twice as long.
pub const BACKOFF_MIN: Duration = Duration::from_millis(100);
/// The longest pause: a server that is back should not wait for its workers.
pub const BACKOFF_MAX: Duration = Duration::from_secs(5);

const _: () = assert!(CLAIM_WAIT.as_secs() + CLAIM_MARGIN.as_secs() <= 30);
const _: () = assert!(SETTLE_BYTES_MAX < 1024 * 1024);
// One full log fits: JSON has at most six bytes for each byte of text, and some around each line.
const _: () = assert!(
    6 * core_limits::LOG_BYTES_MAX + 100 * core_limits::LOG_LINES_MAX <= LOG_BYTES_PER_REQUEST_MAX
);
