//! For monitoring: health, readiness and metrics.

pub mod health;
pub mod push;
pub mod scrape;
mod text_format;
