//! Words and phrases that were retired because they hide who does what.
//!
//! A sentence names its subject: the caller, the holder, a waiting fetcher. Names of functions and
//! tests are sentences too, so names, comments and literals are all read, and across the end of a
//! line, where a comment may be wrapped.

use super::tree::{File, Tree, is_word, numbered};
use super::words::in_snake_case;
use super::{Finding, except_known};

/// What is no longer written, and what to write instead. A longer phrase stands before a part of
/// it; `*` is one to three words. `strip`, `park`, `turn`, `look` and `note` are retired as names of
/// types alone: as words, the standard library and plain English need them too.
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
    ("as far as", "up to, where, or the condition: if X is known"),
    ("so many", "the number, that many, or the limit"),
    ("any more", "no longer"),
    ("anymore", "no longer"),
    ("at present", "currently, now"),
    ("how * stands", "the state of X"),
    ("how * stand", "the state of X"),
    ("what is known of", "the known X, the state of X"),
    ("the one that there is", "the existing one"),
    ("those that there are", "the existing ones"),
    ("that there is already", "existing"),
    ("without a word", "silently"),
    ("where the living begin", "the oldest live X"),
    ("wish", "filter, request"),
    ("wishes", "filters, requests"),
    ("whereabouts", "state, place"),
];

/// Crates that have such phrases still. The list may only become shorter.
const KNOWN: &[&str] = &["crates/store"];

const WRITTEN_IN: &[&str] = &["rs", "sql", "md", "toml", "html", "js"];

/// This table, and that of retired names.
const TABLE: &str = "xtask/src/tidy/phrases.rs";
const NAMES: &str = "xtask/src/tidy/types.rs";

pub fn check(tree: &Tree) -> Vec<Finding> {
    except_known(TABLE, KNOWN, all_phrases(tree))
}

fn all_phrases(tree: &Tree) -> Vec<Finding> {
    let retired: Vec<(Vec<&str>, &str)> = RETIRED
        .iter()
        .map(|(phrase, instead)| (phrase.split(' ').collect(), *instead))
        .collect();
    tree.files
        .iter()
        .filter(|file| {
            file.has_extension(WRITTEN_IN) && ![TABLE, NAMES].contains(&file.path.as_str())
        })
        .flat_map(|file| phrases(file, &retired))
        .collect()
}

fn phrases(file: &File, retired: &[(Vec<&str>, &str)]) -> Vec<Finding> {
    let text = file.text.to_lowercase();
    let is_here = |word: &&str| *word == ANY || text.contains(word);
    // Few files have the words, and taking all apart would take seconds.
    if !retired.iter().any(|(phrase, _)| phrase.iter().all(is_here)) {
        return Vec::new();
    }
    let words = words(&file.text);
    let mut findings = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let found = retired.iter().find_map(|(phrase, instead)| {
            Some((phrase, instead, length_here(phrase, &words[at..])?))
        });
        match found {
            Some((phrase, instead, length)) => {
                let sentence = format!("`{}` is retired; write: {instead}", phrase.join(" "));
                findings.push(Finding::new(&file.path, words[at].line, sentence));
                at += length;
            }
            None => at += 1,
        }
    }
    findings
}

/// Stands for one to three words of a phrase.
const ANY: &str = "*";

/// How many words a phrase takes, if it begins here.
fn length_here(phrase: &[&str], words: &[Word]) -> Option<usize> {
    let Some((first, rest)) = phrase.split_first() else {
        return Some(0);
    };
    if *first != ANY {
        let is_here = words.first().is_some_and(|word| word.text == *first);
        return is_here
            .then(|| length_here(rest, &words[1..]))?
            .map(|length| length + 1);
    }
    let sentence = words
        .iter()
        .take(3)
        .take_while(|word| !word.text.is_empty());
    (1..=sentence.count()).find_map(|count| Some(count + length_here(rest, &words[count..])?))
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
            let written = phrase.replace(ANY, "the queue");
            let name = written.replace(' ', "_");
            for text in [
                format!("\n/// So {written} it."),
                format!("\nfn so_{name}_it() {{}}"),
                format!("\nlet x = \"{written}\";"),
            ] {
                let found = findings_in(all_phrases, "crates/core/src/a.rs", &text);
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
            assert_eq!(
                lines_found(all_phrases, path, "as Nobody knows"),
                [1],
                "{path}"
            );
        }
        assert!(lines_found(all_phrases, "Cargo.lock", "nobody").is_empty());
    }

    #[test]
    fn a_gap_is_one_to_three_words_of_a_sentence() {
        for text in ["how it stands", "how the whole queue stands"] {
            assert_eq!(lines_found(all_phrases, "a.md", text), [1], "{text}");
        }
        for text in ["how stands", "how a b c d stands", "how it is. It stands"] {
            assert!(lines_found(all_phrases, "a.md", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_phrase_is_found_across_lines_but_not_across_sentences() {
        let wrapped = "/// The caller is\n    /// told.";
        assert_eq!(lines_found(all_phrases, "a.rs", wrapped), [1]);
        for text in ["It is. Told so.", "is_x(told)", "retold", "was told"] {
            assert!(findings_in(all_phrases, "a.rs", text).is_empty(), "{text}");
        }
    }
}
