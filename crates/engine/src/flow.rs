//! Flow control of a node: the creates it refuses, the gates it claims with, the health of destinations, and its own slots.

pub mod admission;
pub mod call_slots;
pub mod claim_pause;
pub mod forecasts;
pub mod gates;
pub mod health_documents;
pub mod health_tallies;
pub mod store_meter;
