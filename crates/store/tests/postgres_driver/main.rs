//! What the PostgreSQL driver does beyond the contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batches;
mod common;
mod days;
mod encryption;
mod enqueue;
mod gates;
mod locks;
mod moving;
mod names;
mod open;
mod plans;
mod pooled;
mod tls;
mod trouble;
mod waiting_limit;
