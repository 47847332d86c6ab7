//! One attempt, from its start to the commit of what followed.

pub mod abandoned;
pub mod committer;
pub mod context;
pub mod executor;
pub mod handler;
pub mod job_error;
pub mod settle;
pub mod undelivered_claims;
