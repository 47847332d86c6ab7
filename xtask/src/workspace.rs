//! The workspace, compiled with its lints.
//!
//! Clippy is a compiler, and what it accepts it also builds. So the lints need no run of their own
//! that checks every dependency again. The same holds for documentation: `cargo doc` would check all
//! dependencies first, but rustdoc reads what the tests of the examples have compiled already.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::process::{self, CommandOutput};

/// All programs and examples. With the examples, dependencies have the features that tests need.
pub const PROGRAMS: &[&str] = &[
    "build",
    "--workspace",
    "--all-features",
    "--examples",
    "--bins",
];

/// All test programs.
pub const TEST_PROGRAMS: &[&str] = &["test", "--workspace", "--all-features", "--no-run"];

/// The real rustdoc, for the process that cargo starts in its place.
const RUSTDOC: &str = "STEADFAST_XTASK_RUSTDOC";

/// A cargo that lints what it compiles: a warning is an error.
pub fn cargo(root: &Path) -> Command {
    let mut command = process::cargo(root);
    let beside = |name| Path::new(command.get_program()).with_file_name(name);
    let (clippy, rustdoc) = (beside("clippy-driver"), beside("rustdoc"));
    // As `cargo clippy -- -D warnings` sets it.
    let end = "__CLIPPY_HACKERY__";
    command
        .env("RUSTC_WORKSPACE_WRAPPER", clippy)
        .env("CLIPPY_ARGS", format!("-D{end}warnings{end}"))
        .env("RUSTDOC", own_program(root))
        .env(RUSTDOC, rustdoc);
    command
}

/// This program. The build replaces its file, so the path of the process is of no use.
fn own_program(root: &Path) -> PathBuf {
    process::target_directory(root).join("debug/xtask")
}

/// Builds the server and the examples; the output says whether that went well.
pub fn build_programs(root: &Path) -> Result<CommandOutput, String> {
    let mut build = cargo(root);
    build.args(PROGRAMS);
    process::run_quietly(build).map_err(|error| format!("cannot start cargo: {error}"))
}

/// The server, built if need be. What the compiler says is printed if it fails.
pub fn server(root: &Path) -> Result<PathBuf, String> {
    let built = build_programs(root)?;
    if built.success {
        return Ok(process::target_directory(root).join("debug/steadfast"));
    }
    process::show(&built);
    Err("the program does not build".to_owned())
}

/// Cargo starts this program in place of rustdoc: first the documentation must build without broken
/// links, then its examples run. `None` if cargo did not start it.
pub fn as_rustdoc() -> Option<ExitCode> {
    let rustdoc = env::var_os(RUSTDOC)?;
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let run = |args: &[OsString]| Command::new(&rustdoc).args(args).status();
    let is_good = |args: &[OsString]| run(args).is_ok_and(|status| status.success());
    let are_good = documentation_args(&args).is_none_or(|args| is_good(&args)) && is_good(&args);
    Some(if are_good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The arguments that write the documentation whose examples would be tested; `None` if they test
/// nothing.
fn documentation_args(test_args: &[OsString]) -> Option<Vec<OsString>> {
    let mut args = Vec::new();
    let mut is_test = false;
    let mut given = test_args.iter();
    while let Some(arg) = given.next() {
        match arg.to_str() {
            Some("--test") => is_test = true,
            Some("--no-run" | "--nocapture") => {}
            Some("--test-args" | "--test-run-directory" | "--test-runtool") => {
                given.next();
            }
            _ => args.push(arg.clone()),
        }
    }
    args.extend([OsStr::new("--out-dir").into(), "target/doc".into()]);
    is_test.then_some(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_built_with_the_arguments_of_its_tests() {
        let args = |text: &str| -> Vec<OsString> { text.split(' ').map(Into::into).collect() };
        let given = args(
            "--edition=2024 --crate-name steadfast --test src/lib.rs --test-run-directory . \
             --extern a=liba.rlib --no-run --test-args claims",
        );
        let wanted = "--edition=2024 --crate-name steadfast src/lib.rs --extern a=liba.rlib \
                      --out-dir target/doc";
        assert_eq!(documentation_args(&given), Some(args(wanted)));
        assert_eq!(documentation_args(&args("--version")), None);
    }
}
