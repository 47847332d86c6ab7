//! Lists the pages and pictures of the book, for `embedded`.

#[path = "src/sources.rs"]
mod sources;

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    // Copies that were left behind in the repository are not read.
    let from = if here.join("../../crates/book/build.rs").exists() {
        "../.."
    } else {
        sources::COPIES
    };
    println!("cargo::rerun-if-changed=build.rs");
    for source in sources::SOURCES {
        println!("cargo::rerun-if-changed={from}/{source}");
    }
    let mut table = String::from("&[\n");
    for name in sources::files(&here.join(from))?.into_keys() {
        // From a variable, so that the table is the same wherever it is built.
        let file = format!("/{from}/{name}");
        table.push_str(&format!(
            "({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {file:?}))),\n"
        ));
    }
    table.push_str("]\n");
    fs::write(PathBuf::from(variable("OUT_DIR")?).join("pages.rs"), table)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}
