//! The engine's promises, as tests.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod after;
mod alerts;
mod batches;
mod bulk;
mod client;
mod common;
mod destinations;
mod document_cache;
mod explain;
mod flaky_store;
mod forecast;
mod gates;
mod leases;
mod log_lines;
mod operations;
mod polls;
mod running;
mod schedules;
mod stopping;
mod store_away;
mod timelines;
mod two_engines;
