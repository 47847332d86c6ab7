//! The proving ground: is anything acknowledged ever lost, does anything settled ever run again?
//!
//! Several nodes work on one store, under one clock that only moves when it is told to, and one
//! number decides everything that happens. Nobody may depend on this crate, so that fault
//! injection can never be linked into the product.
//!
//! # Layout
//!
//! * [`Simulation`] takes the steps; `tasks` decides which future goes next, `script` what
//!   handlers do, `wishes` what clients ask for.
//! * [`FaultyStore`] refuses, delays, and loses answers.
//! * `watched` sees what the store really answered and tells the [`History`], which knows the
//!   [`Invariant`]s.
//! * [`Bug`] is the list of planted bugs, which the simulation has to find.
//! * [`model`] is the exhaustive check of a small world.
//! * [`power`] takes the power away after each operation on the disk.
//! * [`prove`] says how far proofs go, and tells what they came to.

#![expect(
    clippy::unwrap_used,
    reason = "a simulation that cannot go on has failed"
)]

pub mod model;
pub mod power;
pub mod prove;

mod audit;
mod faulty;
mod history;
mod invariant;
mod known;
mod layer;
mod pass;
mod planted;
mod script;
mod simulation;
mod tasks;
mod watched;
mod wishes;

pub use faulty::FaultyStore;
pub use history::{Event, History, Violation};
pub use invariant::{Counters, Invariant};
pub use pass::{Pass, seeds, silence_planned_panics};
pub use planted::Bug;
pub use simulation::{On, Report, Simulation};
