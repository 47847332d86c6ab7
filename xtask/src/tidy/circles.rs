//! No circle of files within a crate.
//!
//! Files that know each other in a circle can only be understood, and changed, together. Between
//! crates the compiler forbids it; within one it does not.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::modules::candidates;
use super::rust::{Path, Rust};
use super::tree::Tree;

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = Crates::read(tree);
    let arrows: BTreeMap<&str, BTreeSet<&str>> = crates
        .sources
        .keys()
        .map(|&path| (path, crates.arrows_from(path)))
        .collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = arrows
        .keys()
        .map(|&path| (path, reach(path, &arrows)))
        .collect();
    let mut findings = Vec::new();
    for (path, others) in &reached {
        let circle: Vec<&str> = others
            .iter()
            .filter(|other| *other != path && reached[*other].contains(path))
            .copied()
            .collect();
        if let Some(next) = circle.iter().find(|other| arrows[path].contains(*other)) {
            let sentence = format!(
                "it uses `{next}`, which leads back to it (a circle of {} files); move what both \
                 need into a file below them",
                circle.len() + 1
            );
            findings.push(Finding::new(path, 1, sentence));
        }
    }
    findings
}

fn reach<'a>(from: &'a str, arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(path) = waiting.pop() {
        waiting.extend(arrows[path].iter().filter(|next| found.insert(**next)));
    }
    found
}

/// The sources of all crates as trees of modules.
struct Crates<'a> {
    sources: BTreeMap<&'a str, &'a Rust>,
    /// File and name of a module to its file.
    children: BTreeMap<(&'a str, &'a str), &'a str>,
    parents: BTreeMap<&'a str, &'a str>,
}

impl<'a> Crates<'a> {
    fn read(tree: &'a Tree) -> Self {
        let product = tree.rust_files().filter(|(file, _)| {
            let path = &file.path;
            (path.starts_with("crates/") || path.starts_with("xtask/"))
                && path.contains("/src/")
                && !file.is_test()
        });
        let sources: BTreeMap<&str, &Rust> = product
            .map(|(file, rust)| (file.path.as_str(), rust))
            .collect();
        let (mut children, mut parents) = (BTreeMap::new(), BTreeMap::new());
        for (&path, rust) in &sources {
            for module in rust
                .modules
                .iter()
                .filter(|module| module.inside.is_empty())
            {
                let files = candidates(path, module);
                let file = files
                    .iter()
                    .find_map(|file| sources.get_key_value(file.as_str()));
                if let Some((&file, _)) = file {
                    children.insert((path, module.name.as_str()), file);
                    parents.insert(file, path);
                }
            }
        }
        Crates {
            sources,
            children,
            parents,
        }
    }

    fn arrows_from(&self, file: &'a str) -> BTreeSet<&'a str> {
        let rust = self.sources[file];
        let paths = rust
            .paths
            .iter()
            .filter(|path| !rust.is_test_line(path.line));
        let mut found: BTreeSet<&str> = paths.filter_map(|path| self.home(file, path, 0)).collect();
        // A module and the files below it are one thing: these may use what it declares.
        let mut above = Some(&file);
        while let Some(path) = above {
            found.remove(path);
            above = self.parents.get(path);
        }
        found
    }

    /// The file in which the item of a path is, if it is of this crate.
    fn home(&self, file: &'a str, path: &Path, hops: usize) -> Option<&'a str> {
        let mut at = file;
        let mut inside = path.depth;
        let mut segments = path.segments.iter().map(String::as_str).peekable();
        match *segments.peek()? {
            "crate" => {
                segments.next();
                while let Some(parent) = self.parents.get(at) {
                    at = parent;
                }
            }
            "self" => {
                segments.next();
            }
            "super" => {}
            first => {
                self.children.get(&(file, first))?;
            }
        }
        while segments.next_if_eq(&"super").is_some() {
            match inside {
                0 => at = self.parents.get(at)?,
                _ => inside -= 1,
            }
        }
        while let Some(child) = segments
            .peek()
            .and_then(|name| self.children.get(&(at, *name)))
        {
            at = child;
            segments.next();
        }
        // An item may only pass through: the file imports it from elsewhere.
        let item = segments.next();
        let import = self.sources[at]
            .paths
            .iter()
            .find(|path| path.alias.as_deref() == item && item.is_some() && hops < HOPS_MAX);
        match import {
            Some(import) if at != file => self.home(at, import, hops + 1).or(Some(at)),
            _ => Some(at),
        }
    }
}

/// Imports of imports that are followed.
const HOPS_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn in_circles(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(name, text)| (format!("crates/x/src/{name}.rs"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let found = check(&Tree::of(&files)).into_iter();
        found
            .map(|finding| {
                let name = finding.path.trim_start_matches("crates/x/src/");
                name.trim_end_matches(".rs").to_owned()
            })
            .collect()
    }

    const LIB: (&str, &str) = ("lib", "mod a;\nmod b;\nmod c;\npub use a::Item;");

    #[test]
    fn files_that_use_each_other_are_found_however_they_say_so() {
        for text in [
            "use crate::a::Item;",
            "use super::a;",
            "use crate::{c, a::{self as other, Item}};",
            "fn f() { crate::a::of_a() }",
            "macro_rules! m { () => { $crate::a::of_a() } }",
            "use crate::Item;",
            "mod inner { use super::super::a::Item; }",
        ] {
            let found = in_circles(&[LIB, ("a", "use crate::b::of_b;"), ("b", text), ("c", "")]);
            assert_eq!(found, ["a", "b"], "{text}");
        }
    }

    #[test]
    fn a_circle_of_three_is_found_whole() {
        let found = in_circles(&[
            LIB,
            ("a", "use crate::b::of_b;"),
            ("b", "use crate::c::of_c;"),
            ("c", "use crate::a::of_a;"),
        ]);
        assert_eq!(found, ["a", "b", "c"]);
    }

    #[test]
    fn what_points_down_or_to_the_module_around_it_is_fine() {
        for text in [
            "use crate::c::of_c;",
            "use super::Other;",
            "#[cfg(test)]\nmod tests { use crate::a::Item; }",
            "use std::a::Item;",
            "pub(in crate::a) fn f() {}",
        ] {
            let found = in_circles(&[LIB, ("a", "use crate::b::of_b;"), ("b", text), ("c", "")]);
            assert!(found.is_empty(), "{text}: {found:?}");
        }
    }
}
