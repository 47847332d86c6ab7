//! Errors of serde as data.
//!
//! Deserializers of libraries turn it into sentences at once, and a stable code would have to be
//! found by searching these. An error type of our own keeps which field it was, and what about it.

use std::{
    borrow::Cow,
    fmt::{self, Display},
};

use axum::http::StatusCode;
use serde::de::{self, Expected, Unexpected};

use crate::http::problem::Problem;

/// A field that is wrong.
#[derive(Debug)]
pub struct FieldError {
    code: &'static str,
    /// From the outermost to the innermost; indexes as `[0]`.
    path: Vec<Cow<'static, str>>,
    sentence: String,
}

impl FieldError {
    fn new(code: &'static str, sentence: String) -> Self {
        let path = Vec::new();
        Self {
            code,
            path,
            sentence,
        }
    }

    /// The same error, inside of this field.
    #[must_use]
    pub fn within(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.path.insert(0, field.into());
        self
    }

    /// The same error, inside of this entry of a list.
    #[must_use]
    pub fn at_index(self, index: usize) -> Self {
        self.within(format!("[{index}]"))
    }

    fn field(&self) -> Option<String> {
        let mut field: Option<String> = None;
        for part in &self.path {
            field = Some(match field {
                None => part.clone().into_owned(),
                Some(outer) if part.starts_with('[') => outer + part.as_ref(),
                Some(outer) => format!("{outer}.{part}"),
            });
        }
        field
    }
}

impl From<FieldError> for Problem {
    fn from(error: FieldError) -> Self {
        let field = error.field();
        let detail = match &field {
            Some(field) if error.code == "invalid" => format!("{field}: {}", error.sentence),
            _ => error.sentence,
        };
        let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.code, detail);
        match field {
            Some(field) => problem.at(field),
            None => problem,
        }
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for FieldError {}

impl de::Error for FieldError {
    fn custom<T: Display>(sentence: T) -> Self {
        Self::new("invalid", sentence.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let sentence = match expected {
            [] => format!("unknown field {field:?}"),
            _ => format!(
                "unknown field {field:?}; known fields: {}",
                expected.join(", ")
            ),
        };
        Self::new("unknown_field", sentence).within(field.to_owned())
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new("missing_field", format!("the field {field:?} is missing")).within(field)
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new("invalid", "must be given once".to_owned()).within(field)
    }

    fn unknown_variant(word: &str, expected: &'static [&'static str]) -> Self {
        let words = expected.join(", ");
        Self::new("invalid", format!("{word:?} must be one of {words}"))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = plain(expected);
        Self::new("invalid", format!("must be {expected}, not {found}"))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = plain(expected);
        Self::new("invalid", format!("must be {expected}, not {found}"))
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::new("invalid", format!("must be {expected}, not {length} long"))
    }
}

/// The expectation, without names of Rust types.
fn plain(expected: &dyn Expected) -> String {
    match expected.to_string().as_str() {
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" | "u64" | "usize" => "a whole number from 0".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}
