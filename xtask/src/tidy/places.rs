//! Nothing in the repository knows where it was written.
//!
//! A path of one machine works for one person. A package source other than the public one builds
//! where it can be reached. The needles are put together from pieces, so as not to find
//! themselves.

use super::Finding;
use super::tree::{File, Tree, is_word};

const MACHINE_PATHS: &[&str] = &[
    concat!("/", "work", "/"),
    concat!("/", "home", "/"),
    concat!("/", "root", "/"),
];

/// Ways to name a package source of one's own, in cargo's files and pip's.
const OTHER_SOURCES: &[&str] = &[
    concat!("replace", "-with"),
    concat!("[sour", "ce."),
    concat!("[regis", "tries"),
    concat!("sparse", "+http"),
    concat!("index", "-url"),
];

const LOCKED: &str = concat!("source = \"registry", "+");
const CRATES_IO: &str = "https://github.com/rust-lang/crates.io-index\"";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter();
    files
        .flat_map(|file| {
            file.lines()
                .filter_map(|(number, line)| finding(file, number, line))
        })
        .collect()
}

fn finding(file: &File, number: usize, line: &str) -> Option<Finding> {
    if let Some(path) = MACHINE_PATHS.iter().find(|path| names_path(line, path)) {
        let sentence = format!(
            "`{path}` is a place on one machine; use a relative path or a temporary directory"
        );
        return Some(Finding::new(&file.path, number, sentence));
    }
    let is_other_lock = line
        .split_once(LOCKED)
        .is_some_and(|(_, source)| !source.starts_with(CRATES_IO));
    if is_other_lock || OTHER_SOURCES.iter().any(|needle| line.contains(needle)) {
        let sentence = "packages come from the public registry; keep a source of your own in \
                        your home directory's configuration";
        return Some(Finding::new(&file.path, number, sentence));
    }
    None
}

/// True if the path starts here, and is not the middle of a longer one or of a URL.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| is_word(c) || matches!(c, '.' | '-' | '}' | ')' | '~'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{findings_in, lines_found};

    #[test]
    fn a_path_of_one_machine_is_found_in_any_file() {
        for path in MACHINE_PATHS {
            for text in [format!("{path}me/x"), format!("let p = \"{path}me\";")] {
                for file in [".ci/run", "a.rs", "docs/a.md", "Cargo.toml"] {
                    assert_eq!(lines_found(check, file, &text), [1], "{text} in {file}");
                }
            }
            let url = format!("https://example.com{path}x");
            assert!(findings_in(check, "docs/a.md", &url).is_empty());
        }
    }

    #[test]
    fn a_package_source_of_ones_own_is_found() {
        for needle in OTHER_SOURCES {
            assert_eq!(lines_found(check, ".cargo/config.toml", needle), [1]);
        }
        let locked = format!("{LOCKED}https://mirror.example/index\"");
        assert_eq!(lines_found(check, "Cargo.lock", &locked), [1]);
        let public = format!("{LOCKED}{CRATES_IO}");
        assert!(findings_in(check, "Cargo.lock", &public).is_empty());
    }
}
