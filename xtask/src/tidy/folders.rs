//! Folders that show the architecture: a reader sees all of one at a glance.

use std::collections::BTreeMap;

use super::tree::Tree;
use super::{Finding, except_known};

const FILES_MAX: usize = 20;

/// Folders that are too big still. The list may only become shorter.
const KNOWN: &[&str] = &[];

pub fn check(tree: &Tree) -> Vec<Finding> {
    except_known("xtask/src/tidy/folders.rs", KNOWN, too_big(tree))
}

fn too_big(tree: &Tree) -> Vec<Finding> {
    let ours = |path: &&String| path.starts_with("crates/") || path.starts_with("xtask/");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (folder, _) in tree
        .paths
        .iter()
        .filter(ours)
        .filter_map(|path| path.rsplit_once('/'))
    {
        *counts.entry(folder).or_default() += 1;
    }
    let big = counts.into_iter().filter(|(_, count)| *count > FILES_MAX);
    big.map(|(folder, count)| {
        let sentence = format!(
            "{count} files; at most {FILES_MAX}: make a folder for each thing that they are about"
        );
        Finding::new(folder, 1, sentence)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: usize) -> Tree {
        let paths: Vec<String> = (0..files).map(|n| format!("crates/a/src/{n}.md")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        Tree::of(&files)
    }

    #[test]
    fn a_folder_may_have_20_files_and_no_more() {
        assert!(too_big(&tree(20)).is_empty());
        let found = too_big(&tree(21));
        assert_eq!(found[0].path, "crates/a/src");
        assert!(found[0].sentence.starts_with("21 files; at most 20"));
    }
}
