//! The project's own commands: `cargo xtask <verb>`.
//!
//! They are Rust and not shell, so that a newcomer needs nothing but cargo. Dependencies are few and
//! quick to compile, so that the first answer comes after seconds and not after a build.

#![expect(
    clippy::print_stdout,
    reason = "a command line tool speaks on standard output"
)]

mod at_once;
mod bench;
mod check;
mod docs;
mod fuzz;
mod libraries;
mod needs;
mod packaging;
mod process;
mod prove;
mod publish;
mod steps;
mod supply_chain;
mod test;
mod test_programs;
mod tidy;
mod workspace;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The result of a verb; the error is the last sentence that the user reads.
pub type VerbResult = Result<(), String>;

pub struct Verb {
    pub name: &'static str,
    takes: &'static str,
    about: &'static str,
    run: fn(&[String]) -> VerbResult,
}

pub const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        takes: "[-- filter]",
        about: "everything a change must pass: formatting, lints, tidy, tests, examples, libraries, packages, fuzzing",
        run: test::run,
    },
    Verb {
        name: "check",
        takes: "",
        about: "the quick part of it: formatting, tidy, and if a crate has changed, lints and unit tests",
        run: check::run,
    },
    Verb {
        name: "tidy",
        takes: "",
        about: "the style rules alone; takes a few seconds",
        run: tidy::run,
    },
    Verb {
        name: "supply-chain",
        takes: "",
        about: "licences, sources and duplicates of all crates, and advisories if their database can be fetched",
        run: supply_chain::run,
    },
    Verb {
        name: "fuzz",
        takes: "",
        about: "made-up requests for every route of the API, from its OpenAPI document",
        run: test::run_fuzz,
    },
    Verb {
        name: "libraries",
        takes: "[name]",
        about: "the libraries for workers in sdk: their tests, and conformance with the real server",
        run: libraries::run,
    },
    Verb {
        name: "dist",
        takes: "[--check] [--url URL]",
        about: "all packages, built and tried: archives, .deb, images, wheels, npm, chart, tap, install script",
        run: packaging::run,
    },
    Verb {
        name: "repository",
        takes: "URL",
        about: "set the address of the repository in all manifests, and the Go module named after it",
        run: packaging::run_repository,
    },
    Verb {
        name: "publish",
        takes: "[--dry-run]",
        about: "the crates, with each feature alone and built from their packages; arguments are passed on to `cargo publish`",
        run: publish::run,
    },
    Verb {
        name: "docs",
        takes: "[--check] [page …]",
        about: "the book of docs as a site in target/book; --check runs what its pages show",
        run: docs::run,
    },
    Verb {
        name: "prove",
        takes: "[minutes] [name]",
        about: "the long proofs: simulation, power loss, killed nodes, fuzzing; goes on where it stopped. `soak [minutes]`: whether a node under load stays flat",
        run: prove::run,
    },
    Verb {
        name: "bench",
        takes: "[args]",
        about: "build the binary as it is shipped and run `steadfast bench args`; `sdk`: the libraries",
        run: bench::run,
    },
];

fn main() -> ExitCode {
    if let Some(code) = workspace::as_rustdoc() {
        return code;
    }
    let args: Vec<String> = env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("xtask: {sentence}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> VerbResult {
    let Some((name, rest)) = args.split_first() else {
        print!("{}", help());
        return Ok(());
    };
    if matches!(name.as_str(), "--help" | "-h" | "help") {
        print!("{}", help());
        return Ok(());
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => Err(format!("there is no verb `{name}`\n\n{}", help())),
    }
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask <verb>\n\n");
    for verb in VERBS {
        let call = format!("{} {}", verb.name, verb.takes);
        text.push_str(&format!("  {call:<22} {}\n", verb.about));
    }
    text
}

/// The root of the repository, wherever the command was typed.
///
/// The variable comes first: it is of the checkout that is run, while the compiled-in path is of
/// the one that was built, and two checkouts may share a target directory.
pub fn root() -> PathBuf {
    let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir
        .parent()
        .map_or_else(|| manifest_dir.clone(), Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_verb() {
        let help = help();
        for verb in VERBS {
            assert!(help.contains(verb.name) && help.contains(verb.about));
        }
    }

    #[test]
    fn an_unknown_verb_fails_and_shows_the_known_ones() {
        let said = dispatch(&["tset".to_owned()]).unwrap_err();
        assert!(said.contains("no verb `tset`") && said.contains("tidy"));
    }
}
