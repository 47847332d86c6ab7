//! `cargo xtask tidy`: style as a test.
//!
//! A rule that only a document knows is a rule that reviewers repeat. Each rule here is a function
//! from the tree of files to its findings, and each finding says how to mend it. The rules read
//! text and tokens and not a syntax tree: a check that answers at once beats an exact one that is
//! not run.

mod arrows;
mod dead_files;
mod leftovers;
mod length;
mod limits;
pub mod manifest;
mod markdown;
mod phrases;
mod places;
mod rust;
mod sleeps;
mod sql;
mod tree;
mod types;
mod words;

use std::fmt;
use std::path::Path;

use self::tree::Tree;
use crate::{VerbResult, root};

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    arrows::check,
    length::check,
    leftovers::check,
    sleeps::check,
    words::check,
    phrases::check,
    types::check,
    limits::check,
    markdown::check,
    sql::check,
    places::check,
    dead_files::check,
];

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    sentence: String,
}

impl Finding {
    fn new(path: &str, line: usize, sentence: impl Into<String>) -> Self {
        Finding {
            path: path.to_owned(),
            line,
            sentence: sentence.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

pub fn run(args: &[String]) -> VerbResult {
    if let Some(arg) = args.first() {
        return Err(format!("tidy takes no arguments, not even `{arg}`"));
    }
    match report(&root())? {
        0 => {
            println!("tidy");
            Ok(())
        }
        count => Err(format!("{count} untidy; rerun: cargo xtask tidy")),
    }
}

/// Prints all findings and says how many there are.
pub fn report(root: &Path) -> Result<usize, String> {
    let tree = Tree::load(root).map_err(|error| format!("cannot read the tree: {error}"))?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.len())
}

/// What the rules' tests share: the findings of one rule over one file, as `line: sentence`.
#[cfg(test)]
fn findings_in(rule: Rule, path: &str, text: &str) -> Vec<String> {
    rule(&Tree::of(&[(path, text)]))
        .into_iter()
        .map(|finding| format!("{}: {}", finding.line, finding.sentence))
        .collect()
}

/// The lines on which a rule finds something.
#[cfg(test)]
fn lines_found(rule: Rule, path: &str, text: &str) -> Vec<usize> {
    let found = rule(&Tree::of(&[(path, text)]));
    found.into_iter().map(|finding| finding.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_prints_as_an_address_editors_can_open() {
        let finding = Finding::new("a/b.rs", 7, "too long; split it");
        assert_eq!(finding.to_string(), "a/b.rs:7: too long; split it");
    }
}
