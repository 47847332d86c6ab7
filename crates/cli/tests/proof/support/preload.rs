//! A function of the C library that behaves differently in a process.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Compiles a library for `LD_PRELOAD`.
pub fn build(dir: &Path, source: &str) -> PathBuf {
    let (file, library) = (dir.join("preload.c"), dir.join("preload.so"));
    std::fs::write(&file, source).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &file])
        .arg("-ldl")
        .status();
    assert!(built.unwrap().success());
    library
}
