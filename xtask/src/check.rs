//! `cargo xtask check`: what a change must pass at the desk, while one still remembers it.
//!
//! Formatting, tidy, and where a crate has changed since the branch left the default branch also
//! lints and unit tests, which take a second once they are built. They are asked for over all
//! crates: cargo knows which of them a change can reach, and for fewer it would choose other
//! features of the dependencies and compile those again. Integration tests, proofs and fuzzing take
//! minutes and are left to `cargo xtask test`.

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
        let tests = ["test", "--workspace", "--all-features", "--lib", "--bins"];
        chosen.extend([steps::lints(), Step::cargo("unit tests", &tests)]);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_documents_alone_compiles_nothing() {
        let commands = |changed: &[&str]| -> Vec<String> {
            let changed = changed.iter().map(|&name| name.to_owned()).collect();
            chosen(&changed).iter().map(Step::command).collect()
        };
        let of_documents = commands(&[]);
        assert_eq!(
            of_documents,
            ["cargo fmt --all --check", "cargo xtask tidy"]
        );
        let of_core = commands(&["steadfast-core"]);
        assert_eq!(of_core[..2], of_documents);
        assert!(of_core[2].starts_with("cargo clippy --workspace"));
        assert!(of_core[3].starts_with("cargo test --workspace"));
    }
}
