//! Numbers that JSON can hold. NaN and infinity would be written as `null`, which means that a limit
//! is removed or a default applies; they are an error where they are written instead.

use serde::{Serialize, Serializer, ser};

/// Writes a number that may be left out.
pub fn option<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(number) if !number.is_finite() => {
            Err(ser::Error::custom(format!("{number} is not a number")))
        }
        _ => value.serialize(to),
    }
}

/// Writes a number that may be left out or `null`.
pub(crate) fn nullable<S: Serializer>(
    value: &Option<Option<f64>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    option(&value.flatten(), to)
}

#[cfg(test)]
mod tests {
    use crate::{flow::GatePatch, flow::HealthPatch, policy::PolicyPatch};

    #[test]
    fn what_is_no_number_is_not_written_as_null() {
        let health = |share| HealthPatch {
            failed_share: Some(share),
            ..HealthPatch::default()
        };
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let written = [
                serde_json::to_string(&GatePatch::default().retry_share(number)),
                serde_json::to_string(&GatePatch::default().health(health(number))),
                serde_json::to_string(&PolicyPatch::default().factor(number)),
                serde_json::to_string(&PolicyPatch::default().jitter_factor(number)),
            ];
            for json in written {
                let error = json.unwrap_err().to_string();
                assert_eq!(error, format!("{number} is not a number"));
            }
        }
        let removed = GatePatch {
            retry_share: Some(None),
            ..GatePatch::default()
        };
        let json = serde_json::to_string(&removed).unwrap();
        assert_eq!(json, r#"{"retryShare":null}"#);
    }
}
