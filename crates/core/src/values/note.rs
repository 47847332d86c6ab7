//! How far an attempt has come: a line for people, and a figure.
//!
//! Both are kept as one text, so that whatever keeps, clears or records the note of an attempt
//! does so with the figure as well, and a node that knows of no figure shows it as `40%`.

use std::fmt;

use super::text::truncate;
use crate::limits;

/// Stands between figure and text, and in no text.
const SEPARATOR: char = '\u{1f}';

/// The newest note of an attempt on its progress.
///
/// ```
/// use steadfast_core::Note;
///
/// let note = Note::read("half way").updated(None, Some(50));
/// assert_eq!(Note::read(&note.to_text()), note);
/// assert_eq!(note.text.as_deref(), Some("half way"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// For people.
    pub text: Option<String>,
    /// From 0 to 100.
    pub percent: Option<u8>,
}

impl Note {
    /// Reads what [`to_text`](Self::to_text) wrote; any other text is a note without a figure.
    pub fn read(stored: &str) -> Self {
        let figure = stored.split_once(SEPARATOR).and_then(|(figure, text)| {
            let percent = figure.strip_suffix('%')?.parse().ok()?;
            (percent <= limits::PERCENT_MAX).then_some((percent, text))
        });
        let (percent, text) = match figure {
            Some((percent, text)) => (Some(percent), text),
            None => (None, stored),
        };
        Self {
            text: (!text.is_empty()).then(|| text.to_owned()),
            percent,
        }
    }

    /// The note after an attempt has reported progress; omitted parts stay. A text that is too long is
    /// cut to [`limits::NOTE_BYTES_MAX`].
    #[must_use]
    pub fn updated(self, text: Option<String>, percent: Option<u8>) -> Self {
        let text = text.map(|text| truncate(text, limits::NOTE_BYTES_MAX));
        Self {
            text: text.or(self.text),
            percent: percent
                .map(|percent| percent.min(limits::PERCENT_MAX))
                .or(self.percent),
        }
    }

    /// One text for both, as it is stored.
    pub fn to_text(&self) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        let text = text.replace(SEPARATOR, " ");
        match self.percent {
            Some(percent) => format!("{percent}%{SEPARATOR}{text}"),
            None => text,
        }
    }
}

/// As `40%: page 3 of 7`, for people.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.percent, &self.text) {
            (Some(percent), Some(text)) => write!(f, "{percent}%: {text}"),
            (Some(percent), None) => write!(f, "{percent}%"),
            (None, text) => f.write_str(text.as_deref().unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_figure_come_back_as_they_were() {
        for (text, percent) in [
            (None, None),
            (Some("half way"), None),
            (None, Some(0)),
            (Some("40% of it"), Some(100)),
            (Some("101%"), None),
        ] {
            let note = Note::default().updated(text.map(str::to_owned), percent);
            assert_eq!(Note::read(&note.to_text()), note);
        }
    }

    #[test]
    fn a_text_cannot_pass_for_a_figure() {
        let note = Note::default().updated(Some("40%\u{1f}done".to_owned()), None);
        assert_eq!(Note::read(&note.to_text()).percent, None);
        for stored in ["101%\u{1f}x", "-1%\u{1f}", "x%\u{1f}", "40\u{1f}"] {
            assert_eq!(Note::read(stored).percent, None, "{stored}");
        }
    }

    #[test]
    fn what_is_left_out_stays() {
        let note = Note::default().updated(Some("page 1".to_owned()), Some(10));
        let note = note.updated(None, Some(20));
        assert_eq!(note.text.as_deref(), Some("page 1"));
        let note = note.updated(Some("page 3".to_owned()), None);
        assert_eq!(note.percent, Some(20));
    }
}
