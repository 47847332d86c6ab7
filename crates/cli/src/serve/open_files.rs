//! The number of files that the node may have open: every connection is one.
//!
//! Most systems allow a process 1,024 unless it asks for more. A thousand idle clients would then
//! keep all others out, long before the server's own limit on connections is reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::OPEN_FILES;

/// Raises the soft limit as far as the hard limit allows.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX).min(OPEN_FILES);
    if limit.current.is_none_or(|current| current >= most) {
        return;
    }
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit on open files: few connections are possible");
    }
}
