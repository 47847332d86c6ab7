//! The engine's promises, as tests.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod alerts;
mod common;
mod flaky_store;
mod running;
mod timelines;
