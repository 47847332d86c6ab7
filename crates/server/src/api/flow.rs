//! Flow control: queues, gates, destinations, nodes and workers.

pub mod destinations;
pub mod gates;
pub mod nodes;
pub mod queues;
pub mod workers;
