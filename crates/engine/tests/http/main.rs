//! Requests to servers that misbehave, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod addresses;
mod answers;
mod common;
mod connections;
mod jobs;
mod target;
mod tls;
