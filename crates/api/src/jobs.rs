//! Jobs and their attempts: create, query, change them, one by one or many at once.

pub(crate) mod attempt;
pub(crate) mod batch;
pub(crate) mod bulk;
pub(crate) mod cloud_event;
pub(crate) mod create;
pub(crate) mod create_result;
pub(crate) mod edit;
pub(crate) mod event;
pub(crate) mod job;
pub(crate) mod log;
pub(crate) mod operation;
pub(crate) mod reference;
