//! Forecasts: the attempts of one job, and the jobs of a queue or destination by minute.

pub(crate) mod attempts;
pub(crate) mod certificate;
pub(crate) mod due;
pub(crate) mod error;
pub(crate) mod record;
