//! Where the log goes, and in what form.
//!
//! Much of what is logged comes from outside: the failure of a job is whatever text its target or
//! its worker sends. A line break in it would forge a log line, and an escape sequence would reach
//! the reader's terminal, so in text every control character is escaped. JSON does that by itself.

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

/// Escapes control characters.
struct EscapingWriter<'w, 'a>(&'w mut Writer<'a>);

impl fmt::Write for EscapingWriter<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if c.is_control() {
                write!(self.0, "{}", c.escape_default())?;
            } else {
                self.0.write_char(c)?;
            }
        }
        Ok(())
    }
}
