//! Where the log goes, and in what form.
//!
//! Much of what is logged comes from outside: the failure of a job is whatever text its target or
//! its worker sends. A line break in it would forge a log line, and an escape sequence would reach
//! the reader's terminal, so in text every control character is escaped, and so are the marks that
//! change the direction of text and make a line read differently than it is. JSON does the former
//! by itself, and is for programs.

use std::fmt::{self, Debug, Write as _};

use anyhow::anyhow;
use tracing::field::Field;
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt as _,
    fmt::format::{Writer, debug_fn},
};

use crate::{
    output,
    settings::{LogFormat, LogSettings},
};

pub fn start(settings: &LogSettings) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&settings.level)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    let started = match settings.format {
        LogFormat::Text => subscriber
            .with_target(false)
            .with_ansi(output::has_colours())
            .fmt_fields(debug_fn(write_field).delimited(" "))
            .try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start the log: {error}"))
}

fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{field}=")?;
    }
    let mut escaping = EscapingWriter(writer);
    write!(escaping, "{value:?}")
}

/// Marks of bidirectional text: U+202E alone shows the rest of a line backwards.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Escapes control characters.
struct EscapingWriter<'w, W>(&'w mut W);

impl<W: fmt::Write> fmt::Write for EscapingWriter<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if c.is_control() || is_direction_mark(c) {
                write!(self.0, "{}", c.escape_default())?;
            } else {
                self.0.write_char(c)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_forge_a_line_or_turn_it_around_is_escaped() {
        let mut line = String::new();
        let text = "a\nb\u{1b}[31m \u{202e}c\u{2066} é 漢";
        EscapingWriter(&mut line).write_str(text).unwrap();
        assert_eq!(line, r"a\nb\u{1b}[31m \u{202e}c\u{2066} é 漢");
    }
}
