//! The running versions and their first claims: deploys.

use std::collections::BTreeMap;

use steadfast_core::Timestamp;

use crate::node::workers::WorkerState;

/// A version of a program, and how many run it.
#[derive(Debug, PartialEq)]
pub struct VersionUse {
    pub version: String,
    /// When it was first seen.
    pub since: Timestamp,
    pub alive: usize,
    pub gone: usize,
}

/// The versions of programs, the newest first: of each the version, since when, and whether it is alive.
pub fn versions<'a>(seen: impl Iterator<Item = (&'a str, Timestamp, bool)>) -> Vec<VersionUse> {
    let mut versions: BTreeMap<&str, VersionUse> = BTreeMap::new();
    for (version, since, is_alive) in seen {
        let known = versions.entry(version).or_insert_with(|| VersionUse {
            version: version.to_owned(),
            since,
            alive: 0,
            gone: 0,
        });
        known.since = known.since.min(since);
        known.alive += usize::from(is_alive);
        known.gone += usize::from(!is_alive);
    }
    let mut versions: Vec<VersionUse> = versions.into_values().collect();
    versions.sort_by_key(|it| std::cmp::Reverse(it.since));
    versions
}

/// The versions of workers that say which they are.
pub fn worker_versions(workers: &[WorkerState], now: Timestamp) -> Vec<VersionUse> {
    versions(workers.iter().filter_map(|worker| {
        let version = worker.info.version.as_deref()?;
        let since = worker.version_since.unwrap_or(worker.first_seen);
        Some((version, since, worker.is_alive(now)))
    }))
}
