//! The crates that have changed since the branch left the default branch.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::tidy::manifest;

/// Files that affect the build of every crate.
const SHARED: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "clippy.toml",
    ".cargo/config.toml",
];

/// The packages with a file that differs, committed or not.
pub fn packages(root: &Path) -> Result<BTreeSet<String>, String> {
    let base = merge_base(root)?;
    let mut paths = lines(root, &["diff", "--name-only", "--relative", &base])?;
    let new = ["ls-files", "--others", "--exclude-standard"];
    paths.extend(lines(root, &new)?);
    let members = members(root).map_err(|error| format!("cannot read the crates: {error}"))?;
    Ok(owners(&paths, &members))
}

/// The commit that the branch left the default branch at. On the default branch itself, its tip.
fn merge_base(root: &Path) -> Result<String, String> {
    let remote = lines(
        root,
        &["symbolic-ref", "--short", "refs/remotes/origin/HEAD"],
    );
    let remote = remote.unwrap_or_default().into_iter().next();
    let names = remote
        .into_iter()
        .chain(["main", "master"].map(str::to_owned));
    for name in names {
        let found = lines(root, &["merge-base", "HEAD", &name]).unwrap_or_default();
        if let Some(commit) = found.into_iter().next() {
            return Ok(commit);
        }
    }
    Err("git knows no default branch to compare with; run `cargo xtask test`".to_owned())
}

struct Member {
    /// Relative to the root, with a `/` at its end.
    dir: String,
    package: String,
}

fn members(root: &Path) -> io::Result<Vec<Member>> {
    let mut dirs = vec!["xtask".to_owned()];
    for entry in fs::read_dir(root.join("crates"))? {
        dirs.push(format!("crates/{}", entry?.file_name().to_string_lossy()));
    }
    let mut members = Vec::new();
    for dir in dirs {
        let path = root.join(&dir).join("Cargo.toml");
        if path.exists() {
            members.push(Member {
                dir: format!("{dir}/"),
                package: manifest::read(&fs::read_to_string(path)?)
                    .map_err(io::Error::other)?
                    .package,
            });
        }
    }
    Ok(members)
}

fn owners(paths: &[String], members: &[Member]) -> BTreeSet<String> {
    let is_shared = |path: &String| SHARED.contains(&path.as_str());
    let all_changed = paths.iter().any(is_shared);
    let changed = members.iter().filter(|member| {
        let has_changed = paths.iter().any(|path| path.starts_with(&member.dir));
        all_changed || has_changed
    });
    changed.map(|member| member.package.clone()).collect()
}

fn lines(root: &Path, args: &[&str]) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(args)
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start git: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("`git {}` failed: {why}", args.join(" ")));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners_of(paths: &[&str]) -> Vec<String> {
        let member = |dir: &str, package: &str| Member {
            dir: dir.to_owned(),
            package: package.to_owned(),
        };
        let members = [
            member("crates/core/", "steadfast-core"),
            member("crates/store/", "steadfast-store"),
            member("xtask/", "xtask"),
        ];
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        owners(&paths, &members).into_iter().collect()
    }

    #[test]
    fn a_crate_has_changed_if_a_file_of_it_has() {
        let paths = [
            "crates/core/src/a.rs",
            "crates/core/Cargo.toml",
            "README.md",
        ];
        assert_eq!(owners_of(&paths), ["steadfast-core"]);
        assert!(owners_of(&["docs/a.md", "crates/storage/src/a.rs"]).is_empty());
    }

    #[test]
    fn what_all_crates_are_built_with_changes_them_all() {
        for shared in SHARED {
            assert_eq!(owners_of(&[shared]).len(), 3, "{shared}");
        }
    }

    #[test]
    fn the_crates_of_this_repository_are_known() {
        let members = members(&crate::root()).unwrap();
        let core = members.iter().find(|member| member.dir == "crates/core/");
        assert_eq!(core.unwrap().package, "steadfast-core");
        assert!(members.iter().any(|member| member.package == "xtask"));
    }
}
