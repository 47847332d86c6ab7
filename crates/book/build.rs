//! Lists the pages and pictures of the book, for `embedded`.
//!
//! `pages` has links to where they are written, so that a package of this crate has them, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let pages = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("pages");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", pages.display());
    let mut files = Vec::new();
    collect(&pages, &mut files)?;
    let mut named = BTreeMap::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&pages).map_err(io::Error::other)?;
        named.insert(name.to_string_lossy().replace('\\', "/"), file);
    }
    let mut table = String::from("&[\n");
    for (name, file) in &named {
        table.push_str(&format!("({name:?}, include_bytes!({file:?})),\n"));
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("pages.rs"), table)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        if path.is_dir() {
            collect(&path, files)?;
        } else if matches!(kind, Some("md" | "svg" | "png")) {
            files.push(path);
        }
    }
    Ok(())
}
