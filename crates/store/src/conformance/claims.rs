//! Which jobs start, and when.

pub mod claim;
pub mod due;
pub mod fair_shares;
pub mod flow;
pub mod flow_model;
pub mod gate_changes;
pub mod ordered_keys;
pub mod pace;
pub mod pause;
pub mod start;
pub mod units;
pub mod wake;
