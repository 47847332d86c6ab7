//! The program for a target, built so that nothing of this machine is in it.
//!
//! For this machine's processor `musl-gcc` compiles SQLite. For another one zig does, which is one
//! package with compilers and C libraries for all of them; `cargo-zigbuild` tells cargo about it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::{self, Target};
use super::tools;
use crate::needs;
use crate::process::{self, succeeds};

/// The profile of shipped programs.
const PROFILE: &str = "dist";

/// Compilers for other processors; both are on PyPI.
const CROSS_TOOLS: &[&str] = &["cargo-zigbuild==0.24.0", "ziglang==0.17.0"];

pub fn build(root: &Path, target: &Target) -> Result<PathBuf, String> {
    need_standard_library(root, target)?;
    let mut command = if target.is_native() {
        need_musl()?;
        let mut command = process::cargo(root);
        command.arg("build");
        command
    } else {
        let place = tools::environment(root, CROSS_TOOLS)?.join("bin");
        let mut command = process::cargo(root);
        let path = env::var_os("PATH").unwrap_or_default();
        let paths = [place].into_iter().chain(env::split_paths(&path));
        let paths = env::join_paths(paths).map_err(|error| error.to_string())?;
        command.arg("zigbuild").env("PATH", paths);
        command
    };
    let epoch = release::epoch(root)?;
    let (rust_flags, c_flags) = path_flags(root);
    command
        .args(["--locked", "--profile", PROFILE])
        .args(["--package", "steadfast-cli", "--target", target.triple])
        .env("SOURCE_DATE_EPOCH", epoch.to_string())
        .env("RUSTFLAGS", rust_flags)
        .env("CFLAGS", c_flags)
        .env("CARGO_INCREMENTAL", "0");
    let built = process::run_build(command).map_err(|error| error.to_string())?;
    if !built.success {
        process::show(&built);
        return Err(format!("the program does not build for {}", target.triple));
    }
    let directory = process::target_directory(root).join(target.triple);
    Ok(directory.join(PROFILE).join("steadfast"))
}

fn need_standard_library(root: &Path, target: &Target) -> Result<(), String> {
    let list = Command::new("rustup")
        .args(["target", "list", "--installed"])
        .current_dir(root)
        .output();
    let is_there =
        list.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).contains(target.triple));
    if is_there || succeeds("rustup", &["target", "add", target.triple]) {
        return Ok(());
    }
    Err(format!(
        "the standard library for {triple} is needed: rustup target add {triple}",
        triple = target.triple
    ))
}

fn need_musl() -> Result<(), String> {
    let has_compiler = || succeeds("musl-gcc", &["--version"]);
    if has_compiler() || (needs::install_packages("musl-tools") && has_compiler()) {
        return Ok(());
    }
    Err("musl-gcc is needed, for SQLite: apt-get install musl-tools".to_owned())
}

/// The program that runs those of another processor; none for our own.
pub fn emulator(target: &Target) -> Result<Option<String>, String> {
    if target.is_native() {
        return Ok(None);
    }
    let name = format!("qemu-{}-static", target.arch);
    let is_there = || succeeds(&name, &["--version"]);
    if is_there() || (needs::install_packages("qemu-user-static") && is_there()) {
        return Ok(Some(name));
    }
    Err(format!(
        "{name} is needed, to try the program: apt-get install qemu-user-static"
    ))
}

/// Panics name their file; these flags make it the same file on every machine.
fn path_flags(root: &Path) -> (String, String) {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let places = [(root, "/steadfast"), (cargo_home.as_path(), "/cargo")];
    let flags = |flag: &str| -> String {
        let flags = places.iter();
        let flags = flags.map(|(from, to)| format!("{flag}={}={to}", from.display()));
        flags.collect::<Vec<_>>().join(" ")
    };
    (flags("--remap-path-prefix"), flags("-ffile-prefix-map"))
}
