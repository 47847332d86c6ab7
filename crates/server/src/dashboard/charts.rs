//! Charts: lines over time, rows of bars, and the timeline of a job.

pub mod bars;
pub mod series;
pub mod svg;
pub mod timeline;
