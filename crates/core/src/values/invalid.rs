//! The one error of construction: which field, what it was, what it may be.

use std::fmt;

use crate::limits;

/// A value that breaks a rule or a limit, refused before anything is stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}: {expected}")]
pub struct Invalid {
    /// The field at fault, in the spelling of the JSON API (`maxRetries`, `rules[2].match`).
    pub field: String,
    /// The refused value, cut to a readable length.
    pub value: String,
    /// The expectation, as a sentence fragment ("must be …").
    pub expected: String,
}

impl Invalid {
    /// A refusal of a value. The value is cut to [`limits::INVALID_VALUE_CHARS_MAX`] characters.
    pub fn new(
        field: impl Into<String>,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        let mut value = value.to_string();
        if let Some((cut, _)) = value.char_indices().nth(limits::INVALID_VALUE_CHARS_MAX) {
            value.truncate(cut);
            value.push('…');
        }
        Self {
            field: field.into(),
            value,
            expected: expected.into(),
        }
    }

    /// The same error for a field that lies inside another one: `delay` within `rules[2]` becomes
    /// `rules[2].delay`.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        let separator = if self.field.starts_with('[') { "" } else { "." };
        self.field = format!("{outer}{separator}{}", self.field);
        self
    }
}
