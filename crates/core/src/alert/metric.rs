//! A figure of an alert in JSON: always a number, and a whole one without a point.

use serde::{Deserialize, Deserializer, Serializer};

use super::AlertUnit;
use crate::values::duration;

pub fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
    if figure.fract() == 0.0 && (0.0..2_f64.powi(53)).contains(figure) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, positive and exact"
        )]
        return to.serialize_u64(*figure as u64);
    }
    to.serialize_f64(*figure)
}

/// A figure, also of a state that an earlier version has stored: it wrote times as text.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredMetric {
        Number(f64),
        Time(duration::Text),
    }
    Ok(match StoredMetric::deserialize(from)? {
        StoredMetric::Number(number) => number,
        StoredMetric::Time(time) => time.0.as_secs_f64(),
    })
}

/// The unit of a state that was stored without one, until its rule is checked again.
pub fn stored_before_units() -> AlertUnit {
    AlertUnit::Jobs
}
