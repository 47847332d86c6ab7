//! For tests of workers, on a server whose clock is moved by hand.

use serde::{Deserialize, Serialize};
use steadfast_core::Timestamp;

use crate::duration::DurationText;

/// A request to advance the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AdvanceClockRequest {
    /// By how much.
    pub by: DurationText,
}

/// The time of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Clock))]
#[non_exhaustive]
pub struct ClockBody {
    /// The current time of the store.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub now: Timestamp,
}

impl ClockBody {
    /// The time of a store.
    pub fn new(now: Timestamp) -> Self {
        Self { now }
    }
}

/// A request to wait until no work remains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunUntilIdleRequest {
    /// How long to wait, up to 60s; 10s by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<DurationText>,
}

/// Work that remains at the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Idle))]
#[non_exhaustive]
pub struct IdleBody {
    /// The current time of the store.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub now: Timestamp,
    /// Running jobs.
    pub running: u64,
    /// Due jobs and schedules.
    pub due: u64,
}

impl IdleBody {
    /// What is left at this time.
    pub fn new(now: Timestamp, running: u64, due: u64) -> Self {
        Self { now, running, due }
    }
}
