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

/// At most `chars_max` characters of a name without colours, cut in its middle: names often differ at
/// their end only.
pub fn shorten_middle(name: &str, chars_max: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= chars_max {
        return name.to_owned();
    }
    let kept = chars_max.saturating_sub(1);
    let (start, end) = (&chars[..kept / 2], &chars[chars.len() - kept.div_ceil(2)..]);
    let cut = if chars_max == 0 { "" } else { "…" };
    start.iter().collect::<String>() + cut + &end.iter().collect::<String>()
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
    fn a_name_that_is_too_long_keeps_its_start_and_end() {
        for (chars, text) in [
            (0, ""),
            (1, "…"),
            (2, "…1"),
            (9, "mail…pe-1"),
            (13, "mail-europe-1"),
        ] {
            assert_eq!(shorten_middle("mail-europe-1", chars), text);
        }
    }

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
