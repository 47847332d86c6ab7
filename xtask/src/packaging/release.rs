//! The packed release: one program for one target, with the version and time of all packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::archive::Compression;

/// Where the program runs, in the words of each package format.
pub struct Target {
    pub triple: &'static str,
    /// As Rust and Linux name the processor.
    pub arch: &'static str,
    pub debian: &'static str,
    pub container: &'static str,
    pub npm: &'static str,
    pub homebrew: &'static str,
    /// A static program runs with every C library, so these are the oldest that pip knows.
    pub wheel: &'static str,
}

pub const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        arch: "x86_64",
        debian: "amd64",
        container: "amd64",
        npm: "x64",
        homebrew: "intel",
        wheel: "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        arch: "aarch64",
        debian: "arm64",
        container: "arm64",
        npm: "arm64",
        homebrew: "arm",
        wheel: "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    },
];

impl Target {
    /// Whether its programs run on this machine.
    pub fn is_native(&self) -> bool {
        self.arch == env::consts::ARCH
    }

    /// That of this machine.
    pub fn native() -> Result<&'static Target, String> {
        let mut targets = TARGETS.iter();
        let found = targets.find(|target| target.is_native());
        found.ok_or_else(|| format!("there are no packages for {}", env::consts::ARCH))
    }

    pub fn named(triple: &str) -> Result<&'static Target, String> {
        let mut targets = TARGETS.iter();
        let found = targets.find(|target| target.triple == triple);
        let known: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
        found.ok_or_else(|| format!("there is no target {triple}: {}", known.join(", ")))
    }
}

#[derive(Clone)]
pub struct Release {
    pub version: String,
    /// The address of the repository.
    pub repository: String,
    /// Seconds since 1970: the time of the commit.
    pub epoch: u64,
    pub target: &'static Target,
    pub binary: Vec<u8>,
    /// Files installed beside the program, which it generates itself.
    pub manual: Manual,
    pub compression: Compression,
    /// The directory under which the archives will be found.
    pub url: Option<String>,
    pub root: PathBuf,
}

/// Completions and man pages, with the names that shells and `man` look for.
#[derive(Clone, Default)]
pub struct Manual {
    pub bash: Vec<u8>,
    pub zsh: Vec<u8>,
    pub fish: Vec<u8>,
    /// By name, in the order of the names.
    pub pages: Vec<(String, Vec<u8>)>,
}

impl Manual {
    /// Asks the program; `emulator` starts it if it is of another processor.
    pub fn read(emulator: Option<&str>, binary: &Path, scratch: &Path) -> Result<Manual, String> {
        let run = |args: &[&str]| -> Result<Vec<u8>, String> {
            let mut command = match emulator {
                Some(emulator) => Command::new(emulator),
                None => Command::new(binary),
            };
            command.args(emulator.map(|_| binary));
            let names = env::vars_os().map(|(name, _)| name);
            for name in names.filter(|name| name.to_string_lossy().starts_with("STEADFAST_")) {
                command.env_remove(name);
            }
            let output = command.args(args).output();
            let output = output.map_err(|error| format!("{}: {error}", binary.display()))?;
            if output.status.success() {
                Ok(output.stdout)
            } else {
                Err(format!("`steadfast {}` failed", args.join(" ")))
            }
        };
        let failed = |error| format!("{}: {error}", scratch.display());
        if scratch.exists() {
            fs::remove_dir_all(scratch).map_err(failed)?;
        }
        fs::create_dir_all(scratch).map_err(failed)?;
        run(&["man", &scratch.to_string_lossy()])?;
        let mut pages = Vec::new();
        for entry in fs::read_dir(scratch).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let page = fs::read(entry.path()).map_err(failed)?;
            pages.push((entry.file_name().to_string_lossy().into_owned(), page));
        }
        pages.sort();
        Ok(Manual {
            bash: run(&["completions", "bash"])?,
            zsh: run(&["completions", "zsh"])?,
            fish: run(&["completions", "fish"])?,
            pages,
        })
    }
}

/// A finished file.
pub struct Package {
    pub name: String,
    pub bytes: Vec<u8>,
}

impl Release {
    /// A text of the repository.
    pub fn text(&self, path: &str) -> Result<String, String> {
        let path = self.root.join(path);
        fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))
    }

    /// The same with each `{{name}}` replaced. A name that is left is a mistake.
    pub fn template(&self, path: &str, values: &[(&str, &str)]) -> Result<String, String> {
        let mut text = self.text(path)?;
        for (name, value) in values {
            let placeholder = format!("{{{{{name}}}}}");
            if !text.contains(&placeholder) {
                return Err(format!("{path} has no {placeholder}"));
            }
            text = text.replace(&placeholder, value);
        }
        match text.split_once("{{") {
            None => Ok(text),
            Some((_, rest)) => {
                let name = rest.split("}}").next().unwrap_or_default();
                Err(format!("{path}: nothing is known as `{name}`"))
            }
        }
    }
}

/// A field of the workspace's manifest.
fn field(root: &Path, name: &str) -> Result<String, String> {
    let manifest =
        fs::read_to_string(root.join("Cargo.toml")).map_err(|error| error.to_string())?;
    let start = format!("{name} = \"");
    let mut lines = manifest.lines();
    let line = lines.find_map(|line| line.strip_prefix(start.as_str()));
    let value = line.and_then(|rest| rest.strip_suffix('"'));
    let value = value.ok_or_else(|| format!("the workspace has no {name}"))?;
    Ok(value.to_owned())
}

/// The address of the repository: the one place that says it. `cargo xtask repository` changes it.
pub fn repository(root: &Path) -> Result<String, String> {
    field(root, "repository")
}

/// The version of the workspace.
pub fn version(root: &Path) -> Result<String, String> {
    let version = field(root, "version")?;
    // It is part of names of files and of several formats that quote differently.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    if version.chars().all(is_plain) {
        Ok(version)
    } else {
        Err(format!("the version `{version}` is not plain"))
    }
}

/// `SOURCE_DATE_EPOCH`, or the time of the last commit.
pub fn epoch(root: &Path) -> Result<u64, String> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match given {
        Some(text) => text,
        None => {
            let output = Command::new("git")
                .args(["log", "-1", "--format=%ct"])
                .current_dir(root)
                .output()
                .map_err(|error| format!("cannot run git: {error}"))?;
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    text.trim().parse().map_err(|_| {
        "the time of the release is unknown: this is no git checkout; set SOURCE_DATE_EPOCH"
            .to_owned()
    })
}
