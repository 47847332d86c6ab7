//! `cargo xtask supply-chain`: what other people's code may be built into the binary.
//!
//! The policy is `deny.toml`. Licences, sources, duplicates and the versions of our own crates are
//! checked here, from the lock file and `cargo tree`, because that takes a second and needs no
//! tool. Advisories need cargo-deny or cargo-audit and their database, which is fetched from
//! elsewhere: they are checked where those can be had, and the step says so where they cannot.

mod licence;
mod lock_file;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use self::lock_file::LockedPackage;
use crate::process::{self, cargo_has};
use crate::{VerbResult, root};

/// Crates that other programs depend on.
const PUBLISHED: &[&str] = &["core", "api", "client", "store", "engine", "steadfast"];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub fn run(args: &[String]) -> VerbResult {
    if let Some(arg) = args.first() {
        return Err(format!("supply-chain takes no arguments, not even `{arg}`"));
    }
    let report = check(&root())?;
    for finding in &report.findings {
        println!("{finding}");
    }
    println!("{}", report.note);
    match report.findings.len() {
        0 => Ok(()),
        count => Err(format!("{count} findings; rerun: cargo xtask supply-chain")),
    }
}

pub struct Report {
    pub findings: Vec<String>,
    /// What was checked by which tool, and what was not.
    pub note: String,
}

pub fn check(root: &Path) -> Result<Report, String> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).map_err(|error| format!("cannot read {name}: {error}"))
    };
    let policy = Policy::parse(&read("deny.toml")?);
    let locked = lock_file::parse(&read("Cargo.lock")?);
    let mut findings = check_sources(&locked);
    findings.extend(check_duplicates(&policy, &locked));
    findings.extend(check_paths("Cargo.toml", &read("Cargo.toml")?));
    for name in PUBLISHED {
        let manifest = format!("crates/{name}/Cargo.toml");
        findings.extend(check_paths(&manifest, &read(&manifest)?));
    }
    let tree = licences(root)?;
    findings.extend(check_licences(&policy, &tree));
    let mut note = format!("{} crates: licences, sources, duplicates", locked.len());
    for (tool, args) in [
        ("deny", &["deny", "check"][..]),
        ("audit", &["audit", "--deny", "warnings"]),
    ] {
        note.push_str(&run_tool(root, tool, args, &mut findings));
    }
    Ok(Report { findings, note })
}

/// The parts of `deny.toml` that are checked here.
struct Policy {
    licences: BTreeSet<String>,
    /// `name@version`
    duplicates: BTreeSet<String>,
}

impl Policy {
    /// Not a TOML parser: it reads the lists as they are written in that file.
    fn parse(text: &str) -> Self {
        let list = |section: &str, key: &str| -> String {
            let section = text.split(&format!("[{section}]")).nth(1);
            let list = section.and_then(|text| text.split(&format!("\n{key} = [")).nth(1));
            let list = list.and_then(|text| text.split("\n]").next());
            list.unwrap_or_default().to_owned()
        };
        let quoted = |text: &str| text.split('"').nth(1).map(str::to_owned);
        Self {
            licences: list("licenses", "allow")
                .lines()
                .filter_map(quoted)
                .collect(),
            duplicates: list("bans", "skip").lines().filter_map(quoted).collect(),
        }
    }
}

/// Everything comes from the registry, but for our own crates.
fn check_sources(locked: &[LockedPackage]) -> Vec<String> {
    let foreign = locked.iter().filter(|package| {
        let is_ours = package.source.is_none()
            && (package.name.starts_with("steadfast") || package.name == "xtask");
        package.source.as_deref() != Some(REGISTRY) && !is_ours
    });
    foreign
        .map(|package| {
            let source = package.source.as_deref().unwrap_or("a path");
            format!("{package} comes from {source}: only the registry is allowed")
        })
        .collect()
}

fn check_duplicates(policy: &Policy, locked: &[LockedPackage]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut unused = policy.duplicates.clone();
    let mut names = BTreeSet::new();
    for package in locked {
        if unused.remove(&package.to_string()) || policy.duplicates.contains(&package.to_string()) {
            continue;
        }
        if !names.insert(&package.name) {
            findings.push(format!(
                "{package} is a second version: unify them, or add it to skip in deny.toml with its reason"
            ));
        }
    }
    for gone in unused {
        findings.push(format!(
            "{gone} is in skip of deny.toml and no longer in Cargo.lock: delete the line"
        ));
    }
    findings
}

/// A published crate cannot depend on a path: each path also has a version.
fn check_paths(name: &str, manifest: &str) -> Vec<String> {
    let with_path = manifest.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        !line.starts_with('#') && line.contains("path = \"") && !line.contains("version = \"")
    });
    with_path
        .map(|(index, line)| {
            let dependency = line.split('=').next().unwrap_or_default().trim();
            format!(
                "{name}:{}: {dependency} has a path and no version: a published crate needs both",
                index + 1
            )
        })
        .collect()
}

/// Each crate of the build on any platform, with its licence.
fn licences(root: &Path) -> Result<Vec<(String, String)>, String> {
    let tree = |target: &[&str]| {
        let mut command = process::cargo(root);
        command.args(["tree", "--workspace", "--all-features", "--locked"]);
        command.args(["--edges", "normal,build,dev", "--prefix", "none"]);
        command.args(["--format", "{p}|{l}"]).args(target);
        process::run_quietly(command).map_err(|error| format!("cannot start cargo: {error}"))
    };
    // Crates of other platforms have to be downloaded first, which not every machine can do.
    let mut output = tree(&["--target", "all"])?;
    if !output.success {
        output = tree(&[])?;
    }
    if !output.success {
        process::show(&output);
        return Err("cargo tree failed".to_owned());
    }
    let lines = output.lines.iter();
    let pairs = lines.filter_map(|line| line.trim_end_matches(" (*)").split_once('|'));
    let pairs: BTreeSet<_> = pairs.collect();
    let pairs = pairs.into_iter();
    Ok(pairs
        .map(|(package, licence)| (package.to_owned(), licence.to_owned()))
        .collect())
}

fn check_licences(policy: &Policy, tree: &[(String, String)]) -> Vec<String> {
    let refused = tree
        .iter()
        .filter(|(_, licence)| !licence::is_allowed(licence, &policy.licences));
    refused
        .map(|(package, licence)| {
            format!("{package}: licence {licence:?} is not in allow of deny.toml")
        })
        .collect()
}

/// Runs a tool if it is there. Answers what to say of it.
fn run_tool(root: &Path, tool: &str, args: &[&str], findings: &mut Vec<String>) -> String {
    if !cargo_has(tool) {
        return format!("; cargo-{tool} is not installed: advisories not checked by it");
    }
    let mut command = process::cargo(root);
    command.args(args);
    match process::run_quietly(command) {
        Ok(output) if output.success => format!("; cargo-{tool} ok"),
        Ok(output) if is_without_database(&output.lines) => {
            format!("; cargo-{tool} cannot fetch the advisory database: not checked by it")
        }
        Ok(output) => {
            process::show(&output);
            findings.push(format!("cargo {} failed", args.join(" ")));
            format!("; cargo-{tool} FAILED")
        }
        Err(error) => format!("; cargo-{tool} cannot be started: {error}"),
    }
}

fn is_without_database(lines: &[String]) -> bool {
    lines.iter().any(|line| {
        let line = line.to_lowercase();
        line.contains("failed to fetch advisory database")
            || line.contains("couldn't fetch advisory database")
            || line.contains("error loading advisory database")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "[licenses]\nallow = [\n    \"MIT\",\n    \"ISC\",\n]\n\n[bans]\nskip = [\n    { crate = \"syn@2.0.1\", reason = \"old\" },\n]\n";

    fn package(name: &str, version: &str, source: Option<&str>) -> LockedPackage {
        LockedPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            source: source.map(str::to_owned),
        }
    }

    #[test]
    fn the_lists_of_the_policy_are_read() {
        let policy = Policy::parse(POLICY);
        assert_eq!(Vec::from_iter(policy.licences), ["ISC", "MIT"]);
        assert_eq!(Vec::from_iter(policy.duplicates), ["syn@2.0.1"]);
    }

    #[test]
    fn a_second_version_needs_a_reason_and_a_reason_a_second_version() {
        let policy = Policy::parse(POLICY);
        let found = check_duplicates(
            &policy,
            &[package("syn", "2.0.1", None), package("syn", "3.0.0", None)],
        );
        assert_eq!(found, [""; 0]);
        let found = check_duplicates(
            &policy,
            &[
                package("rand", "0.9.0", None),
                package("rand", "0.10.0", None),
            ],
        );
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("rand@0.10.0 is a second version"));
        assert!(found[1].starts_with("syn@2.0.1 is in skip"));
    }

    #[test]
    fn only_the_registry_and_our_own_crates_are_sources() {
        let found = check_sources(&[
            package("steadfast-core", "0.1.0", None),
            package("serde", "1.0.0", Some(REGISTRY)),
            package("serde", "1.0.0", Some("git+https://example.com/serde")),
            package("other", "1.0.0", None),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn a_path_needs_a_version_beside_it() {
        let manifest = "[dependencies]\na = { path = \"a\" }\nb = { path = \"b\", version = \"1\" }\n# c = { path = \"c\" }\n";
        let found = check_paths("Cargo.toml", manifest);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("Cargo.toml:2: a has a path"));
    }
}
