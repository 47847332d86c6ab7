//! The real binary, from outside: `node` runs it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod demo;
mod node;
#[path = "../common/process.rs"]
mod process;
mod serve;
mod verbs;
