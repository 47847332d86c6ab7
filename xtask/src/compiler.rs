//! What cargo calls in place of rustc when the checks build: one pass compiles, lints and reads the
//! documentation, so that no crate is read twice.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self as os_process, Command, ExitCode};
use std::sync::OnceLock;

use crate::{VerbResult, process};

/// As `cargo clippy -- -D warnings` sets it.
const LINT_ARGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// A cargo whose builds pass through here. What it builds is kept apart from other builds.
pub fn cargo(root: &Path) -> Result<Command, String> {
    // Before the first build, which may replace this program.
    static COPY: OnceLock<io::Result<PathBuf>> = OnceLock::new();
    let copy = COPY.get_or_init(|| copy_of_this_program(root)).as_ref();
    let copy = copy.map_err(|error| format!("cannot copy xtask: {error}"))?;
    let mut command = process::cargo(root);
    command.env("RUSTC_WORKSPACE_WRAPPER", copy);
    Ok(command)
}

fn copy_of_this_program(root: &Path) -> io::Result<PathBuf> {
    let directory = process::target_directory(root).join("compiler");
    let copy = directory.join("xtask");
    let this = env::current_exe()?;
    let program = fs::read(&this)?;
    if fs::read(&copy).ok().as_ref() != Some(&program) {
        fs::create_dir_all(&directory)?;
        let new = directory.join(format!("xtask-{}", os_process::id()));
        fs::copy(&this, &new)?;
        fs::rename(&new, &copy)?;
    }
    Ok(copy)
}

/// True if cargo called this program: it puts the path of the compiler before its arguments.
pub fn is_called(args: &[String]) -> bool {
    let first = args.first().map(Path::new);
    first.and_then(Path::file_stem) == Some(OsStr::new("rustc"))
}

/// Compiles with lints, then reads the documentation of a library or program. Both print by
/// themselves, in the form that cargo asks for.
pub fn run(args: &[String]) -> ExitCode {
    let compiler = Path::new(&args[0]);
    let mut lints = Command::new(compiler.with_file_name("clippy-driver"));
    lints.args(args).env("CLIPPY_ARGS", LINT_ARGS);
    let passed = succeeds(lints).and_then(|()| match documentation_args(&args[1..]) {
        None => Ok(()),
        Some(args) => {
            let mut documentation = Command::new(compiler.with_file_name("rustdoc"));
            documentation.args(args);
            succeeds(documentation)
        }
    });
    match passed {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}

fn succeeds(mut command: Command) -> VerbResult {
    let program = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program}: {status}")),
        Err(error) => Err(format!("cannot start {program}: {error}")),
    }
}

/// The arguments of rustdoc for what rustc was asked to compile. Tests and build scripts have no
/// documentation, and cargo's questions about the compiler compile nothing.
fn documentation_args(args: &[String]) -> Option<Vec<OsString>> {
    let value = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)
    };
    let crate_name = value("--crate-name")?;
    let crate_type = value("--crate-type")?;
    let out = value("--out-dir")?;
    if args.iter().any(|arg| arg == "--test") || crate_name.starts_with("build_script_") {
        return None;
    }
    let mut kept: Vec<OsString> = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--out-dir" => {
                args.next();
            }
            // What rustc writes, and where to.
            "-C" => {
                args.next();
            }
            arg if arg.starts_with("--emit=") => {}
            arg => kept.push(arg.into()),
        }
    }
    kept.push("--out-dir".into());
    // A library and a program may have the same name, and are read at the same time.
    let documentation = Path::new(out).with_file_name("documentation");
    kept.push(documentation.join(crate_type).into());
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documented(args: &str) -> Option<String> {
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let kept = documentation_args(&args)?;
        let kept: Vec<_> = kept.iter().map(|arg| arg.to_string_lossy()).collect();
        Some(kept.join(" "))
    }

    #[test]
    fn libraries_and_programs_are_documented_and_nothing_else() {
        let compiled = "--crate-name core src/lib.rs --crate-type lib --emit=dep-info,link -C opt-level=0 --cfg a --out-dir target/debug/deps -L deps";
        let expected = "--crate-name core src/lib.rs --crate-type lib --cfg a -L deps --out-dir target/debug/documentation/lib";
        assert_eq!(documented(compiled).unwrap(), expected);
        assert_eq!(documented(&format!("{compiled} --test")), None);
        assert_eq!(
            documented(
                "--crate-name build_script_build --crate-type bin --out-dir target/debug/build/store"
            ),
            None
        );
        assert_eq!(documented("-vV"), None);
        assert_eq!(
            documented("- --crate-name ___ --print=file-names --crate-type bin"),
            None
        );
    }

    #[test]
    fn cargo_calls_with_the_path_of_the_compiler() {
        let call = |first: &str| is_called(&[first.to_owned(), "-vV".to_owned()]);
        assert!(call("/usr/bin/rustc") && call("rustc") && call("rustc.exe"));
        assert!(!call("test"));
        assert!(!is_called(&[]));
    }
}
