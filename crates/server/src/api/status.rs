//! Counts, rates, alerts, events and forecasts.

pub mod alerts;
pub mod events;
pub mod forecast;
pub mod stats;
