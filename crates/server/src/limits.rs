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
