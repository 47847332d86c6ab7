//! `cargo xtask supply-chain`: what other people's code may be built into the binary.
//!
//! The policy is `deny.toml`, and cargo-deny checks it. Where cargo-deny is not installed, it is
//! compiled once into the target directory, without optimisation: 95 seconds of CPU time instead of
//! several minutes, for a program that runs for five seconds.
//!
//! Its database of advisories is fetched from elsewhere. They are checked where it can be had, and
//! the step says so where it cannot.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process::{self, CommandOutput, cargo_has};
use crate::{VerbResult, root};

const VERSION: &str = "0.20.2";

/// An entry of the policy that is no longer needed is an error.
const POLICY: &[&str] = &[
    "check",
    "--deny=unmatched-skip",
    "--deny=unnecessary-skip",
    "--deny=license-not-encountered",
    "bans",
    "licenses",
    "sources",
];

pub fn run(args: &[String]) -> VerbResult {
    if let Some(arg) = args.first() {
        return Err(format!("supply-chain takes no arguments, not even `{arg}`"));
    }
    let report = check(&root())?;
    println!("{}", report.note);
    if report.output.success {
        return Ok(());
    }
    process::show(&report.output);
    Err("the crates break the policy of deny.toml; rerun: cargo xtask supply-chain".to_owned())
}

pub struct Report {
    pub output: CommandOutput,
    /// The checks that ran, and those that did not.
    pub note: String,
}

pub fn check(root: &Path) -> Result<Report, String> {
    let output = deny(root, POLICY)?;
    let note = "licences, sources, duplicates".to_owned();
    if !output.success {
        return Ok(Report { output, note });
    }
    let advisories = deny(root, &["check", "advisories"])?;
    if !advisories.success && is_without_database(&advisories.lines) {
        let note = format!("{note}; advisories not checked: their database cannot be fetched");
        return Ok(Report { output, note });
    }
    Ok(Report {
        output: advisories,
        note: format!("{note}, advisories"),
    })
}

fn deny(root: &Path, args: &[&str]) -> Result<CommandOutput, String> {
    let mut command = if cargo_has("deny") {
        let mut command = process::cargo(root);
        command.arg("deny");
        command
    } else {
        own_program(root)?
    };
    command.args(args);
    process::run_silently(command).map_err(|error| format!("cannot start cargo-deny: {error}"))
}

/// The program in the target directory, which is compiled if it is not there.
fn own_program(root: &Path) -> Result<Command, String> {
    let place = process::target_directory(root).join(format!("cargo-deny-{VERSION}"));
    let program = place.join("bin/cargo-deny");
    if !program.exists() {
        let objects = place.join("objects");
        let mut install = process::cargo(root);
        install
            .args(["install", "cargo-deny", "--locked", "--debug"])
            .args(["--version", VERSION])
            .arg("--root")
            .arg(&place)
            .env("CARGO_TARGET_DIR", &objects)
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        println!("   installing cargo-deny into {}", place.display());
        let output = process::run_silently(install).map_err(|error| error.to_string())?;
        if !output.success {
            process::show(&output);
            return Err("cannot install cargo-deny".to_owned());
        }
        fs::remove_dir_all(objects).map_err(|error| error.to_string())?;
    }
    let mut command = Command::new(program);
    command.current_dir(root);
    Ok(command)
}

fn is_without_database(lines: &[String]) -> bool {
    let mut lines = lines.iter();
    lines.any(|line| line.contains("failed to fetch advisory database"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advisory_is_not_taken_for_a_missing_database() {
        let lines = |line: &str| vec!["  Fetching".to_owned(), line.to_owned()];
        let missing = "[ERROR] failed to fetch advisory database https://example.com";
        assert!(is_without_database(&lines(missing)));
        assert!(!is_without_database(&lines(
            "error[vulnerability]: a crate"
        )));
    }
}
