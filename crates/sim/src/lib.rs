//! The proving ground: is anything acknowledged ever lost, does anything settled ever run again?
//!
//! Several nodes work on one store, under one clock that moves only by steps, and one
//! number decides everything that happens. No other crate may depend on this one, so that fault
//! injection can never be linked into the product.
//!
//! # Layout
//!
//! * [`Simulation`] takes the steps; `tasks` decides which future goes next, `script` what
//!   handlers do, `workload` what clients ask for.
//! * [`FaultyStore`] refuses, delays, and loses answers.
//! * `observed` records what the store really answered in the [`History`], which checks the
//!   [`Invariant`]s.
//! * [`Bug`] is the list of planted bugs, which the simulation has to find.
//! * [`model`] is the exhaustive check of a small world.
//! * [`certificate`] plays outages with the real engine, against what is predicted of them.
//! * [`pace`] simulates learned pace against targets whose capacity is known.
//! * [`power`] simulates a power failure after each operation on the disk.
//! * [`prove`] says how far proofs go, and prints their figures.

#![expect(
    clippy::unwrap_used,
    reason = "a simulation that cannot go on has failed"
)]

pub mod certificate;
pub mod model;
pub mod pace;
pub mod power;
pub mod prove;

mod audit;
mod backend;
mod expected;
mod faulty;
mod history;
mod invariant;
mod observed;
mod planted;
mod script;
mod simulation;
mod summary;
mod tasks;
mod workload;

pub use backend::Backend;
pub use faulty::{FaultInjector, FaultyStore};
pub use history::{Event, History, Violation};
pub use invariant::{Counters, Invariant};
pub use planted::Bug;
pub use simulation::{Report, Simulation};
pub use summary::{Summary, seeds, silence_planned_panics};
