//! Documents that still tell the truth: links lead somewhere, and named verbs and crates exist.

use super::Finding;
use super::manifest;
use super::tree::{File, Tree};
use crate::VERBS;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    tree.files
        .iter()
        .filter(|file| file.has_extension(&["md"]))
        .flat_map(|file| {
            dead_links(tree, file)
                .into_iter()
                .chain(unknown_verbs(file))
                .chain(unknown_crates(file, &crates))
        })
        .collect()
}

fn dead_links(tree: &Tree, file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_fence = false;
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for target in targets(&without_code(line)) {
            if is_relative(&target) && !exists(tree, &file.path, &target) {
                let sentence = format!("the link to `{target}` leads nowhere; mend or remove it");
                findings.push(Finding::new(&file.path, number, sentence));
            }
        }
    }
    findings
}

/// Text in backticks is shown and not linked.
fn without_code(line: &str) -> String {
    let outside = line.split('`').step_by(2);
    outside.collect::<Vec<_>>().join("`")
}

/// `[text](target "title")` and `[name]: target`.
fn targets(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, opening) in line.match_indices("](") {
        let inside = &line[at + opening.len()..];
        found.extend(inside.split([')', ' ']).next());
    }
    if line.starts_with('[')
        && let Some((_, definition)) = line.split_once("]: ")
    {
        found.extend(definition.split_whitespace().next());
    }
    let plain = |target: &str| target.trim_matches(['<', '>']).to_owned();
    found.into_iter().map(plain).collect()
}

fn is_relative(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:") && !target.starts_with('#')
}

fn exists(tree: &Tree, from: &str, target: &str) -> bool {
    let target = target.split('#').next().unwrap_or_default();
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            // A link that climbs out of the repository leads nowhere for everybody else.
            ".." => {
                if parts.pop().is_none() {
                    return false;
                }
            }
            _ => parts.push(part),
        }
    }
    let path = parts.join("/");
    let as_directory = format!("{path}/");
    tree.paths.contains(&path)
        || tree
            .paths
            .iter()
            .any(|known| known.starts_with(&as_directory))
}

fn unknown_verbs(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        for (at, call) in line.match_indices("cargo xtask ") {
            let after = line[at + call.len()..].chars();
            let is_part = |c: &char| c.is_ascii_lowercase() || *c == '-';
            let verb: String = after.take_while(is_part).collect();
            if !verb.is_empty() && !VERBS.iter().any(|known| known.name == verb) {
                let known: Vec<&str> = VERBS.iter().map(|verb| verb.name).collect();
                let sentence = format!(
                    "`cargo xtask {verb}` does not exist; the verbs are {}",
                    known.join(", ")
                );
                findings.push(Finding::new(&file.path, number, sentence));
            }
        }
    }
    findings
}

/// The names of all crates.
fn crates(tree: &Tree) -> Vec<String> {
    let files = tree.files.iter();
    let manifests = files.filter(|file| file.path.ends_with("Cargo.toml"));
    manifests
        .filter_map(|file| manifest::read(&file.text).ok())
        .map(|manifest| manifest.package)
        .collect()
}

/// `cargo test -p NAME` of a crate that has another name by now.
fn unknown_crates(file: &File, crates: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in file.lines() {
        let commands = line
            .split('`')
            .filter_map(|piece| piece.split_once("cargo "));
        for (_, command) in commands {
            let words: Vec<&str> = command.split_whitespace().collect();
            for pair in words.windows(2) {
                let names_crate = matches!(pair[0], "-p" | "--package");
                if names_crate && !crates.iter().any(|name| name == pair[1]) {
                    let sentence = format!("there is no crate `{}`", pair[1]);
                    findings.push(Finding::new(&file.path, number, sentence));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree = Tree::of(&[
            ("docs/guide.md", text),
            ("docs/retry.md", ""),
            ("README.md", ""),
            ("crates/core/src/lib.rs", ""),
            (
                "crates/core/Cargo.toml",
                "[package]\nname = \"steadfast-core\"\n",
            ),
        ]);
        check(&tree)
            .into_iter()
            .map(|finding| finding.sentence)
            .collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        for text in [
            "see [retry](retyr.md)",
            "see [retry](retyr.md#jitter \"title\")",
            "see [up](../../README.md)",
            "[retry]: retyr.md",
        ] {
            let found = findings(text);
            assert_eq!(found.len(), 1, "{text}");
            assert!(found[0].contains("leads nowhere"), "{found:?}");
        }
    }

    #[test]
    fn links_that_lead_somewhere_are_fine() {
        for text in [
            "[a](retry.md) and [b](./retry.md#jitter) and [c](../README.md)",
            "[dir](../crates/core) and [dir](../crates/core/)",
            "[web](https://example.com/x) and [here](#words)",
            "`[shown](nowhere.md)`",
            "```\n[shown](nowhere.md)\n```",
        ] {
            assert!(findings(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_verb_that_does_not_exist_is_found() {
        let found = findings("run `cargo xtask fly`");
        assert_eq!(
            found,
            [
                "`cargo xtask fly` does not exist; the verbs are test, check, tidy, supply-chain, fuzz, libraries, dist, repository, publish, docs, prove, bench"
            ]
        );
        assert!(findings("`cargo xtask test -- claims`, `cargo xtask`").is_empty());
    }

    #[test]
    fn a_crate_that_does_not_exist_is_found() {
        let found = findings("run `cargo test -p steadfast-heart jitter`");
        assert_eq!(found, ["there is no crate `steadfast-heart`"]);
        let fine = "`cargo test -p steadfast-core jitter`, `mkdir -p corpus && cargo fuzz run`";
        assert!(findings(fine).is_empty());
    }
}
