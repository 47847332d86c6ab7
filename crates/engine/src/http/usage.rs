//! What a call has used, as its response says.

use std::collections::BTreeMap;

use http::HeaderName;
use serde_json::Value;
use steadfast_core::{Cost, Invalid, Unit, limits::COST_UNITS_MAX};

use super::response::RecordedResponse;
use crate::limits::http::USAGE_SOURCE_BYTES_MAX;

/// By unit, where a response says how much of it was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UsageSources(BTreeMap<Unit, String>);

impl UsageSources {
    /// As people write them.
    pub(super) fn into_texts(self) -> BTreeMap<String, String> {
        let sources = self.0.into_iter();
        sources
            .map(|(unit, source)| (unit.to_string(), source))
            .collect()
    }

    /// A JSON pointer into the body, or the name of a header.
    pub(super) fn add(&mut self, unit: &str, source: &str) -> Result<(), Invalid> {
        let field = format!("usage.{unit}");
        let unit = Unit::new(unit).map_err(|error| error.within("usage"))?;
        let is_pointer = source.starts_with('/');
        if source.len() > USAGE_SOURCE_BYTES_MAX
            || !(is_pointer || HeaderName::try_from(source).is_ok())
        {
            let expected = format!(
                "must be a JSON pointer such as /usage/total_tokens, or the name of a header, of at \
                 most {USAGE_SOURCE_BYTES_MAX} bytes"
            );
            return Err(Invalid::new(field, format!("{source:?}"), expected));
        }
        self.0.insert(unit, source.to_owned());
        if self.0.len() > COST_UNITS_MAX {
            let expected = format!("must have at most {COST_UNITS_MAX} units");
            return Err(Invalid::new("usage", self.0.len(), expected));
        }
        Ok(())
    }

    /// What the response says; nothing of a unit for which it has no number.
    pub(super) fn read(&self, response: &RecordedResponse) -> Option<Cost> {
        if self.0.is_empty() {
            return None;
        }
        // A body that is cut is no JSON.
        let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
        let amounts = self.0.iter().filter_map(|(unit, source)| {
            let amount = match source.starts_with('/') {
                true => number(body.pointer(source)?),
                false => response
                    .headers
                    .get(&source.to_lowercase())?
                    .trim()
                    .parse()
                    .ok(),
            };
            // What is no amount is not known.
            let amount = amount.filter(|amount| Cost::new([(unit.as_str(), *amount)]).is_ok())?;
            Some((unit.as_str(), amount))
        });
        Cost::new(amounts).ok().filter(|usage| !usage.is_empty())
    }
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_pointer_or_a_header() {
        let refusal = |unit: &str, source: &str| {
            UsageSources::default()
                .add(unit, source)
                .unwrap_err()
                .to_string()
        };
        let mut sources = UsageSources::default();
        sources.add("tokens", "/usage/total_tokens").unwrap();
        sources.add("calls", "X-Calls-Used").unwrap();
        assert!(
            refusal("tokens", "usage total")
                .starts_with("usage.tokens is \"usage total\": must be a JSON")
        );
        assert!(refusal("tokens", "").starts_with("usage.tokens is \"\": must be a JSON"));
        assert!(refusal("US", "/usage").starts_with("usage.unit is \"US\": must have"));
        let texts = sources.into_texts();
        assert_eq!(texts["calls"], "X-Calls-Used");
        assert_eq!(texts["tokens"], "/usage/total_tokens");
    }
}
