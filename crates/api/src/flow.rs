//! What keeps jobs back: queues, gates, destinations; and what is coming.

pub(crate) mod destination;
pub(crate) mod forecast;
pub(crate) mod gate;
pub(crate) mod queue;
