//! One file per page.

pub mod alerts;
pub mod audit;
pub mod batches;
pub mod dead_letters;
pub mod destinations;
pub mod endpoints;
pub mod failures;
pub mod gates;
pub mod job;
pub mod jobs;
pub mod keys;
pub mod nodes;
pub mod operations;
pub mod overview;
pub mod provider_sign_in;
pub mod queue_start;
pub mod queues;
pub mod schedules;
pub mod sign_in;
pub mod simulator;
