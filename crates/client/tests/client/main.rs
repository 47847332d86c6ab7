//! The client against a real server, over real HTTP.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod failures;
mod operations;
mod server;
mod tls;
mod worker;
