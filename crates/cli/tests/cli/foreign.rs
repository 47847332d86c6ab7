//! Programs that others wrote: the official clients of the Model Context Protocol and of
//! CloudEvents, and the conformance suite of the former.

mod agents;
mod cloud_events;

use std::{path::PathBuf, process::Command};

use crate::node::{CommandOutput, output_of};

/// Where the packages are installed; the same as in xtask.
fn packages() -> PathBuf {
    let target = PathBuf::from(env!("CARGO_BIN_EXE_steadfast"));
    let target = target.parent().and_then(|it| it.parent()).unwrap();
    let folder = target.join("foreign-clients-1");
    assert!(
        folder.exists(),
        "foreign clients are missing: `cargo xtask test` installs them in {}",
        folder.display()
    );
    folder
}

/// A script beside this file, with the folder of the packages and these arguments.
fn script(name: &str, args: &[&str]) -> Command {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/foreign");
    let mut command = Command::new("node");
    command.arg(format!("{folder}/{name}"));
    command.arg(packages()).args(args);
    command
}

/// Runs a script to its end.
fn run_script(name: &str, args: &[&str]) -> CommandOutput {
    let output = output_of(script(name, args));
    assert_eq!(output.code, 0, "{output:?}");
    output
}
