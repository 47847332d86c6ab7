//! Flow control: what may start now, and who is next.
//!
//! Everything here is arithmetic on values. Stores hold the states, and ask within a claim; people
//! are told the same answers, by the same functions.
//!
//! * `destination` and `sublane`: what the gates look at.
//! * `gate`: what a person sets. `gates`: which of them apply to a job.
//! * `room`: how many jobs a gate lets start now, or when it opens.
//! * `fair`: which tenant is next.

mod destination;
mod fair;
mod gate;
mod gates;
mod room;
mod sublane;

pub use destination::Destination;
pub use fair::{Share, Weight};
pub use gate::{Gate, GateId, GateLimits, GateScope, Pause, Rate, RetryShare};
pub use gates::{AppliedGate, GateDefaults, GateNumber, Gates};
pub use room::{ClosedBy, GateState, Room};
pub use sublane::Sublane;
