//! How well a system is.

use std::{fmt, str::FromStr};

use crate::values::string_enum;

string_enum! {
    /// How a system is.
    SystemState, "state" {
        /// Calls succeed, and no jobs pile up.
        Well = "well",
        /// Calls fail or jobs wait, and at least half as many jobs succeed as arrive.
        Degraded = "degraded",
        /// Fewer than half as many jobs succeed as arrive.
        Down = "down",
    }
}
