//! Every limit of the client, with its reason.

use std::time::Duration;

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
