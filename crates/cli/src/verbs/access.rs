//! API keys, encryption keys, secrets, the audit log, and the tools for agents.

pub mod audit;
pub mod keys;
pub mod mcp;
mod rotation;
pub mod secrets;
