//! `cargo xtask tidy`: style as a test.
//!
//! A rule that only a document knows is a rule that reviewers repeat. Each rule here is a function
//! from the tree of files to its findings, and each finding says how to mend it. The rules read
//! text and tokens and not a syntax tree: a check that answers at once beats an exact one that is
//! not run.

mod arrows;
mod circles;
mod dead_files;
mod folders;
mod leftovers;
mod length;
mod limits;
pub mod manifest;
mod markdown;
mod modules;
mod phrases;
mod places;
mod plain_sql;
mod rust;
mod shared;
mod sleeps;
mod sql;
mod tree;
mod types;
mod words;

use std::fmt;
use std::path::Path;
use std::thread;

pub use self::plain_sql::fault as statement_fault;
use self::tree::Tree;
use crate::{VerbResult, root};

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    arrows::check,
    circles::check,
    folders::check,
    length::check,
    leftovers::check,
    sleeps::check,
    words::check,
    phrases::check,
    types::check,
    limits::check,
    shared::check,
    markdown::check,
    sql::check,
    plain_sql::check,
    places::check,
    dead_files::check,
];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    let mut findings: Vec<Finding> = thread::scope(|scope| {
        let rules: Vec<_> = RULES
            .iter()
            .map(|rule| scope.spawn(|| rule(&tree)))
            .collect();
        let findings = rules.into_iter().map(|rule| rule.join());
        findings.collect::<Result<Vec<_>, _>>()
    })
    .map_err(|_| "a rule panicked".to_owned())?
    .concat();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.len())
}

/// The findings but for those in files and folders that are known. A known one without a finding is
/// itself a finding, so that a list of exceptions only becomes shorter.
fn except_known(list: &str, known: &[&str], mut findings: Vec<Finding>) -> Vec<Finding> {
    let is_in = |finding: &Finding, place: &str| {
        let rest = finding.path.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut unneeded = known.to_vec();
    unneeded.retain(|place| !findings.iter().any(|finding| is_in(finding, place)));
    findings.retain(|finding| !known.iter().any(|place| is_in(finding, place)));
    findings.extend(unneeded.into_iter().map(|place| {
        let sentence = format!("`{place}` is no longer an exception; remove it from the list");
        Finding::new(list, 1, sentence)
    }));
    findings
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
    fn an_exception_holds_for_a_folder_and_only_while_it_is_needed() {
        let left = |known: &[&str]| -> Vec<String> {
            let findings = ["crates/a/src/b.rs", "crates/ab/src/c.rs"];
            let findings = findings.map(|path| Finding::new(path, 1, "untidy"));
            let left = except_known("list.rs", known, findings.into());
            left.iter().map(ToString::to_string).collect()
        };
        assert_eq!(left(&["crates/a"]), ["crates/ab/src/c.rs:1: untidy"]);
        let unneeded = "list.rs:1: `docs` is no longer an exception; remove it from the list";
        assert_eq!(left(&["crates/a", "crates/ab", "docs"]), [unneeded]);
    }

    #[test]
    fn a_finding_prints_as_an_address_editors_can_open() {
        let finding = Finding::new("a/b.rs", 7, "too long; split it");
        assert_eq!(finding.to_string(), "a/b.rs:7: too long; split it");
    }
}
