//! Endpoints, keys, secrets, policies, and the record of who changed what.

pub mod audit;
pub mod certificates;
pub mod endpoints;
pub mod keys;
pub mod policies;
pub mod secrets;
