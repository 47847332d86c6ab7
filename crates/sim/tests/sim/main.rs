//! The simulator with its seeds: what holds, and which planted bugs it finds.

mod certificate;
mod confirm;
mod disk_errors;
mod model;
mod pace;
mod planted;
mod power;
mod simulation;
