//! Flow control: queues, gates, destinations and forecasts.

pub(crate) mod destination;
pub(crate) mod forecast;
pub(crate) mod gate;
pub(crate) mod pace;
pub(crate) mod queue;
