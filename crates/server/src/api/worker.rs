//! The calls of workers: claim, heartbeat, save a step, settle.

pub mod claims;
pub mod heartbeats;
pub mod on_success;
pub mod prerequisites;
pub mod settlements;
pub mod steps;
