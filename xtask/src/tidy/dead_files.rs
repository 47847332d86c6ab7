//! Files that nothing uses.
//!
//! The compiler sees only what a `mod` line reaches, so a source file without one rots in silence,
//! and so does a script or a template whose last use was removed.

use std::collections::BTreeSet;

use super::Finding;
use super::modules::{candidates, is_root, resolved};
use super::tree::{File, Tree};

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = unreached_sources(tree);
    findings.extend(unnamed_files(tree));
    findings
}

fn unreached_sources(tree: &Tree) -> Vec<Finding> {
    let reached = reached_sources(tree);
    tree.rust_files()
        .filter(|(file, _)| !reached.contains(&file.path))
        .map(|(file, _)| {
            let sentence = "no `mod` line reaches this file; add one, or remove the file";
            Finding::new(&file.path, 1, sentence)
        })
        .collect()
}

/// The files that cargo starts from, and those that they and their modules name.
fn reached_sources(tree: &Tree) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let roots = tree.rust_files().filter(|(file, _)| is_root(&file.path));
    let mut waiting: Vec<String> = roots.map(|(file, _)| file.path.clone()).collect();
    while let Some(path) = waiting.pop() {
        let found = tree.rust_files().find(|(file, _)| file.path == path);
        let Some((_, rust)) = found else { continue };
        if !reached.insert(path.clone()) {
            continue;
        }
        for module in &rust.modules {
            waiting.extend(candidates(&path, module));
        }
    }
    reached
}

/// Scripts and templates that no source includes.
fn unnamed_files(tree: &Tree) -> Vec<Finding> {
    let named = named_paths(tree);
    tree.files
        .iter()
        .filter(|file| file.has_extension(&["sql", "html"]) && !is_named(file, &named))
        .map(|file| {
            let sentence = "nothing names this file; use it, or remove it";
            Finding::new(&file.path, 1, sentence)
        })
        .collect()
}

/// What literals of the sources, tags of the templates and links of the documents name, as a path
/// from the root and as it is written.
fn named_paths(tree: &Tree) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for file in &tree.files {
        let dir = file.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let literals: Vec<&str> = match &file.rust {
            Some(rust) => rust.literals.iter().map(|l| l.text.as_str()).collect(),
            None if file.has_extension(&["html", "md"]) => {
                file.text.split(['"', '(', ')', '`']).collect()
            }
            None => continue,
        };
        for literal in literals {
            if literal.ends_with(".sql") || literal.ends_with(".html") {
                named.insert(literal.to_owned());
                named.extend(resolved(dir, literal));
            }
        }
    }
    named
}

/// Templates are named from the directory that holds them all.
fn is_named(file: &File, named: &BTreeSet<String>) -> bool {
    let as_template = file.path.split_once("/templates/");
    named.contains(&file.path) || as_template.is_some_and(|(_, name)| named.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dead(files: &[(&str, &str)]) -> Vec<String> {
        let found = check(&Tree::of(files)).into_iter();
        found.map(|finding| finding.path).collect()
    }

    #[test]
    fn a_source_that_no_module_line_reaches_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod one;\n// mod five;"),
            ("crates/a/src/one.rs", "mod two;\nmod three { mod four; }"),
            (
                "crates/a/src/one/two.rs",
                "#[path = \"../odd.rs\"]\nmod six;",
            ),
            ("crates/a/src/one/three/four.rs", ""),
            ("crates/a/src/odd.rs", ""),
            ("crates/a/src/five.rs", "mod seven;"),
            // What a dead file names is dead, too.
            ("crates/a/src/five/seven.rs", ""),
            ("crates/a/src/one/five.rs", ""),
            ("crates/a/src/one/six.rs", ""),
        ];
        let expected = [
            "crates/a/src/five.rs",
            "crates/a/src/five/seven.rs",
            "crates/a/src/one/five.rs",
            "crates/a/src/one/six.rs",
        ];
        assert_eq!(dead(&files), expected);
    }

    #[test]
    fn programs_and_tests_are_where_it_starts() {
        let files = [
            ("crates/a/src/main.rs", "mod x;"),
            ("crates/a/src/x/mod.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/all/main.rs", ""),
            ("crates/a/tests/all/one.rs", ""),
            ("fuzz/fuzz_targets/api.rs", ""),
        ];
        assert!(dead(&files).is_empty());
    }

    #[test]
    fn a_script_or_template_that_nothing_names_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "mod db;\nx(\"jobs.html\");"),
            ("crates/a/src/db.rs", "include_str!(\"sql/claim.sql\")"),
            ("crates/a/src/sql/claim.sql", ""),
            ("crates/a/src/other/sql/claim.sql", ""),
            (
                "crates/a/templates/jobs.html",
                "{% extends \"base.html\" %}",
            ),
            ("crates/a/templates/base.html", ""),
            ("crates/a/templates/old.html", ""),
            ("README.md", "see [a](docs/a.sql)"),
            ("docs/a.sql", ""),
        ];
        let expected = [
            "crates/a/src/other/sql/claim.sql",
            "crates/a/templates/old.html",
        ];
        assert_eq!(dead(&files), expected);
    }
}
