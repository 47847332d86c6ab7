//! Standard output that may be closed: `println!` panics when its reader has gone.
//!
//! Much of what is printed comes from outside, as the message of a failure. An escape sequence in it
//! would reach the terminal, so control characters are escaped, but for colours.

use std::{
    borrow::Cow,
    fmt::{Display, Write as _},
    io::{self, IsTerminal as _, Write as _},
};

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Writes a line; an error ends the command when the reader has closed the pipe.
macro_rules! print_line {
    ($($part:tt)*) => {
        $crate::output::write_line(format_args!($($part)*))
    };
}
pub(crate) use print_line;

pub fn write_line(text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let text = text.to_string();
    let mut out = io::stdout().lock();
    out.write_all(escape_controls(&text, has_colours()).as_bytes())?;
    out.write_all(b"\n")
}

/// The text without what changes a terminal: line breaks, tabs and, if they are wanted, colours
/// stay, up to its end.
fn escape_controls(text: &str, has_colours: bool) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !(c.is_control() || is_direction_mark(c));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    let mut is_coloured = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour_length(rest).filter(|_| has_colours);
        is_coloured |= colour.is_some();
        let (head, tail) = rest.split_at(colour.unwrap_or(c.len_utf8()));
        if colour.is_some() || is_plain(c) {
            escaped.push_str(head);
        } else {
            push_escaped(&mut escaped, c);
        }
        rest = tail;
    }
    if is_coloured && !escaped.ends_with(PLAIN) {
        escaped.push_str(PLAIN);
    }
    Cow::Owned(escaped)
}

/// A text from outside as it stands in a cell: line breaks stay, and nothing else that a terminal
/// obeys, colours included.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push(c),
            '\t' => escaped.push(' '),
            c if c.is_control() || is_direction_mark(c) => push_escaped(&mut escaped, c),
            c => escaped.push(c),
        }
    }
    escaped
}

/// As JSON has it, so that what programs read stays what it was.
fn push_escaped(text: &mut String, c: char) {
    let _ = write!(text, "\\u{:04x}", u32::from(c));
}

/// Ends all colours.
const PLAIN: &str = "\x1b[0m";

/// How long the colour is with which a text begins, in bytes: `ESC [ 31 m`. Colours, bold and dim
/// are what this program uses; others could hide what follows.
fn colour_length(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\x1b[")?;
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let is_harmless = match numbers[..end].split(';').collect::<Vec<_>>()[..] {
        ["38", "5", colour] => colour.parse::<u8>().is_ok_and(|colour| colour > 0),
        ref all => all.iter().all(|number| {
            let number = number.parse::<u8>();
            number.is_ok_and(|number| matches!(number, 0..=2 | 22 | 31..=37 | 39 | 90..=97))
        }),
    };
    let is_colour = numbers[end..].starts_with('m') && is_harmless;
    is_colour.then_some("\x1b[".len() + end + 1)
}

/// Marks of bidirectional text: U+202E alone shows the rest of a line backwards.
pub fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// How far something has come, with its id in front. Outside a terminal it shows nothing.
pub fn progress_bar(id: impl Display, total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{prefix} {bar:30} {pos}/{len} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(id.to_string());
    bar
}

/// JSON that this program creates; responses of the server are printed unchanged.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(print_line!("{}", serde_json::to_string_pretty(value)?)?)
}

/// Whether a person reads the output.
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether to use colours: on a terminal, unless `NO_COLOR` is set.
pub fn has_colours() -> bool {
    is_terminal() && wants_colours()
}

fn wants_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A line for people that must not be overlooked, beside the output.
pub fn warn_in_colour(sentence: &str) {
    let sentence = escape(sentence);
    if io::stderr().is_terminal() && wants_colours() {
        eprintln!("\x1b[1;31m{sentence}\x1b[0m");
    } else {
        eprintln!("{sentence}");
    }
}

/// Whether something went well, as one character.
pub fn mark_of(is_success: bool) -> String {
    let (mark, colour) = if is_success {
        ("✓", "32")
    } else {
        ("✗", "31")
    };
    if has_colours() {
        format!("\x1b[{colour}m{mark}\x1b[0m")
    } else {
        mark.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_change_the_terminal() {
        for has_colours in [false, true] {
            for (text, expected) in [
                ("a\tb\nc ✓", "a\tb\nc ✓"),
                (
                    "\x1b[2J\rsucceeded\u{7}\u{9b}2J\u{202e}",
                    "\\u001b[2J\\u000dsucceeded\\u0007\\u009b2J\\u202e",
                ),
                ("\x1b[8mhidden", "\\u001b[8mhidden"),
                ("\x1b[32;40m.", "\\u001b[32;40m."),
            ] {
                assert_eq!(escape_controls(text, has_colours), expected);
            }
        }
        let red = "\x1b[31mfailed";
        assert_eq!(escape_controls(red, false), "\\u001b[31mfailed");
        assert_eq!(escape_controls(red, true), format!("{red}\x1b[0m"));
        let closed = "\x1b[38;5;9m✗\x1b[0m";
        assert_eq!(escape_controls(closed, true), closed);
    }
}
