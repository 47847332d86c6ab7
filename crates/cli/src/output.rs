//! Standard output that may be closed: `println!` panics when its reader has gone.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

/// Writes a line; an error ends the command when the reader has closed the pipe.
macro_rules! print_line {
    ($($part:tt)*) => {
        $crate::output::write_line(format_args!($($part)*))
    };
}
pub(crate) use print_line;

pub fn write_line(text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_fmt(text)?;
    out.write_all(b"\n")
}

/// JSON that this program makes itself; the server's is printed as it came.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(print_line!("{}", serde_json::to_string_pretty(value)?)?)
}

/// Whether a person reads the output.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether to use colours: on a terminal, unless `NO_COLOR` is set.
pub fn has_colours() -> bool {
    is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
