//! The health of a destination: whether calling it makes sense at present.

mod rules;

pub(super) use rules::HealthFields;
pub use rules::{HealthPatch, HealthRules};
