//! The server itself: keys, secrets, nodes, workers, and the clock of a test server.

pub(crate) mod key;
pub(crate) mod node;
pub(crate) mod secret;
pub(crate) mod testing;
