//! The files of the repository that make up the book.
//!
//! They are written where a reader of the repository looks for them, outside of this crate. A
//! package has only what lies inside, so `cargo xtask publish` copies them into it; links would
//! not survive every way in which a repository is copied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Files, and directories with the pages and pictures that are in them.
pub const SOURCES: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "GLOSSARY.md",
    "README.md",
    "SECURITY.md",
    "crates/client/README.md",
    "docs",
    "sdk/README.md",
    "sdk/go/README.md",
    "sdk/python/README.md",
    "sdk/typescript/README.md",
];

/// Where a package of this crate has its copies.
pub const COPIES: &str = "pages";

/// Every page and picture, by its name from the root.
pub fn files(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for source in SOURCES {
        collect(source, root.join(source), &mut files)
            .map_err(|error| io::Error::new(error.kind(), format!("{source}: {error}")))?;
    }
    Ok(files)
}

fn collect(name: &str, path: PathBuf, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    if fs::metadata(&path)?.is_dir() {
        for entry in fs::read_dir(&path)? {
            let entry = entry?;
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            collect(&name, entry.path(), files)?;
        }
    } else if [".md", ".svg", ".png"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        files.insert(name.to_owned(), path);
    }
    Ok(())
}
