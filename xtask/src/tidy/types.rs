//! Names of types: nouns that make sense alone.
//!
//! A reader meets a type in the index of the docs or in a signature, without its module around it.
//! A participle there leaves out the noun, which is the part that says what the thing is.

use super::rust::Rust;
use super::tree::{File, Tree};
use super::{Finding, except_known};

/// Names that types had once and were renamed from, because readers could not guess them.
const RETIRED: &[&str] = &[
    "Alarm",
    "Asked",
    "Asking",
    "Attempting",
    "Attending",
    "BatchNote",
    "Changed",
    "Ended",
    "Fate",
    "Folder",
    "FollowedLinks",
    "GivenRoom",
    "HandHold",
    "Hooks",
    "LinkNote",
    "Listed",
    "Look",
    "Looks",
    "Made",
    "Match",
    "News",
    "NoteLook",
    "OpenParks",
    "Openness",
    "Park",
    "Patience",
    "Patient",
    "Place",
    "PlacedStrip",
    "Presence",
    "Question",
    "Rolls",
    "Saved",
    "Seat",
    "Space",
    "Spot",
    "Strip",
    "StripBefore",
    "Sublane",
    "Tape",
    "Then",
    "Told",
    "Turn",
    "Undecided",
    "Whereabouts",
    "WholeLook",
    "Wish",
    "Wishes",
];

/// Participles that do not end in -ed or -ing.
const IRREGULAR: &[&str] = &[
    "Done", "Found", "Given", "Held", "Kept", "Known", "Left", "Lost", "Made", "Said", "Seen",
    "Sent", "Shown", "Swept", "Taken", "Told", "Written",
];

/// Nouns with the ending of a participle, and what they are.
const NOUNS: &[(&str, &str)] = &[
    ("Finding", "what a rule has found; a noun of its own"),
    ("Need", "what must be on the machine; a noun"),
];

/// Crates that have such types still. The list may only become shorter.
const KNOWN: &[&str] = &["crates/store"];

pub fn check(tree: &Tree) -> Vec<Finding> {
    except_known("xtask/src/tidy/types.rs", KNOWN, all_names(tree))
}

fn all_names(tree: &Tree) -> Vec<Finding> {
    tree.rust_files()
        .flat_map(|(file, rust)| names(file, rust))
        .collect()
}

fn names(file: &File, rust: &Rust) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, name) in &rust.types {
        let name = name.as_str();
        let sentence = if RETIRED.contains(&name) {
            format!("the type name `{name}` is retired; name what it holds or does, with a noun")
        } else if is_ours(file) && is_bare_participle(name) {
            format!("`{name}` is a participle; add the noun that it describes")
        } else {
            continue;
        };
        findings.push(Finding::new(&file.path, *line, sentence));
    }
    findings
}

/// Types of the product and of these commands; a test may call its helpers as it likes.
fn is_ours(file: &File) -> bool {
    let is_source = file.path.starts_with("crates/") && file.path.contains("/src/");
    is_source || file.path.starts_with("xtask/")
}

/// True for a single word, such as `Fetched`; `FetchedJob` has its noun.
fn is_bare_participle(name: &str) -> bool {
    let is_one_word = name.chars().skip(1).all(|c| c.is_lowercase());
    let has_ending = name.ends_with("ed") || name.ends_with("ing");
    let is_noun = NOUNS.iter().any(|(noun, _)| *noun == name);
    is_one_word && !is_noun && (has_ending || IRREGULAR.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    const SOURCE: &str = "crates/engine/src/a.rs";

    #[test]
    fn every_retired_name_is_found_wherever_it_is_declared() {
        for name in RETIRED {
            for declaration in [
                format!("pub struct {name};"),
                format!("enum {name} {{}}"),
                format!("trait {name} {{}}"),
                format!("type {name} = u8;"),
            ] {
                for path in [SOURCE, "crates/engine/tests/a.rs", "fuzz/fuzz_targets/a.rs"] {
                    assert_eq!(
                        lines_found(all_names, path, &declaration),
                        [1],
                        "{declaration}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_participle_without_a_noun_is_found() {
        for name in ["Fetched", "Waiting"].iter().chain(IRREGULAR) {
            let found = lines_found(all_names, SOURCE, &format!("\npub(crate) enum {name} {{}}"));
            assert_eq!(found, [2], "{name}");
        }
    }

    #[test]
    fn nouns_variants_and_helpers_of_tests_are_fine() {
        for text in [
            "struct FetchedJob;",
            "struct RunningRow;",
            "struct Tapes;",
            "enum State { Waiting, Made }",
            "struct Finding;",
            "// struct Fetched;",
            "use x::Listed;",
        ] {
            let found = findings_in(all_names, SOURCE, text);
            assert!(found.is_empty(), "{found:?}");
        }
        assert!(findings_in(all_names, "crates/engine/tests/a.rs", "struct Fetched;").is_empty());
    }
}
