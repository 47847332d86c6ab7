//! Charts: lines over time, rows of bars, and the timeline of a job.

pub mod bars;
pub mod outage;
pub mod series;
pub mod svg;
pub mod timeline;

pub use series::{Marker, TimeBuckets};
pub use svg::Svg;
