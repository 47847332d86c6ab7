//! Verbs that are written once, over [`Transaction`](crate::transaction::Transaction).

mod audit;
mod documents;
mod operations;
mod records;
pub(crate) mod schedules;
pub(crate) mod template;
