//! Counts and texts of jobs, formatted for people.

pub use steadfast_core::explain::{shorten, thousands};

use crate::{dashboard::parts::json_text::indented, limits};

pub fn format_percent(rate: Option<f64>) -> String {
    match rate {
        Some(rate) => format!("{:.1} %", rate * 100.0),
        None => "–".to_owned(),
    }
}

/// The beginning of a text that came with a job.
pub struct Excerpt {
    pub text: String,
    /// How many bytes there are, if the text was cut.
    pub total_bytes: Option<usize>,
}

impl Excerpt {
    /// JSON is indented; other text stays as it is.
    pub fn json(text: &str) -> Self {
        Self::of(indented(text).unwrap_or_else(|| text.to_owned()))
    }

    /// Any text as it is.
    pub fn of(mut text: String) -> Self {
        let length = text.len();
        text.truncate(text.floor_char_boundary(limits::PAGE_TEXT_BYTES_MAX));
        Self {
            total_bytes: (text.len() < length).then_some(length),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_its_length_is_given() {
        let long = "é".repeat(limits::PAGE_TEXT_BYTES_MAX);
        let excerpt = Excerpt::json(&long);
        assert!(excerpt.text.len() <= limits::PAGE_TEXT_BYTES_MAX);
        assert_eq!(excerpt.total_bytes, Some(long.len()));
        assert_eq!(Excerpt::json(r#"{"a":1}"#).text, "{\n  \"a\": 1\n}");
    }
}
