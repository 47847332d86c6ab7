//! What keeps jobs back, and what is reported about it.

mod alerts;
mod destinations;
mod forecast;
mod gates;
mod slow_store;
