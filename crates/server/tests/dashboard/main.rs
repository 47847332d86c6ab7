//! The dashboard, asked over HTTP and looked at in a real browser.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod browser;
mod large;
mod node;
mod pictures;
mod plain;
mod seed;
mod seen;
mod signing;
