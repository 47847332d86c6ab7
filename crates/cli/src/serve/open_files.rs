//! The number of files that the node may have open: every connection is one.
//!
//! Most systems allow a process 1,024 unless it asks for more. A thousand idle clients would then
//! keep all others out, long before the server's own limit on connections is reached.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits::{OPEN_FILES_MAX, OPEN_FILES_RESERVED};

/// Raises the soft limit, at most to the hard limit.
pub fn raise_limit(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let wanted = (connections as u64).saturating_add(OPEN_FILES_RESERVED);
    let wanted = wanted.max(OPEN_FILES_MAX);
    let most = limit.maximum.unwrap_or(u64::MAX).min(wanted);
    if limit.current.is_none_or(|current| current >= most) {
        return;
    }
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit on open files; the number of connections is low");
    }
}

/// The number of connections that the open files allow, at most the configured number.
pub fn connections(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let possible = possible_connections(wanted, limit);
    if possible < wanted {
        tracing::warn!(
            connections = possible,
            wanted,
            open_files = limit,
            "the limit on open files allows fewer connections than configured: raise it (ulimit -n, LimitNOFILE=)"
        );
    }
    possible
}

/// Some files are kept for the store and for connections to targets: at least half of a low limit.
fn possible_connections(wanted: usize, limit: u64) -> usize {
    let possible = limit.saturating_sub(OPEN_FILES_RESERVED).max(limit / 2);
    wanted.min(usize::try_from(possible).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_on_open_files_lowers_the_connections() {
        for (limit, expected) in [
            (u64::MAX, 16_384),
            (16_384 + OPEN_FILES_RESERVED, 16_384),
            (
                16_384,
                16_384 - usize::try_from(OPEN_FILES_RESERVED).unwrap(),
            ),
            (1_024, 512),
            (64, 32),
        ] {
            assert_eq!(possible_connections(16_384, limit), expected, "{limit}");
        }
    }
}
