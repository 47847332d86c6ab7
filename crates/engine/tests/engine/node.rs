//! A node: how it runs, loses its store, and stops.

mod document_cache;
mod leases;
#[cfg(feature = "log-layer")]
mod log_layer;
mod log_lines;
mod polls;
mod running;
mod stopping;
mod store_away;
mod two_engines;
