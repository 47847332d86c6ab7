//! What the SQLite driver does beyond the contract, and the numbers in both drivers' statements.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

mod batches;
mod encryption;
mod kill;
mod moving;
mod open;
mod plans;
mod sql_constants;
mod upkeep;
mod writer;
