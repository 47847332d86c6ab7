//! One word per meaning, in names and in documents.
//!
//! The list is short on purpose: it holds the second words that people bring along from other
//! queues. Words are given in parts, so that the table does not find itself.

use super::Finding;
use super::tree::{File, Tree, is_word};

/// Parts of a name, and what the thing is called here.
const SECOND_WORDS: &[(&[&str], &str)] = &[
    (&["backoff", "strategy"], "backoff"),
    (&["retry", "strategy"], "retry policy"),
    (&["task", "id"], "job id"),
    (&["job", "type"], "kind, or guarantee"),
    (
        &["job", "status"],
        "state where it is stored, label where it is shown",
    ),
    (&["job", "args"], "payload"),
    (&["dead", "job"], "dead letter"),
    (&["cron", "job"], "schedule"),
    (&["visibility", "timeout"], "lease"),
    (&["fencing", "token"], "fence"),
    (&["failure", "kind"], "failure class"),
    (&[concat!("rea", "per")], "sweeper"),
    (&[concat!("resc", "uer")], "sweeper"),
];

const SPOKEN_IN: &[&str] = &["rs", "sql", "md", "toml", "html", "js"];

/// The glossary names second words, to point from them to the first.
const GLOSSARY: &str = "GLOSSARY.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let banned: Vec<(String, &str)> = SECOND_WORDS
        .iter()
        .map(|(parts, word)| (format!("_{}_", parts.join("_")), *word))
        .collect();
    tree.files
        .iter()
        .filter(|file| file.has_extension(SPOKEN_IN) && !file.path.ends_with(GLOSSARY))
        .flat_map(|file| second_words(file, &banned))
        .collect()
}

fn second_words(file: &File, banned: &[(String, &str)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for name in line.split(|c| !is_word(c)).filter(|name| !name.is_empty()) {
            let parts = in_snake_case(name);
            if let Some((_, word)) = banned.iter().find(|(needle, _)| parts.contains(needle)) {
                let sentence = format!("`{name}` is a second word for a thing; here it is: {word}");
                findings.push(Finding::new(&file.path, number, sentence));
            }
        }
    }
    findings
}

/// `JobKind`, `jobKind` and `job_kind` all become `_job_kind_`, so that one needle finds them.
pub fn in_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    snake.push('_');
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = c.is_lowercase();
        snake.extend(c.to_lowercase());
    }
    snake.push('_');
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    #[test]
    fn every_second_word_is_found() {
        for (parts, word) in SECOND_WORDS {
            let text = format!("\nlet {} = 1;", parts.join("_"));
            let found = findings_in(check, "crates/core/src/a.rs", &text);
            assert_eq!(found.len(), 1, "{parts:?}");
            assert!(
                found[0].starts_with("2: ") && found[0].ends_with(word),
                "{found:?}"
            );
        }
    }

    #[test]
    fn every_spelling_in_every_kind_of_file_is_found() {
        for name in [
            ["task", "_id"],
            ["Task", "Id"],
            ["task", "Id"],
            ["next_task", "_id_max"],
        ] {
            for path in ["a.rs", "a.sql", "docs/a.md"] {
                assert_eq!(
                    lines_found(check, path, &name.concat()),
                    [1],
                    "{name:?} in {path}"
                );
            }
        }
    }

    #[test]
    fn other_words_and_the_glossary_are_left_alone() {
        for text in [
            "multitask_identity",
            "JobKind",
            "/api/v1/dlq",
            "dead_letter",
        ] {
            assert!(findings_in(check, "a.rs", text).is_empty(), "{text}");
        }
        assert!(findings_in(check, "GLOSSARY.md", &["task", "_id"].concat()).is_empty());
    }
}
