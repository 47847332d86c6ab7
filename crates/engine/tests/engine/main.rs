//! The engine's promises, as tests.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod common;
mod flaky_store;
mod flow;
mod jobs;
mod node;
mod timelines;
