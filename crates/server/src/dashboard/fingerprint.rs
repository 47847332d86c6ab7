//! Which failures belong to one group.
//!
//! A thousand dead letters of one outage differ in ids, ports and times. With those replaced by
//! `#` their messages are equal.

use sha2::{Digest as _, Sha256};
use steadfast_core::Job;

use crate::limits;

/// What the dead letters of a group have in common: class, status and folded message.
pub fn pattern(job: &Job) -> String {
    match &job.progress.failure {
        Some(failure) => {
            let status = failure.http_status.map(|status| format!(" {status}"));
            let status = status.unwrap_or_default();
            format!("{}{status}: {}", failure.class, fold(&failure.message))
        }
        None => "no failure on record".to_owned(),
    }
}

/// The id of a group: a hash of kind and pattern, short enough for an address.
pub fn group_id(job: &Job) -> String {
    let digest = Sha256::digest(format!("{}\n{}", job.kind, pattern(job)).as_bytes());
    digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A message with its numbers and ids replaced by `#`.
fn fold(message: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    for letter in message.chars().take(limits::PATTERN_CHARS_MAX) {
        if letter.is_alphanumeric() || letter == '_' {
            word.push(letter);
        } else {
            push_word(&mut text, &mut word);
            let is_joint = matches!(letter, '-' | '.' | ':') && text.ends_with('#');
            if !is_joint {
                text.push(letter);
            }
        }
    }
    push_word(&mut text, &mut word);
    text
}

/// Appends a word, or `#` if it is a number or an id: it has a digit and is no name like `http2`.
fn push_word(text: &mut String, word: &mut String) {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().count() - digits;
    // The groups of a UUID are brief, but they follow one that was folded.
    let least = if text.ends_with('#') { 4 } else { 6 };
    let is_hex = word.len() >= least && word.chars().all(|it| it.is_ascii_hexdigit());
    let is_id = word.len() >= 16 && digits > 0;
    if digits > 0 && (letters == 0 || is_hex || is_id || word.contains('_')) {
        if !text.ends_with('#') {
            text.push('#');
        }
    } else {
        text.push_str(word);
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_are_folded_and_words_stay() {
        for (message, expected) in [
            ("timeout after 30 s", "timeout after # s"),
            ("10.0.0.17:5432 refused", "# refused"),
            ("order 8f3a9c21 not found", "order # not found"),
            ("job_06bv3qk8z1y5m2 is gone", "# is gone"),
            ("550e8400-e29b-41d4-a716-446655440000 missing", "# missing"),
            ("http2 stream reset", "http2 stream reset"),
            ("no digits here", "no digits here"),
            ("", ""),
        ] {
            assert_eq!(fold(message), expected);
        }
    }

    #[test]
    fn messages_that_differ_in_numbers_only_fold_to_the_same() {
        assert_eq!(fold("row 17 of 20 broken"), fold("row 3 of 9 broken"));
        assert_ne!(fold("disk full"), fold("disk slow"));
    }
}
