//! The allowed dependencies between crates.
//!
//! The crates exist so that the compiler forbids something across them; one convenient line in a
//! manifest would undo it without anybody noticing.

use super::Finding;
use super::manifest::{self, Manifest};
use super::tree::{File, Tree};

/// Each crate with those of ours it may depend on. No crate of the product may depend on the
/// simulator, so that fault injection can never be linked into it; only the binary's tests may,
/// to tell what they have proved in the same way.
const ARROWS: &[(&str, &[&str])] = &[
    ("steadfast-core", &[]),
    ("steadfast-book", &[]),
    ("steadfast-store", &["steadfast-core"]),
    ("steadfast-api", &["steadfast-core"]),
    ("steadfast-tracing", &["steadfast-core"]),
    ("steadfast-mcp", &[]),
    (
        "steadfast-engine",
        &[
            "steadfast-core",
            "steadfast-api",
            "steadfast-store",
            "steadfast-tracing",
        ],
    ),
    (
        "steadfast-client",
        &["steadfast-core", "steadfast-api", "steadfast-tracing"],
    ),
    ("steadfast", BELOW_THE_TOP),
    (
        "steadfast-server",
        &[
            "steadfast-core",
            "steadfast-api",
            "steadfast-book",
            "steadfast-mcp",
            "steadfast-store",
            "steadfast-engine",
        ],
    ),
    ("steadfast-bench", &["steadfast-core", "steadfast"]),
    ("steadfast-sim", BELOW_THE_TOP),
    (
        "steadfast-cli",
        &[
            "steadfast-core",
            "steadfast-api",
            "steadfast-book",
            "steadfast-client",
            "steadfast-mcp",
            "steadfast-store",
            "steadfast-engine",
            "steadfast",
            "steadfast-server",
            "steadfast-bench",
        ],
    ),
    (
        "steadfast-fuzz",
        &[
            "steadfast-core",
            "steadfast-api",
            "steadfast-client",
            "steadfast-store",
            "steadfast-engine",
            "steadfast-server",
            "steadfast-cli",
            "steadfast-sim",
        ],
    ),
    ("xtask", &["steadfast-book"]),
];

/// Additional dependencies of tests.
const TEST_ARROWS: &[(&str, &str)] = &[
    ("steadfast-cli", "steadfast-sim"),
    ("steadfast-client", "steadfast-engine"),
    ("steadfast-client", "steadfast-server"),
    ("steadfast-client", "steadfast-store"),
];

const BELOW_THE_TOP: &[&str] = &[
    "steadfast-core",
    "steadfast-api",
    "steadfast-store",
    "steadfast-engine",
];

/// All that the rules of retry may be built from: none of these asks a clock, rolls dice or does
/// I/O in the way we use it. `utoipa` describes types, behind a feature. Tests of the core may use
/// more.
const CORE_MAY_USE: &[&str] = &[
    "httpdate",
    "jiff",
    "serde",
    "serde_json",
    "sha2",
    "thiserror",
    "utoipa",
];

pub fn check(tree: &Tree) -> Vec<Finding> {
    const RULES: &[fn(&File, &Manifest) -> Vec<Finding>] = &[arrows, core_is_pure, lints];
    let mut findings = Vec::new();
    for file in &tree.files {
        let is_member = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
        if is_member && file.path.ends_with("/Cargo.toml") {
            match manifest::read(&file.text) {
                Ok(manifest) => {
                    findings.extend(RULES.iter().flat_map(|rule| rule(file, &manifest)));
                }
                Err(error) => findings.push(Finding::new(&file.path, 1, error)),
            }
        }
    }
    findings
}

fn arrows(file: &File, manifest: &Manifest) -> Vec<Finding> {
    let package = &manifest.package;
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| name == package) else {
        let sentence = format!(
            "`{package}` has no place among the crates; add it to ARROWS in xtask with what it may use"
        );
        return vec![Finding::new(&file.path, 1, sentence)];
    };
    let ours = manifest.dependencies.iter().filter(|dependency| {
        let to = dependency.package.as_str();
        let is_ours = ARROWS.iter().any(|(name, _)| *name == to);
        let is_for_tests = dependency.is_dev && TEST_ARROWS.contains(&(package, to));
        is_ours && !allowed.contains(&to) && !is_for_tests
    });
    ours.map(|dependency| {
        let may = match allowed {
            [] => "none of our crates".to_owned(),
            _ => allowed.join(", "),
        };
        let sentence = format!(
            "`{package}` must not depend on `{}`; it may use {may}",
            dependency.package
        );
        Finding::new(&file.path, dependency.line, sentence)
    })
    .collect()
}

fn core_is_pure(file: &File, manifest: &Manifest) -> Vec<Finding> {
    if manifest.package != "steadfast-core" {
        return Vec::new();
    }
    let foreign = manifest.dependencies.iter().filter(|dependency| {
        !dependency.is_dev && !CORE_MAY_USE.contains(&dependency.package.as_str())
    });
    foreign
        .map(|dependency| {
            let sentence = format!(
                "the core is pure and may use only {}; move what needs `{}` to another crate",
                CORE_MAY_USE.join(", "),
                dependency.package
            );
            Finding::new(&file.path, dependency.line, sentence)
        })
        .collect()
}

fn lints(file: &File, manifest: &Manifest) -> Vec<Finding> {
    if manifest.has_workspace_lints {
        return Vec::new();
    }
    let sentence = "the workspace's lints do not apply here; add `[lints] workspace = true`";
    vec![Finding::new(&file.path, 1, sentence)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::findings_in;

    fn findings_for(package: &str, dependencies: &str) -> Vec<String> {
        let manifest = format!(
            "[package]\nname = \"{package}\"\n[dependencies]\n{dependencies}\n[lints]\nworkspace = true\n"
        );
        findings_in(check, "crates/x/Cargo.toml", &manifest)
    }

    #[test]
    fn an_arrow_that_points_down_is_fine() {
        for (package, dependency) in [
            ("steadfast-store", "steadfast-core"),
            ("steadfast-engine", "steadfast-store"),
            ("steadfast-cli", "steadfast-server"),
            ("steadfast-sim", "steadfast-engine"),
        ] {
            let found = findings_for(package, &format!("{dependency}.workspace = true"));
            assert!(found.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn an_arrow_that_points_elsewhere_is_found() {
        for (package, dependency) in [
            ("steadfast-core", "steadfast-store"),
            ("steadfast-store", "steadfast-engine"),
            ("steadfast-server", "steadfast"),
            ("steadfast-engine", "steadfast-sim"),
            ("xtask", "steadfast-core"),
        ] {
            let found = findings_for(package, &format!("{dependency}.workspace = true"));
            let expected = format!("4: `{package}` must not depend on `{dependency}`");
            assert!(found[0].starts_with(&expected), "{found:?}");
        }
    }

    #[test]
    fn only_tests_of_the_binary_may_use_the_simulator() {
        let line = "steadfast-sim.workspace = true";
        let for_tests = format!("[dev-dependencies]\n{line}");
        assert!(findings_for("steadfast-cli", &for_tests).is_empty());
        assert_eq!(findings_for("steadfast-cli", line).len(), 1);
        assert_eq!(findings_for("steadfast-server", &for_tests).len(), 1);
    }

    #[test]
    fn the_core_may_not_reach_the_world_but_its_tests_may() {
        assert_eq!(findings_for("steadfast-core", "tokio = \"1\"").len(), 1);
        assert_eq!(
            findings_for("steadfast-core", "rand.workspace = true").len(),
            1
        );
        let in_tests = "[dev-dependencies]\nproptest = \"1\"";
        assert!(findings_for("steadfast-core", in_tests).is_empty());
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert!(findings_for("steadfast-extra", "")[0].contains("no place"));
    }

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let text = "[package]\nname = \"steadfast-core\"\n";
        let found = findings_in(check, "crates/core/Cargo.toml", text);
        assert!(found[0].contains("lints"), "{found:?}");
    }
}
