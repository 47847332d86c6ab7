//! Which systems hear of a job, and the jobs that deliver the events.

pub(crate) mod delivery;
pub(crate) mod endpoint;
