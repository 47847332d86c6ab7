//! API keys, encryption keys, secrets, and the audit log.

pub mod audit;
pub mod keys;
mod rotation;
pub mod secrets;
