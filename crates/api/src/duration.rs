//! Durations as people write them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_core::duration;

/// A duration: text as `30s`, `5m`, `1h30m`, or a number of milliseconds. Written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DurationText(#[serde(with = "duration::text")] pub Duration);

impl DurationText {
    /// The duration itself.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl From<Duration> for DurationText {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}
