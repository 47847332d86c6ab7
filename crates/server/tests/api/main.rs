//! The API of a node from outside: a real server on a port of its own, jobs in a real file,
//! and targets that answer as the test wants.
//!
//! Every answer that the client here sees is held against the OpenAPI document, so a test of
//! anything is also a test that the document tells the truth.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support {
    pub mod client;
    pub mod collector;
    pub mod schema;
    pub mod server;
    pub mod target;
}

mod work {
    mod after;
    mod batches;
    mod bulk;
    mod commands;
    mod copy_job;
    mod create;
    mod dead_letters;
    mod erase;
    mod explain;
    mod failures;
    mod idempotency;
    mod operations;
    mod qstash;
    mod questions;
    mod schedules;
    mod stored_changes;
    mod timelines;
    mod unique;
}
mod worker {
    mod claim_sessions;
    mod claims;
    mod logs;
    mod manual_clock;
    mod on_success;
    mod undelivered_claims;
    mod worker_calls;
    mod workers;
}
mod flow {
    mod destinations;
    mod gates;
    mod outbound;
}
mod settings {
    mod access;
    mod audit;
    mod endpoints;
    mod named_secrets;
    mod policies;
    mod readers;
    mod secrets;
    mod tenants;
    mod webhooks;
}
mod status {
    mod alerts;
    pub mod events;
    mod events_of_nodes;
    mod forecast;
    mod metrics;
    mod traces;
}
mod http {
    mod bad_input;
    mod browsers;
    mod connections;
    mod docs;
    mod openapi;
    mod slow_clients;
}

use support::{client, collector, schema, server, target};
