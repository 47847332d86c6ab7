//! The part of Markdown that the book is written in, as HTML.
//!
//! Small on purpose: headings, paragraphs, lists, tables, quotes and fenced code. What it does not
//! know is a finding and not a guess, so that a page looks the same here as where it is hosted.

use std::collections::HashMap;

/// A page taken apart.
#[derive(Default)]
pub struct Document {
    pub blocks: Vec<Block>,
    /// Lines that cannot be shown, with the reason.
    pub findings: Vec<(usize, String)>,
}

pub enum Block {
    Heading(HeadingLine),
    Paragraph(String),
    Code(Code),
    /// Rows of cells; the first is the head.
    Table(Vec<Vec<String>>),
    List(List),
    Quote(String),
    Rule,
}

pub struct HeadingLine {
    pub level: usize,
    pub text: String,
    /// The name that links use.
    pub anchor: String,
}

/// A fenced block: "```python file=verify.py".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// Of its first line, counted from 1.
    pub line: usize,
    pub language: String,
    /// What follows the language.
    pub options: Vec<String>,
    pub text: String,
}

pub struct List {
    pub is_ordered: bool,
    pub items: Vec<(String, Option<List>)>,
}

impl Code {
    /// The value of `name=value`.
    pub fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.options.iter();
        options.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

impl Document {
    pub fn codes(&self) -> impl Iterator<Item = &Code> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Code(code) => Some(code),
            _ => None,
        })
    }

    pub fn headings(&self) -> impl Iterator<Item = &HeadingLine> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Heading(heading) => Some(heading),
            _ => None,
        })
    }
}

pub fn parse(text: &str) -> Document {
    let lines: Vec<&str> = text.lines().collect();
    let mut document = Document::default();
    let mut anchors = HashMap::new();
    let mut at = 0;
    while at < lines.len() {
        at = parse_block(&lines, at, &mut anchors, &mut document);
    }
    document
}

/// Parses the block that begins at this line, and returns the line behind it.
fn parse_block(
    lines: &[&str],
    at: usize,
    anchors: &mut HashMap<String, usize>,
    document: &mut Document,
) -> usize {
    let line = lines[at];
    if line.trim().is_empty() {
        return at + 1;
    }
    if line.starts_with("```") {
        let (code, next) = fenced(lines, at);
        document.blocks.push(Block::Code(code));
        return next;
    }
    if let Some((level, text)) = heading(line) {
        let slug = slug(text);
        let seen = anchors.entry(slug.clone()).or_insert(0);
        let anchor = if *seen == 0 {
            slug
        } else {
            format!("{slug}-{seen}")
        };
        *seen += 1;
        let text = text.to_owned();
        let heading = HeadingLine {
            level,
            text,
            anchor,
        };
        document.blocks.push(Block::Heading(heading));
        return at + 1;
    }
    if line.starts_with('<') {
        let sentence = "raw HTML is not shown in the book; write it in Markdown".to_owned();
        document.findings.push((at + 1, sentence));
        return at + 1;
    }
    if line.trim() == "---" {
        document.blocks.push(Block::Rule);
        return at + 1;
    }
    let last = end_of(lines, at);
    let chunk = &lines[at..last];
    document.blocks.push(if line.starts_with('|') {
        Block::Table(table(chunk))
    } else if line.starts_with("> ") {
        let without = chunk.iter().map(|line| line.trim_start_matches(['>', ' ']));
        Block::Quote(without.collect::<Vec<_>>().join(" "))
    } else if item(line).is_some() {
        let (list, next) = list(lines, at, 0);
        document.blocks.push(Block::List(list));
        return next;
    } else {
        Block::Paragraph(chunk.join("\n"))
    });
    last
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|&c| c == '#').count();
    let text = line[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then_some((level, text.trim()))
}

/// The first line that does not belong to the paragraph, table or quote that begins here.
fn end_of(lines: &[&str], at: usize) -> usize {
    let begins_another = |line: &str| {
        line.trim().is_empty()
            || line.starts_with("```")
            || heading(line).is_some()
            || item(line).is_some_and(|(indent, ..)| indent == 0)
    };
    let rest = lines[at + 1..].iter();
    at + 1 + rest.take_while(|line| !begins_another(line)).count()
}

fn fenced(lines: &[&str], at: usize) -> (Code, usize) {
    let marks = lines[at].chars().take_while(|&c| c == '`').count();
    let mut words = lines[at][marks..].split([' ', ',']).map(str::to_owned);
    let language = words.next().unwrap_or_default();
    let body = &lines[at + 1..];
    let fence = &lines[at][..marks];
    let length = body.iter().take_while(|line| **line != fence).count();
    let code = Code {
        line: at + 2,
        language,
        options: words.collect(),
        text: body[..length].join("\n"),
    };
    (code, at + length + 2)
}

fn table(chunk: &[&str]) -> Vec<Vec<String>> {
    let is_line = |row: &Vec<String>| {
        row.iter()
            .all(|cell| cell.trim_matches([':', '-']).is_empty())
    };
    let rows: Vec<Vec<String>> = chunk.iter().map(|line| cells(line)).collect();
    let mut rows = rows.into_iter();
    let head = rows.next();
    head.into_iter().chain(rows.skip_while(is_line)).collect()
}

/// Cells of a row. A `|` in code or behind `\` is text.
fn cells(line: &str) -> Vec<String> {
    let inside = line.trim().trim_start_matches('|');
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in inside.chars() {
        match c {
            '|' if escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            _ => cell.push(c),
        }
        escaped = c == '\\';
    }
    cells.push(cell.trim().to_owned());
    cells
}

/// `- text` or `1. text`: its indentation, whether it is numbered, and its text.
fn item(line: &str) -> Option<(usize, bool, &str)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    if let Some(text) = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")) {
        return Some((indent, false, text));
    }
    let (number, text) = text.split_once(". ")?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    is_number.then_some((indent, true, text))
}

fn list(lines: &[&str], from: usize, indent: usize) -> (List, usize) {
    let is_ordered = item(lines[from]).is_some_and(|(_, ordered, _)| ordered);
    let mut items: Vec<(String, Option<List>)> = Vec::new();
    let mut at = from;
    while at < lines.len() {
        let line = lines[at];
        match item(line) {
            Some((depth, _, text)) if depth == indent => items.push((text.to_owned(), None)),
            Some((depth, ..)) if depth > indent && !items.is_empty() => {
                let (inner, next) = list(lines, at, depth);
                if let Some(last) = items.last_mut() {
                    last.1 = Some(inner);
                }
                at = next;
                continue;
            }
            None if line.starts_with("  ") => {
                if let Some(last) = items.last_mut() {
                    last.0.push(' ');
                    last.0.push_str(line.trim());
                }
            }
            _ => break,
        }
        at += 1;
    }
    (List { is_ordered, items }, at)
}

/// The name of a heading in links, as code hosts make it.
pub fn slug(text: &str) -> String {
    let kept = plain(text).to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Text without its marks.
pub fn plain(text: &str) -> String {
    let mut plain = String::new();
    for piece in crate::inline::parse(text) {
        piece.push_plain(&mut plain);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart() {
        let text = "# Title\n\nOne\ntwo.\n\n- a\n  more\n  - b\n- c\n\n| x | y |\n|---|---|\n| `a\\|b` | 2 |\n\n```sh file=a.sh\nls\n```\n## Title\n";
        let document = parse(text);
        let anchors: Vec<&str> = document.headings().map(|h| h.anchor.as_str()).collect();
        assert_eq!(anchors, ["title", "title-1"]);
        let code = document.codes().next().unwrap();
        assert_eq!((code.line, code.language.as_str()), (16, "sh"));
        assert_eq!(
            (code.option("file"), code.text.as_str()),
            (Some("a.sh"), "ls")
        );
        let Block::List(list) = &document.blocks[2] else {
            panic!("no list")
        };
        assert_eq!(list.items.len(), 2);
        assert_eq!(list.items[0].0, "a more");
        assert!(
            list.items[0]
                .1
                .as_ref()
                .is_some_and(|inner| inner.items[0].0 == "b")
        );
        let Block::Table(rows) = &document.blocks[3] else {
            panic!("no table")
        };
        assert_eq!(rows[1], ["`a|b`", "2"]);
    }

    #[test]
    fn names_of_headings_are_those_of_code_hosts() {
        assert_eq!(slug("Past one primary"), "past-one-primary");
        assert_eq!(slug("`serve`: what, and *why*?"), "serve-what-and-why");
    }

    #[test]
    fn raw_html_is_a_finding() {
        assert_eq!(parse("a\n\n<div>").findings[0].0, 3);
    }
}
