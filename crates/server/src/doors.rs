//! Doors: APIs of other products, for programs that use their clients.
//!
//! A door translates at the edge. What it creates are jobs, gates and schedules like any other, so
//! limits, retries and pages apply to them; and what it does not support it refuses by name.

pub mod qstash;
