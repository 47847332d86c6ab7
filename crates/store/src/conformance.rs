//! The contract as tests: every driver runs all of them.
//!
//! ```text
//! steadfast_store::conformance_tests!(MyHarness::new());
//! ```
//!
//! A driver that only stores and finds passes half of this by luck, so each case asks what a
//! wrong driver would do: forget to compare a fence, count a repeated commit twice, look for a
//! key in the wrong tenant. The fixture moves the time; nothing here waits for it.

#![expect(missing_docs, reason = "the names of the cases are sentences")]
#![expect(
    clippy::unwrap_used,
    reason = "these are tests, though they live in a library so that other crates can run them"
)]

mod every_case;
mod fixture;
mod planned;
mod workload;

mod claims;
mod durable;
mod jobs;
mod list;
mod race;
mod records;
mod secrecy;
mod stats;
mod writable;

use claims::{
    claim, due, fair_shares, flow, flow_model, gate_changes, ordered_keys, pace, pause, start, wake,
};
use jobs::{
    attempts, command, commit, days, enqueue, expiry, keys, logs, once, outbox, outbox_links,
    prune, questions, renew, sweep, tags, unique, waiting_limit, webhooks,
};
use records::{
    after, audit, batch_requests, batches, documents, erase, failures, fire, operations, schedules,
};

#[doc(hidden)]
pub use every_case::cases;
pub use fixture::{Durable, Fixture, Harness};
