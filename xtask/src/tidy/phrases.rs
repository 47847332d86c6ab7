//! Words and phrases that were retired because they hide who does what.
//!
//! A sentence names its subject: the caller, the holder, a waiting fetcher. Names of functions and
//! tests are sentences too, so names, comments and literals are all read, and across the end of a
//! line, where a comment may be wrapped.

use super::Finding;
use super::tree::{File, Tree, is_word, numbered};
use super::words::in_snake_case;

/// What is no longer written, and what to write instead. A longer phrase stands before a part of
/// it.
const RETIRED: &[(&str, &str)] = &[
    ("where nobody says", "by default, the default"),
    ("nobody", "the subject: no caller, no holder, no node"),
    ("somebody", "the subject: a caller, a holder, a node"),
    ("whoever", "the subject: the caller, the holder"),
    ("is told", "learns, receives, is notified"),
    ("are told", "learn, receive, are notified"),
    ("taken back", "revoked"),
    ("middling", "typical"),
    ("what came back", "the response"),
    ("said no", "refused"),
];

const WRITTEN_IN: &[&str] = &["rs", "sql", "md", "toml", "html", "js"];

/// This table.
const TABLE: &str = "xtask/src/tidy/phrases.rs";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let retired: Vec<(Vec<&str>, &str)> = RETIRED
        .iter()
        .map(|(phrase, instead)| (phrase.split(' ').collect(), *instead))
        .collect();
    tree.files
        .iter()
        .filter(|file| file.has_extension(WRITTEN_IN) && file.path != TABLE)
        .flat_map(|file| phrases(file, &retired))
        .collect()
}

fn phrases(file: &File, retired: &[(Vec<&str>, &str)]) -> Vec<Finding> {
    let text = file.text.to_lowercase();
    let may_be_here = |phrase: &[&str]| phrase.iter().all(|word| text.contains(word));
    // Few files have the words, and taking all apart would take seconds.
    if !retired.iter().any(|(phrase, _)| may_be_here(phrase)) {
        return Vec::new();
    }
    let words = words(&file.text);
    let mut findings = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_here = |phrase: &[&str]| {
            let here = words[at..].iter().map(|word| word.text.as_str());
            words.len() - at >= phrase.len()
                && here.zip(phrase).all(|(word, &wanted)| word == wanted)
        };
        match retired.iter().find(|(phrase, _)| is_here(phrase)) {
            Some((phrase, instead)) => {
                let sentence = format!("`{}` is retired; write: {instead}", phrase.join(" "));
                findings.push(Finding::new(&file.path, words[at].line, sentence));
                at += phrase.len();
            }
            None => at += 1,
        }
    }
    findings
}

struct Word {
    line: usize,
    /// In lower case; empty where a sentence ends, so that no phrase goes on behind it.
    text: String,
}

/// `is_told`, `isTold` and `is told` are the same two words.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for (line, text) in numbered(text) {
        for piece in text.split_inclusive(|c| !is_word(c)) {
            let name = piece.trim_end_matches(|c| !is_word(c));
            let parts = in_snake_case(name);
            let parts = parts.split('_').filter(|part| !part.is_empty());
            found.extend(parts.map(|part| Word {
                line,
                text: part.to_owned(),
            }));
            if piece.ends_with(['.', ';', ':', '?', '!', ',', '(', ')', '|']) {
                let text = String::new();
                found.push(Word { line, text });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    #[test]
    fn every_retired_phrase_is_found_in_prose_and_in_names() {
        for (phrase, instead) in RETIRED {
            let name = phrase.replace(' ', "_");
            for text in [
                format!("\n/// So {phrase} it."),
                format!("\nfn so_{name}_it() {{}}"),
                format!("\nlet x = \"{phrase}\";"),
            ] {
                let found = findings_in(check, "crates/core/src/a.rs", &text);
                assert_eq!(
                    found,
                    [format!("2: `{phrase}` is retired; write: {instead}")]
                );
            }
        }
    }

    #[test]
    fn every_kind_of_document_is_read() {
        for path in ["a.md", "a.html", "a.sql", "Cargo.toml"] {
            assert_eq!(lines_found(check, path, "as Nobody knows"), [1], "{path}");
        }
        assert!(lines_found(check, "Cargo.lock", "nobody").is_empty());
    }

    #[test]
    fn a_phrase_is_found_across_lines_but_not_across_sentences() {
        let wrapped = "/// The caller is\n    /// told.";
        assert_eq!(lines_found(check, "a.rs", wrapped), [1]);
        for text in ["It is. Told so.", "is_x(told)", "retold", "was told"] {
            assert!(findings_in(check, "a.rs", text).is_empty(), "{text}");
        }
    }
}
