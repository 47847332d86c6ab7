//! The files the rules look at, read once.
//!
//! The tree is walked and git is not asked, so that tidy also works in an unpacked archive and in
//! a container that distrusts the owner of the checkout.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use super::rust::Rust;

/// Hidden directories belong to tools and editors, except these.
const HIDDEN_BUT_OURS: &[&str] = &[".cargo", ".ci", ".github"];

/// A directory, but in a worktree a file that says where on this machine the rest is.
const GIT: &str = ".git";

/// Copies of pages, which `cargo xtask publish` makes, and leaves behind if it is killed.
const COPIES: &str = "crates/book/pages";

pub struct Tree {
    pub files: Vec<File>,
    /// Every path, binary files included: what a link may point at.
    pub paths: BTreeSet<String>,
}

pub struct File {
    /// Relative to the root, with `/` between its parts.
    pub path: String,
    pub text: String,
    /// Present for `.rs` files.
    pub rust: Option<Rust>,
}

impl Tree {
    pub fn load(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::empty();
        tree.walk(root, "")?;
        // It takes seconds alone.
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let files_each = tree.files.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let parts = tree.files.chunks_mut(files_each);
            let parts =
                parts.map(|files| scope.spawn(|| files.iter_mut().try_for_each(File::read_rust)));
            let parts: Vec<_> = parts.collect();
            let read = |part: thread::ScopedJoinHandle<'_, io::Result<()>>| {
                part.join()
                    .map_err(|_| io::Error::other("a file cannot be read"))?
            };
            parts.into_iter().try_for_each(read)
        })?;
        Ok(tree)
    }

    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::empty();
        for (path, text) in files {
            let bytes = (*text).to_owned().into_bytes();
            tree.add((*path).to_owned(), bytes);
        }
        tree.files.iter_mut().try_for_each(File::read_rust).unwrap();
        tree
    }

    fn empty() -> Tree {
        Tree {
            files: Vec::new(),
            paths: BTreeSet::new(),
        }
    }

    fn walk(&mut self, dir: &Path, prefix: &str) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() {
                let is_hidden = name.starts_with('.') && !HIDDEN_BUT_OURS.contains(&name.as_str());
                // Cargo marks its target directories with this file, whatever they are called.
                let is_cache = entry.path().join("CACHEDIR.TAG").exists();
                if !is_hidden && !is_cache && path != COPIES {
                    self.walk(&entry.path(), &format!("{path}/"))?;
                }
            } else if kind.is_file() && name != GIT {
                self.add(path, fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, bytes: Vec<u8>) {
        self.paths.insert(path.clone());
        if bytes.contains(&0) {
            return;
        }
        if let Ok(text) = String::from_utf8(bytes) {
            let rust = None;
            self.files.push(File { path, text, rust });
        }
    }

    pub fn rust_files(&self) -> impl Iterator<Item = (&File, &Rust)> {
        let files = self.files.iter();
        files.filter_map(|file| file.rust.as_ref().map(|rust| (file, rust)))
    }
}

impl File {
    fn read_rust(&mut self) -> io::Result<()> {
        if self.path.ends_with(".rs") {
            let rust = Rust::read(&self.text).map_err(|error| {
                let line = error.span().start().line;
                io::Error::other(format!("{}:{line}: {error}", self.path))
            })?;
            self.rust = Some(rust);
        }
        Ok(())
    }

    /// Lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(&self.text)
    }

    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.')
            .is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// True if all of the file is test code: integration tests, test modules in files of their
    /// own, and the conformance suite, which is compiled as a library but run as tests.
    pub fn is_test(&self) -> bool {
        let mut parts = self.path.split('/');
        parts.any(|part| {
            matches!(
                part,
                "tests" | "tests.rs" | "conformance" | "conformance.rs"
            )
        })
    }
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_files_can_be_linked_to_but_are_not_read() {
        let mut tree = Tree::empty();
        tree.add("logo.png".to_owned(), vec![0x89, 0x50]);
        tree.add("jobs.db".to_owned(), b"SQLite format 3\0".to_vec());
        assert!(tree.files.is_empty());
        assert!(tree.paths.contains("logo.png"));
    }

    #[test]
    fn test_files_are_known_by_their_path() {
        let is_test = |path| Tree::of(&[(path, "")]).files[0].is_test();
        assert!(is_test("crates/store/tests/claims.rs"));
        assert!(is_test("crates/core/src/policy/tests.rs"));
        assert!(is_test("crates/store/src/conformance/claim.rs"));
        assert!(!is_test("crates/store/src/claim.rs"));
    }

    #[test]
    fn copies_and_caches_are_not_read() {
        let root = crate::process::target_directory(&crate::root()).join("tidy-walk");
        for file in ["crates/book/src/a.md", "crates/book/pages/b.md", "c/d.md"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(root.join("c/CACHEDIR.TAG"), "").unwrap();
        let tree = Tree::load(&root).unwrap();
        assert!(tree.paths.iter().eq(["crates/book/src/a.md"]));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_repository_itself_can_be_loaded() {
        let tree = Tree::load(&crate::root()).unwrap();
        assert!(tree.paths.contains("xtask/src/tidy/tree.rs"));
        assert!(!tree.paths.iter().any(|path| path.starts_with(".git/")));
    }
}
