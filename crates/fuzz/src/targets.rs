//! The laws.

pub mod api;
pub mod cron;
pub mod cursor;
pub mod duration;
pub mod failure;
pub mod policy;
pub mod settings;
pub mod wire;
