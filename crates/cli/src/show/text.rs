//! Numbers and text for people.

use std::cmp::Ordering;

pub use steadfast_core::explain::thousands;

/// A number with its noun: `1 retry`, `2 retries`.
pub fn quantity(number: u64, singular: &str, plural: &str) -> String {
    let noun = if number == 1 { singular } else { plural };
    format!("{} {noun}", thousands(number))
}

/// At most `chars_max` characters of a line; a cut is marked with `…`. Colours take no room.
pub fn shorten(line: &str, chars_max: usize) -> String {
    let length = with_room(line)
        .filter(|(_, takes_room)| *takes_room)
        .count();
    if length <= chars_max {
        return line.to_owned();
    }
    let mut cut = String::new();
    let mut seen = 0;
    for (c, takes_room) in with_room(line) {
        seen += usize::from(takes_room);
        match (takes_room, seen.cmp(&chars_max)) {
            (false, _) | (true, Ordering::Less) => cut.push(c),
            (true, Ordering::Equal) => cut.push('…'),
            (true, Ordering::Greater) => {}
        }
    }
    cut
}

/// Each character, and whether it takes room on a terminal: escape sequences of colours do not.
fn with_room(line: &str) -> impl Iterator<Item = (char, bool)> {
    let mut in_colour = false;
    line.chars().map(move |c| {
        in_colour |= c == '\x1b';
        let takes_room = !in_colour;
        in_colour &= c != 'm';
        (c, takes_room)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_is_plural() {
        for (number, text) in [
            (0, "0 attempts"),
            (1, "1 attempt"),
            (2_000, "2,000 attempts"),
        ] {
            assert_eq!(quantity(number, "attempt", "attempts"), text);
        }
    }

    #[test]
    fn a_line_is_cut_with_a_mark_and_keeps_its_colours() {
        assert_eq!(shorten("12345", 5), "12345");
        assert_eq!(shorten("123456", 5), "1234…");
        assert_eq!(
            shorten("\x1b[31m123\x1b[39m456", 5),
            "\x1b[31m123\x1b[39m4…"
        );
        assert_eq!(shorten("", 5), "");
    }
}
