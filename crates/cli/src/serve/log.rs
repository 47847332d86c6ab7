//! Where the log goes, and in what form.
//!
//! Much of what is logged was said by others: the failure of a job is whatever its target or its
//! worker says it is. A line break in it would forge a line, and an escape sequence would paint the
//! reader's terminal, so in text every control character is shown and none is passed on. JSON
//! does that by itself.

use std::fmt::{self, Debug, Write as _};

use anyhow::anyhow;
use tracing::field::Field;
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt as _,
    fmt::format::{Writer, debug_fn},
};

use crate::{
    say,
    settings::{Log, LogFormat},
};

pub fn start(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&log.level)?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter);
    let started = match log.format {
        LogFormat::Text => subscriber
            .with_target(false)
            .with_ansi(say::has_colours())
            .fmt_fields(debug_fn(field).delimited(" "))
            .try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow!("cannot start the log: {error}"))
}

fn field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{field}=")?;
    }
    let mut shown = Shown(writer);
    write!(shown, "{value:?}")
}

/// Shows control characters in the place of passing them on.
struct Shown<'w, 'a>(&'w mut Writer<'a>);

impl fmt::Write for Shown<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c.is_control() {
                true => write!(self.0, "{}", c.escape_default())?,
                false => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}
