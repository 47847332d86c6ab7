//! Verbs that are written once, over [`Transaction`](crate::drivers::transaction::Transaction).

pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod dependencies;
mod documents;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod encryption;
mod erase;
pub(crate) mod event_position;
pub(crate) mod failures;
pub(crate) mod gates;
pub(crate) mod links;
mod logs;
mod operations;
pub(crate) mod outbox;
pub(crate) mod prune;
mod records;
pub(crate) mod schedules;
pub(crate) mod template;
pub(crate) mod tenant_room;
pub(crate) mod unique;
pub(crate) mod waiting_limit;
