//! How many files the node may have open: every connection is one.
//!
//! Most systems allow 1,024 to whoever does not ask for more. A thousand clients that say nothing
//! would then keep everybody else waiting, long before the limit on connections is reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections of clients, connections to targets, and the store, with room to spare.
const WANTED: u64 = 16_384;

/// Asks for more where more is allowed.
pub fn allow() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(WANTED);
    if limit.current.is_none_or(|current| current >= most) {
        return;
    }
    let more = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, more) {
        tracing::warn!(%error, "only few connections can be taken: no more files may be open");
    }
}
