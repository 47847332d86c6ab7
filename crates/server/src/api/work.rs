//! Jobs and everything that makes or changes them.

pub mod batches;
pub mod cloud_events;
pub mod copy_job;
pub mod create;
pub mod create_jobs;
pub mod dead_letters;
pub mod explain;
pub mod failures;
pub mod job_search;
pub mod jobs;
pub mod logs;
pub mod operations;
pub mod requeues;
pub mod schedules;
