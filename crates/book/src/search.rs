//! The index of the book's search: one entry for each section, as a script, because a page that was
//! opened from a file may not fetch anything.

use crate::book::{Page, texts};
use crate::markdown::{self, Block};

pub fn index(pages: &[Page]) -> String {
    let mut entries = Vec::new();
    for page in pages {
        let mut url = page.file().to_owned();
        let mut heading = String::new();
        let mut words = String::new();
        for block in &page.document.blocks {
            if let Block::Heading(next) = block {
                push(&mut entries, page, &url, &heading, &words);
                heading = markdown::plain(&next.text);
                url = format!("{}#{}", page.file(), next.anchor);
                words.clear();
                continue;
            }
            for text in texts(block) {
                words.push_str(&markdown::plain(&text));
                words.push(' ');
            }
            if let Block::Code(code) = block {
                words.push_str(&code.text);
                words.push(' ');
            }
        }
        push(&mut entries, page, &url, &heading, &words);
    }
    format!("window.BOOK = [\n{}\n];\n", entries.join(",\n"))
}

fn push(entries: &mut Vec<String>, page: &Page, url: &str, heading: &str, words: &str) {
    if heading.is_empty() && words.trim().is_empty() {
        return;
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    entries.push(format!(
        "[{}, {}, {}, {}]",
        literal(page.title()),
        literal(heading),
        literal(url),
        literal(&words.join(" "))
    ));
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
