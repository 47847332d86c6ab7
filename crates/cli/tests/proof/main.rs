//! Nodes under trouble, and what their clients were promised.
//!
//! The real binary, real HTTP, real files, a real PostgreSQL. Each proof goes a short way as an
//! ordinary test; `STEADFAST_PROVE_TIMES` multiplies it, and each prints its counts.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batches;
mod broken_polls;
mod disk_full;
mod failover;
mod frozen;
mod gates;
mod hostile;
mod kill_cycles;
mod kill_operations;
mod kill_server;
mod locked_rows;
mod postgres_faults;
mod postgres_page;
#[path = "../common/process.rs"]
mod process;
mod qstash;
mod slow;
mod stores;
mod support;
mod synced;
mod tenants;

use support::{disk, http, ledger, load, node, postgres, preload, proxy, target, trace};
