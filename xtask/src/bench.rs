//! `cargo xtask bench`: the benchmark lives in the binary, so that users can run it on their own
//! machines. This verb only makes sure that what is measured is what is shipped, and not a build
//! that was made in a hurry.
//!
//! `cargo xtask bench sdk [jobs]` measures the libraries for workers instead, each beside the usual
//! one of its language.

use std::process::Command;

use crate::{VerbResult, process, root};

/// The profile of shipped programs.
const PROFILE: &str = "dist";

pub fn run(args: &[String]) -> VerbResult {
    if let Some(("sdk", jobs)) = args.split_first().map(|(word, rest)| (word.as_str(), rest)) {
        return run_libraries(jobs);
    }
    let mut command = process::cargo(&root());
    command.args(["run", "--profile", PROFILE, "--package", "steadfast-cli"]);
    command.args(["--", "bench"]).args(args);
    wait(command)
}

fn run_libraries(jobs: &[String]) -> VerbResult {
    let root = root();
    let mut build = process::cargo(&root);
    build.args(["build", "--profile", PROFILE, "--package", "steadfast-cli"]);
    build.args(["--package", "steadfast-client", "--bin", "steadfast"]);
    build.args(["--example", "conformance_adapter"]);
    wait(build)?;
    let built = process::target_directory(&root).join(PROFILE);
    let mut measure = Command::new(root.join("sdk/bench/run.sh"));
    measure
        .args(jobs)
        .env("STEADFAST_BIN", built.join("steadfast"))
        .env("RUST_ADAPTER", built.join("examples/conformance_adapter"));
    wait(measure)
}

fn wait(mut command: Command) -> VerbResult {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the benchmark ended with {status}"))
    }
}
