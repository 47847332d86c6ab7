//! The real binary, from outside: `node` runs it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod demo;
mod node;
mod serve;
mod verbs;
