//! The receivers of events, and the jobs that deliver them.

pub(crate) mod delivery;
pub(crate) mod endpoint;
