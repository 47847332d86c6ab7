//! Everything durable beside the jobs.

pub mod after;
pub mod audit;
pub mod batch_requests;
pub mod batches;
pub mod documents;
pub mod erase;
pub mod failures;
pub mod fire;
pub mod operations;
pub mod schedules;
