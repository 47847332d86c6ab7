//! `cargo xtask bench`: the benchmark lives in the binary, so that users can run it on their own
//! machines. This verb only makes sure that what is measured is what is shipped, and not a build
//! that was made in a hurry.

use crate::{VerbResult, process, root};

pub fn run(args: &[String]) -> VerbResult {
    let mut command = process::cargo(&root());
    command.args(["run", "--profile", "dist", "--package", "steadfast-cli"]);
    command.args(["--", "bench"]).args(args);
    let status = command
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the benchmark ended with {status}"))
    }
}
