//! The API of a node from outside: a real server on a port of its own, jobs in a real file,
//! and targets that answer as the test wants.
//!
//! Every answer that the client here sees is held against the OpenAPI document, so a test of
//! anything is also a test that the document tells the truth.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod client;
mod schema;
mod server;
mod target;

mod access;
mod after;
mod alerts;
mod audit;
mod bad_input;
mod batches;
mod broken_polls;
mod browsers;
mod bulk;
mod claims;
mod connections;
mod create;
mod dead_letters;
mod destinations;
mod docs;
mod endpoints;
mod events;
mod explain;
mod failures;
mod forecast;
mod gates;
mod idempotency;
mod like;
mod manual;
mod manual_clock;
mod metrics;
mod openapi;
mod operations;
mod outbound;
mod policies;
mod schedules;
mod secrets;
mod slow_clients;
mod stored_changes;
mod tenants;
mod timelines;
mod unique;
mod webhooks;
mod worker_calls;
mod workers;
