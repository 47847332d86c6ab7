//! What a program asks of the engine: jobs, schedules, batches and operations.

mod after;
mod batches;
mod bulk;
mod client;
mod explain;
mod operations;
mod questions;
mod schedules;
