//! The test programs of the workspace, several beside each other.
//!
//! Most of them wait most of the time: for a browser, a server, a lease that runs out. One after
//! the other they would leave the processor idle for half of the run.

use std::collections::BTreeSet;

use crate::process::{self, CommandOutput};
use crate::{at_once, root, workspace};

/// Programs at the same time, and tests at the same time in each. Memory is no limit: a test takes
/// some ten megabytes, one with a browser some hundred.
const PROGRAMS: usize = 3;
const TESTS_PER_PROGRAM: &str = "4";

/// Those that take longest begin, so that none of them is left alone at the end.
const LONGEST_FIRST: &[&str] = &["dashboard", "api", "cli", "sim", "proof"];

/// The tests of all crates, with the features of the lints.
const WORKSPACE: &[&str] = &["test", "--workspace", "--all-features"];

/// Builds all test programs, then runs them. The lines are those of all that ran; of those that
/// failed, where any did.
pub fn run() -> Result<CommandOutput, String> {
    let built = cargo(&["--no-run"])?;
    if !built.success {
        return Ok(built);
    }
    let ended = at_once::map(PROGRAMS, &runs(&built.lines), |args| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        cargo(&args)
    });
    let ended: Vec<CommandOutput> = ended.into_iter().collect::<Result<_, _>>()?;
    let success = ended.iter().all(|output| output.success);
    let shown = ended
        .into_iter()
        .filter(|output| success || !output.success);
    Ok(CommandOutput {
        success,
        lines: shown.flat_map(|output| output.lines).collect(),
    })
}

/// The arguments of each run: a test target by its name, all unit tests, all examples in docs.
fn runs(built: &[String]) -> Vec<Vec<String>> {
    let targets: BTreeSet<String> = built.iter().filter_map(|line| test_target(line)).collect();
    let (first, others): (Vec<_>, Vec<_>) = targets
        .into_iter()
        .partition(|name| LONGEST_FIRST.contains(&name.as_str()));
    let mut first = first;
    first.sort_by_key(|name| LONGEST_FIRST.iter().position(|long| long == name));
    let by_name = first.into_iter().chain(others);
    let mut runs: Vec<Vec<String>> = by_name
        .map(|name| vec!["--test".to_owned(), name])
        .collect();
    runs.push(vec!["--lib".to_owned(), "--bins".to_owned()]);
    runs.push(vec!["--doc".to_owned()]);
    runs
}

/// The name in `Executable tests/api/main.rs (target/debug/deps/api-5a0d7eafea44147e)`.
fn test_target(line: &str) -> Option<String> {
    let plain = process::without_colours(line);
    let (_, after) = plain.split_once("Executable tests/")?;
    let (path, _) = after.split_once(" (")?;
    let name = path.strip_suffix("/main.rs").or(path.strip_suffix(".rs"))?;
    Some(name.to_owned())
}

fn cargo(args: &[&str]) -> Result<CommandOutput, String> {
    let mut command = workspace::cargo(&root());
    command.args(WORKSPACE).args(args);
    if std::env::var_os("RUST_TEST_THREADS").is_none() {
        command.env("RUST_TEST_THREADS", TESTS_PER_PROGRAM);
    }
    process::run_quietly(command).map_err(|error| format!("cannot start cargo: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_target_runs_once_the_longest_first_then_unit_tests_and_docs() {
        let built = [
            "   Compiling steadfast-core v0.1.0",
            "  Executable unittests src/lib.rs (target/debug/deps/steadfast-5a0d)",
            "  Executable tests/behaviour/main.rs (target/debug/deps/behaviour-91a4)",
            "  Executable tests/cli/main.rs (target/debug/deps/cli-2d0a)",
            "\u{1b}[1m\u{1b}[92m  Executable\u{1b}[0m tests/api/main.rs (target/debug/deps/api-4ddb)",
        ];
        let runs = runs(&built.map(str::to_owned));
        let runs: Vec<String> = runs.iter().map(|args| args.join(" ")).collect();
        assert_eq!(
            runs,
            [
                "--test api",
                "--test cli",
                "--test behaviour",
                "--lib --bins",
                "--doc"
            ]
        );
    }
}
