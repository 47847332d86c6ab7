//! The life of a job.

pub mod attempts;
pub mod command;
pub mod commit;
pub mod days;
pub mod enqueue;
pub mod expiry;
pub mod keys;
pub mod logs;
pub mod once;
pub mod outbox;
pub mod outbox_links;
pub mod prune;
pub mod questions;
pub mod renew;
pub mod sweep;
pub mod tags;
pub mod unique;
pub mod waiting_limit;
pub mod webhooks;
