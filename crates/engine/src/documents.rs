//! Settings and records of the store that a node keeps in memory.

pub mod cache;
pub mod certificates;
pub mod endpoints;
pub mod named;
pub mod node_state;
pub mod policy_levels;
pub mod secrets;
