//! Verbs that are written once, over [`Transaction`](crate::transaction::Transaction).

mod audit;
pub(crate) mod batches;
pub(crate) mod dependencies;
mod documents;
pub(crate) mod event_position;
mod operations;
mod records;
pub(crate) mod schedules;
pub(crate) mod template;
