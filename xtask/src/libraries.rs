//! `cargo xtask libraries`: the libraries for workers in `sdk`, with the server that the tests built.
//!
//! Each has a script, `check.sh`, that knows its language; here is only which of them can run on this
//! machine. A language that is missing is named and left out: who changes the server need not have
//! every toolchain.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::process::{self, CommandOutput, succeeds};
use crate::{VerbResult, at_once, needs, root, workspace};

struct Library {
    name: &'static str,
    /// Below the root.
    script: &'static str,
    args: &'static [&'static str],
    needs: &'static [&'static Toolchain],
}

struct Toolchain {
    what: &'static str,
    /// Succeeds if it is there and new enough.
    check: &'static [&'static str],
    /// Debian's packages of it. They may be too old, which the check then says.
    packages: &'static str,
}

const GO: Toolchain = Toolchain {
    what: "Go 1.24 or later (https://go.dev/dl)",
    check: &["sh", "-c", "cd sdk/go && go version"],
    packages: "golang-go",
};

const NODE: Toolchain = Toolchain {
    what: "Node 20.16 or later with npm (https://nodejs.org)",
    check: &[
        "sh",
        "-c",
        "npm --version && node -e 'const [a, b] = process.versions.node.split(\".\"); \
         process.exit(a > 20 || (a == 20 && b >= 16) ? 0 : 1)'",
    ],
    packages: "nodejs npm",
};

const PYTHON: Toolchain = Toolchain {
    what: "Python 3.10 or later with venv",
    check: &[
        "python3",
        "-c",
        "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))",
    ],
    packages: "python3 python3-venv",
};

/// The conformance program is written in Go, so each library needs that.
const LIBRARIES: &[Library] = &[
    Library {
        name: "rust",
        script: "sdk/rust/check.sh",
        args: &[],
        needs: &[&GO],
    },
    Library {
        name: "go",
        script: "sdk/go/check.sh",
        args: &["--short"],
        needs: &[&GO],
    },
    Library {
        name: "typescript",
        script: "sdk/typescript/check.sh",
        args: &["--short"],
        needs: &[&NODE, &GO],
    },
    Library {
        name: "python",
        script: "sdk/python/check.sh",
        args: &["--short"],
        needs: &[&PYTHON, &GO],
    },
    // Clients that generators of others make of the OpenAPI document.
    Library {
        name: "generators",
        script: "sdk/generators/check.sh",
        args: &[],
        needs: &[&PYTHON, &NODE],
    },
    // The official clients of QStash, with the door for them.
    Library {
        name: "qstash",
        script: "sdk/qstash/check.sh",
        args: &[],
        needs: &[&PYTHON, &NODE],
    },
];

/// The results of all libraries.
pub struct Report {
    pub output: CommandOutput,
    pub note: String,
}

pub fn run(args: &[String]) -> VerbResult {
    let root = root();
    for arg in args {
        if !LIBRARIES.iter().any(|library| library.name == arg) {
            let names: Vec<&str> = LIBRARIES.iter().map(|library| library.name).collect();
            return Err(format!(
                "there is no library `{arg}`; there are {}",
                names.join(", ")
            ));
        }
    }
    workspace::server(&root)?;
    let report = check(&root, args)?;
    process::show(&report.output);
    println!("{}", report.note);
    if report.output.success {
        Ok(())
    } else {
        Err("a library failed".to_owned())
    }
}

/// Libraries at the same time. Most of the time they wait for servers and leases.
const LIBRARIES_AT_ONCE: usize = 2;

/// Checks the libraries with these names, or all of them. After one that fails no other begins.
pub fn check(root: &Path, names: &[String]) -> Result<Report, String> {
    let binary = process::target_directory(root).join("debug/steadfast");
    if !binary.exists() {
        return Err(format!("{} is not built", binary.display()));
    }
    let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
    for library in LIBRARIES {
        if !names.is_empty() && !names.iter().any(|name| name == library.name) {
            continue;
        }
        match library.needs.iter().find(|need| !need.is_there(root)) {
            None => wanted.push(library),
            Some(missing) => left_out.push(format!(
                "{} left out: {} is missing",
                library.name, missing.what
            )),
        }
    }
    let has_failed = AtomicBool::new(false);
    let ended = at_once::map(LIBRARIES_AT_ONCE, &wanted, |library| {
        if has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let ran = library.check(root, &binary);
        let passed = ran.as_ref().is_ok_and(|ran| ran.success);
        has_failed.fetch_or(!passed, Ordering::Relaxed);
        Some(ran)
    });
    let mut output = CommandOutput {
        success: true,
        lines: Vec::new(),
    };
    let mut passed = Vec::new();
    for (library, ran) in wanted.iter().zip(ended) {
        let Some(ran) = ran.transpose()? else {
            continue;
        };
        output.success &= ran.success;
        output.lines.extend(ran.lines);
        match ran.success {
            true => passed.push(library.name.to_owned()),
            false => output.lines.push(format!(
                "{} failed; rerun: cargo xtask libraries {0}",
                library.name
            )),
        }
    }
    passed.append(&mut left_out);
    Ok(Report {
        output,
        note: passed.join(", "),
    })
}

impl Library {
    fn check(&self, root: &Path, binary: &Path) -> Result<CommandOutput, String> {
        let mut command = Command::new(root.join(self.script));
        command
            .args(self.args)
            .current_dir(root)
            .env("STEADFAST_BIN", binary);
        process::run_silently(command)
            .map_err(|error| format!("cannot start {}: {error}", self.script))
    }
}

impl Toolchain {
    /// Whether it is there, perhaps after it was installed.
    fn is_there(&self, root: &Path) -> bool {
        let check = || {
            let (program, args) = (self.check[0], &self.check[1..]);
            succeeds_in(root, program, args)
        };
        check() || (needs::install_packages(self.packages) && check())
    }
}

fn succeeds_in(directory: &Path, program: &str, args: &[&str]) -> bool {
    let directory = directory.to_string_lossy();
    let mut all = vec![
        "-c",
        "cd \"$1\" && shift && exec \"$@\"",
        "sh",
        &directory,
        program,
    ];
    all.extend(args);
    succeeds("sh", &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_its_script() {
        for library in LIBRARIES {
            assert!(root().join(library.script).exists(), "{}", library.script);
        }
    }

    #[test]
    fn an_unknown_library_is_refused_before_anything_is_built() {
        let said = run(&["cobol".to_owned()]).unwrap_err();
        assert!(said.contains("there is no library `cobol`") && said.contains("python"));
    }
}
