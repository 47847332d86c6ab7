//! Requests to servers that misbehave, over real sockets.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod addresses;
mod common;
mod connections;
mod isolation;
mod jobs;
mod pace;
mod questions;
mod quotas;
mod responses;
mod target;
mod tls;
mod usage;
mod webhooks;
