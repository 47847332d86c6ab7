//! Leftovers that should be gone before the commit.

use super::Finding;
use super::rust::code_and_comments;
use super::tree::{File, Tree, is_word, numbered};

/// Calls and attributes, looked for in code alone.
const IN_CODE: &[(&str, &str)] = &[
    (
        "todo!(",
        "write the code, or return an error that says what is not supported",
    ),
    (
        "unimplemented!(",
        "write the code, or return an error that says what is not supported",
    ),
    ("dbg!(", "remove it, or log with `tracing`"),
    (
        "#[allow(",
        "use `#[expect(…, reason = \"…\")]`, which tells when it is no longer needed",
    ),
    (
        "#![allow(",
        "use `#![expect(…, reason = \"…\")]`, which tells when it is no longer needed",
    ),
];

const IGNORED: &str = "#[ignore";

/// Notes to oneself, looked for in comments and in all other text.
const IN_NOTES: &[&str] = &["TODO", "FIXME", "XXX"];

const NOTED_IN: &[&str] = &[
    "md", "sql", "toml", "sh", "html", "css", "js", "yml", "yaml",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if file.rust.is_some() {
            if is_suspect(&file.text) {
                let (code, comments) = code_and_comments(&file.text);
                findings.extend(in_code(file, &code));
                findings.extend(ignored_tests(file, &code));
                findings.extend(notes(file, &comments));
            }
        } else if file.has_extension(NOTED_IN) {
            findings.extend(notes(file, &file.text));
        }
    }
    findings
}

/// Few files have a needle, and taking all apart would take seconds.
fn is_suspect(text: &str) -> bool {
    let needles = IN_CODE.iter().map(|(needle, _)| needle);
    let mut needles = needles.chain(IN_NOTES).chain(&[IGNORED]);
    needles.any(|needle| text.contains(needle))
}

fn in_code(file: &File, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(code) {
        for (needle, instead) in IN_CODE {
            let found = line
                .match_indices(needle)
                .any(|(at, _)| starts_word(line, at));
            if found {
                let sentence = format!("`{needle}` is a leftover; {instead}");
                findings.push(Finding::new(&file.path, number, sentence));
            }
        }
    }
    findings
}

fn ignored_tests(file: &File, code: &str) -> Vec<Finding> {
    let ignored = numbered(code).filter(|(_, line)| {
        let after = line
            .split_once(IGNORED)
            .map(|(_, after)| after.trim_start());
        after.is_some_and(|after| !after.starts_with('='))
    });
    ignored
        .map(|(number, _)| {
            let sentence = "an ignored test says why: `#[ignore = \"reason\"]`";
            Finding::new(&file.path, number, sentence)
        })
        .collect()
}

fn notes(file: &File, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in numbered(text) {
        for needle in IN_NOTES {
            let mut found = line.match_indices(needle);
            if found.any(|(at, _)| starts_word(line, at) && ends_word(line, at + needle.len())) {
                let sentence = format!("`{needle}` is a leftover; do it now or open an issue");
                findings.push(Finding::new(&file.path, number, sentence));
            }
        }
    }
    findings
}

fn starts_word(line: &str, at: usize) -> bool {
    !line[..at].chars().next_back().is_some_and(is_word)
}

fn ends_word(line: &str, at: usize) -> bool {
    !line[at..].chars().next().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    #[test]
    fn unfinished_code_is_found() {
        for code in [
            "fn a() { todo!() }",
            "fn a() { unimplemented!(\"later\") }",
            "let x = dbg!(y);",
            "#[allow(dead_code)]",
            "#![allow(dead_code)]",
            "#[ignore]",
        ] {
            assert_eq!(
                lines_found(check, "a.rs", &format!("\n{code}\n")),
                [2],
                "{code}"
            );
        }
    }

    #[test]
    fn code_that_only_looks_unfinished_is_not() {
        for code in [
            "let x = \"todo!()\";",
            "fn my_todo() {}",
            "#[expect(dead_code, reason = \"x\")]",
            "#[ignore = \"needs two machines\"]",
        ] {
            let found = findings_in(check, "a.rs", code);
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn notes_to_oneself_are_found_in_comments_and_documents() {
        for note in IN_NOTES {
            assert_eq!(
                lines_found(check, "a.rs", &format!("x;\n// {note}: later")),
                [2]
            );
            assert_eq!(
                lines_found(check, "a.sql", &format!("-- {note} later")),
                [1]
            );
            assert_eq!(lines_found(check, "docs/a.md", note), [1]);
            assert!(lines_found(check, "a.rs", &format!("// {note}S")).is_empty());
        }
    }
}
