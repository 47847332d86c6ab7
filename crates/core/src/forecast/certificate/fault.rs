//! The faults that are played, and what came of each.

use std::{fmt, str::FromStr, time::Duration};

use crate::values::string_enum;

string_enum! {
    /// What goes wrong for a while.
    Fault, "fault" {
        /// The target refuses connections.
        Refuses = "refuses",
        /// The target freezes: it answers nothing, and afterwards works off what was sent.
        Hangs = "hangs",
        /// Twice the jobs arrive.
        Overload = "overload",
    }
}

impl Fault {
    /// What happens, in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Refuses => "the target refuses connections",
            Self::Hangs => "the target hangs",
            Self::Overload => "twice the traffic",
        }
    }
}

/// What came of a fault. Counts are of all jobs since the fault began.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FaultResult {
    /// The fault.
    pub fault: Fault,
    /// The time from the end of the fault until all was well again; `None` if it was not within
    /// the time that was played.
    pub recovers_after: Option<Duration>,
    /// Attempts that started.
    pub attempts: u64,
    /// Jobs that were given up.
    pub dead_letters: u64,
    /// The most due jobs that waited for their start at one time.
    pub waiting_max: u64,
}
