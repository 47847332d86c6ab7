//! Standard output that may go away: `println!` panics when its reader has gone.

use std::io::{self, IsTerminal as _, Write as _};

use serde_json::Value;

/// Writes a line, and ends the command if nobody reads it any more.
macro_rules! say {
    ($($part:tt)*) => {
        $crate::say::line(format_args!($($part)*))
    };
}
pub(crate) use say;

pub fn line(text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_fmt(text)?;
    out.write_all(b"\n")
}

/// JSON for programs.
pub fn json(value: &Value) -> io::Result<()> {
    line(format_args!("{value:#}"))
}

/// Whether a person is looking.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether colours are wanted: on a terminal, unless the user has said no to them everywhere.
pub fn has_colours() -> bool {
    is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
