//! What workers send and receive.

pub(crate) mod claim;
pub(crate) mod handler;
pub(crate) mod heartbeat;
pub(crate) mod settlement;
