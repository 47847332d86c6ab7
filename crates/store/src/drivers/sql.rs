//! What the SQL drivers share.
//!
//! * `columns`: columns by name. `values`: values to columns and back. `rows`: jobs, with
//!   what only some have, attempts, lanes.
//! * `paging`, `listing`: how lists are walked. `counters`: which counts are stored already.
//!   `waiting`: what waiting jobs are counted as at a time. `recount`: what repairs counters.
//! * `numbers`: lanes and retry policies by their numbers.
//!   `records`, `operations`, `batches`: those in columns.
//! * `session`, `reads`, `transaction`: what both drivers give to the verbs.
//! * `encryption`: columns that cannot be read without a key.
//! * `start`: why a job waits. `tables`: every table, for checks and moves.

pub(crate) mod columns;
pub(crate) mod counters;
mod dependencies;
pub(crate) mod encryption;
mod failures;
pub(crate) mod listing;
mod logs;
pub(crate) mod numbers;
pub(crate) mod operations;
pub(crate) mod prune_position;
mod reads;
pub(crate) mod records;
pub(crate) mod recount;
pub(crate) mod rows;
pub(crate) mod session;
pub(crate) mod start;
pub(crate) mod tables;
pub(crate) mod transaction;
pub(crate) mod values;
pub(crate) mod waiting;

pub(crate) use crate::paging;
