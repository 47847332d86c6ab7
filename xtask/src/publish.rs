//! `cargo xtask publish`: the crates as crates.io gets them, each built from its package.
//!
//! A package has only what lies below its crate, and the pages of the book do not: they are copied
//! for as long as cargo packs. Git ignores the copies, so cargo would call them changes that are
//! not committed; whether there are such is therefore asked here.
//!
//! Cargo builds a package with its default features. Tests and lints have all of them at once. So
//! before that, each crate is checked without features and with each of them alone, and all of them
//! with the oldest Rust that they say to build with; lints know only from when on the standard
//! library has what is called.

use std::fs;
use std::path::Path;
use std::process::Command;

use steadfast_book::sources;

use crate::process::{self, CommandOutput};
use crate::tidy::manifest;
use crate::{VerbResult, root};

const DRY_RUN: &str = "--dry-run";

pub fn run(args: &[String]) -> VerbResult {
    let root = root();
    if !args.iter().any(|arg| arg == DRY_RUN) {
        refuse_changes(&root)?;
    }
    check_builds(&root)?;
    verdict(&publish(&root, args)?)
}

/// The crates that would be published, and whether they build.
pub fn check(root: &Path) -> VerbResult {
    check_builds(root)?;
    verdict(&publish(root, &[DRY_RUN.to_owned()])?)
}

fn check_builds(root: &Path) -> VerbResult {
    check_features(root)?;
    check_oldest_rust(root)
}

fn check_features(root: &Path) -> VerbResult {
    for (package, features) in published(root)? {
        for feature in features {
            let mut command = process::cargo(root);
            command.args(["clippy", "--locked", "--package", &package]);
            command.args(["--no-default-features", "--features", &feature]);
            command.args(["--", "-D", "warnings"]);
            let output = process::run_quietly(command)
                .map_err(|error| format!("cannot start cargo: {error}"))?;
            if !output.success {
                process::show(&output);
                return Err(format!(
                    "{package} does not build with these features alone: \"{feature}\""
                ));
            }
        }
    }
    Ok(())
}

/// What another Rust compiles has a place of its own, so that it does not replace ours.
fn check_oldest_rust(root: &Path) -> VerbResult {
    let manifest =
        fs::read_to_string(root.join("Cargo.toml")).map_err(|error| error.to_string())?;
    let toolchain = oldest_toolchain(&manifest).ok_or("the workspace has no rust-version")?;
    let is_there = || process::succeeds("rustup", &["run", &toolchain, "rustc", "--version"]);
    let install = ["toolchain", "install", &toolchain, "--profile", "minimal"];
    if !is_there() && !process::succeeds("rustup", &install) {
        return Err(format!(
            "the oldest Rust that is promised is needed: rustup {}",
            install.join(" ")
        ));
    }
    let mut command = Command::new("rustup");
    command.args(["run", &toolchain, "cargo", "check", "--locked"]);
    command.args(["--workspace", "--all-features", "--target-dir"]);
    command.arg(process::target_directory(root).join("oldest-rust"));
    // Our own cargo, which this one would pass on.
    command.current_dir(root).env_remove("CARGO");
    let output =
        process::run_quietly(command).map_err(|error| format!("cannot start rustup: {error}"))?;
    if output.success {
        return Ok(());
    }
    process::show(&output);
    Err(format!("the crates do not build with Rust {toolchain}"))
}

/// The first release of the line that `rust-version` names.
fn oldest_toolchain(manifest: &str) -> Option<String> {
    let mut lines = manifest.lines();
    let version = lines.find_map(|line| line.strip_prefix("rust-version = \""))?;
    Some(format!("{}.0", version.strip_suffix('"')?))
}

/// The crates that are published, with the features that are checked one at a time; the empty one
/// is none.
fn published(root: &Path) -> Result<Vec<(String, Vec<String>)>, String> {
    let folder = root.join("crates");
    let failed = |error| format!("cannot read {}: {error}", folder.display());
    let mut crates = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path().join("Cargo.toml");
        let manifest = manifest::read(&fs::read_to_string(path).map_err(failed)?)?;
        if manifest.is_published {
            let mut features = vec![String::new()];
            let named = manifest.features.into_iter();
            features.extend(named.filter(|name| name != "default"));
            crates.push((manifest.package, features));
        }
    }
    crates.sort();
    Ok(crates)
}

fn verdict(output: &CommandOutput) -> VerbResult {
    if output.success {
        return Ok(());
    }
    process::show(output);
    Err("the crates cannot be published".to_owned())
}

fn publish(root: &Path, args: &[String]) -> Result<CommandOutput, String> {
    let copies = root.join("crates/book").join(sources::COPIES);
    copy_pages(root, &copies)?;
    let mut command = process::cargo(root);
    command
        .args(["publish", "--workspace", "--locked", "--allow-dirty"])
        .args(args);
    let output = process::run_quietly(command);
    fs::remove_dir_all(&copies).map_err(|error| format!("{}: {error}", copies.display()))?;
    output.map_err(|error| format!("cannot start cargo: {error}"))
}

fn refuse_changes(root: &Path) -> VerbResult {
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if status.status.success() && status.stdout.is_empty() {
        Ok(())
    } else {
        Err("commit first: what is published is a commit".to_owned())
    }
}

/// Copies that another run left are removed before, so that no page stays that is gone.
fn copy_pages(root: &Path, to: &Path) -> VerbResult {
    let failed = |error| format!("cannot copy the book to {}: {error}", to.display());
    if to.exists() {
        fs::remove_dir_all(to).map_err(failed)?;
    }
    for (name, file) in sources::files(root).map_err(failed)? {
        let copy = to.join(name);
        if let Some(directory) = copy.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        fs::copy(file, copy).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_published_crates_are_checked_one_at_a_time() {
        let found = published(&root()).unwrap();
        let of = |name: &str| {
            let mut features = found.iter().filter(|(package, _)| package == name);
            features.next().map(|(_, features)| features.join(" "))
        };
        assert_eq!(of("steadfast").unwrap(), " http log-layer postgres sqlite");
        assert_eq!(of("steadfast-core").unwrap(), " openapi");
        assert_eq!(of("steadfast-sim"), None);
    }

    #[test]
    fn the_oldest_rust_is_the_one_that_the_workspace_names() {
        let manifest = "[workspace.package]\nrust-version = \"1.85\"\n";
        assert_eq!(oldest_toolchain(manifest).unwrap(), "1.85.0");
        let text = |file: &str| fs::read_to_string(root().join(file)).unwrap();
        let ours = oldest_toolchain(&text("Cargo.toml")).unwrap();
        assert_eq!(oldest_toolchain(&text("fuzz/Cargo.toml")).unwrap(), ours);
        let in_words = format!("Rust {}", ours.trim_end_matches(".0"));
        for page in ["README.md", "docs/install.md"] {
            assert!(text(page).contains(&in_words), "{page}: {in_words}");
        }
    }

    #[test]
    fn copies_of_the_pages_are_the_whole_book_and_nothing_older() {
        let root = root();
        let place = process::target_directory(&root).join("copies-of-pages");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("README.md.orig"), "left behind").unwrap();
        copy_pages(&root, &place).unwrap();
        let copied = sources::files(&place).unwrap();
        let written = sources::files(&root).unwrap();
        assert!(copied.keys().eq(written.keys()));
        assert!(copied.contains_key("docs/screenshots/demo.svg"));
        for (name, file) in &written {
            assert!(fs::read(file).unwrap() == fs::read(&copied[name]).unwrap());
        }
        assert!(!place.join("README.md.orig").exists());
        fs::remove_dir_all(place).unwrap();
    }
}
