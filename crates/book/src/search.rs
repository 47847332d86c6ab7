//! The index of the book's search: one entry for each section, as a script, because a page that was
//! opened from a file may not fetch anything.

use crate::markdown::Document;

/// Of pages, each with its title and its file.
pub fn index<'a>(pages: impl Iterator<Item = (&'a str, &'a str, &'a Document)>) -> String {
    let mut entries = Vec::new();
    for (title, file, document) in pages {
        for section in &document.sections {
            let words: Vec<&str> = section.text.split_whitespace().collect();
            if section.heading.is_empty() && words.is_empty() {
                continue;
            }
            let url = match section.anchor.as_str() {
                "" => file.to_owned(),
                anchor => format!("{file}#{anchor}"),
            };
            entries.push(format!(
                "[{}, {}, {}, {}]",
                literal(title),
                literal(&section.heading),
                literal(&url),
                literal(&words.join(" "))
            ));
        }
    }
    format!("window.BOOK = [\n{}\n];\n", entries.join(",\n"))
}

/// A string of JavaScript.
fn literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(c);
            }
            '<' => literal.push_str("\\u003c"),
            '\u{2028}' | '\u{2029}' => literal.push(' '),
            c if c.is_control() => literal.push(' '),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_cannot_end_the_script() {
        assert_eq!(literal("a\"</script>\n"), "\"a\\\"\\u003c/script> \"");
    }
}
