//! `cargo xtask check`: what a change must pass at the desk, while one still remembers it.
//!
//! Formatting, tidy and lints are checked for all, and the unit tests of the crates that changed
//! since the branch left the default branch. Integration tests, proofs and fuzzing take minutes and
//! are left to `cargo xtask test`.

mod changes;

use std::collections::BTreeSet;

use crate::steps::{self, Step};
use crate::{VerbResult, root};

pub fn run(args: &[String]) -> VerbResult {
    if let Some(arg) = args.first() {
        return Err(format!("check takes no arguments, not even `{arg}`"));
    }
    let packages = changes::packages(&root())?;
    if packages.is_empty() {
        println!("no crate has changed");
    } else {
        let names: Vec<&str> = packages.iter().map(String::as_str).collect();
        println!("changed: {}", names.join(", "));
    }
    steps::run(&chosen(&packages))
}

fn chosen(changed: &BTreeSet<String>) -> Vec<Step> {
    let mut chosen = vec![steps::formatting(), steps::tidy()];
    if !changed.is_empty() {
        let mut tests = vec!["test", "--all-features", "--lib", "--bins"];
        for package in changed {
            tests.extend(["--package", package]);
        }
        chosen.extend([steps::lints(), Step::cargo("unit tests", &tests)]);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_tested_and_documents_compile_nothing() {
        let names = |changed: &[&str]| -> Vec<String> {
            let changed = changed.iter().map(|&name| name.to_owned()).collect();
            chosen(&changed).iter().map(Step::command).collect()
        };
        let documents = names(&[]);
        assert_eq!(documents, ["cargo fmt --all --check", "cargo xtask tidy"]);
        let crates = names(&["steadfast-core", "xtask"]);
        assert_eq!(
            crates.last().map(String::as_str),
            Some("cargo test --all-features --lib --bins --package steadfast-core --package xtask")
        );
        assert!(
            crates
                .iter()
                .any(|command| command.contains("clippy --workspace"))
        );
    }
}
