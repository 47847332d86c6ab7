//! What a manifest says of a crate: its features, and its dependencies with the line of each.
//!
//! Not a TOML parser: it reads the shapes in which cargo lets a dependency be written, and skips
//! the rest.

pub struct Dependency {
    pub line: usize,
    /// The package, even where it is renamed.
    pub package: String,
    /// Needed by tests and examples only.
    pub is_dev: bool,
}

pub struct Manifest {
    pub package: String,
    pub is_published: bool,
    pub features: Vec<String>,
    pub dependencies: Vec<Dependency>,
    pub has_workspace_lints: bool,
}

pub fn read(text: &str) -> Manifest {
    let mut manifest = Manifest {
        package: String::new(),
        is_published: false,
        features: Vec::new(),
        dependencies: Vec::new(),
        has_workspace_lints: false,
    };
    let mut section = Section::Other;
    let mut open_brackets = 0_i32;
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if open_brackets == 0 && line.starts_with('[') {
            section = Section::of(line.trim_matches(['[', ']']));
            if let Section::OneDependency { package, is_dev } = &section {
                manifest.dependencies.push(Dependency {
                    line: index + 1,
                    package: package.clone(),
                    is_dev: *is_dev,
                });
            }
            continue;
        }
        if open_brackets == 0 {
            manifest.read_line(&section, index + 1, line);
        }
        // Lines within an array that spans several are values, never names.
        let count = |c| i32::try_from(line.matches(c).count()).unwrap_or(0);
        open_brackets += count('[') - count(']');
    }
    manifest
}

impl Manifest {
    fn read_line(&mut self, section: &Section, number: usize, line: &str) {
        let Some((key, value)) = line.split_once('=') else {
            return;
        };
        let (key, value) = (key.trim(), value.trim());
        match section {
            Section::Package if key == "name" => self.package = unquoted(value),
            Section::Package if key == "publish" => self.is_published = value == "true",
            Section::Features => self.features.push(key.to_owned()),
            Section::Lints if key == "workspace" => self.has_workspace_lints = value == "true",
            Section::Dependencies { is_dev } => {
                let name = key.split('.').next().unwrap_or(key);
                let package = renamed(value).unwrap_or_else(|| unquoted(name));
                self.dependencies.push(Dependency {
                    line: number,
                    package,
                    is_dev: *is_dev,
                });
            }
            Section::OneDependency { .. } if key == "package" => {
                if let Some(dependency) = self.dependencies.last_mut() {
                    dependency.package = unquoted(value);
                }
            }
            _ => {}
        }
    }
}

enum Section {
    Package,
    Features,
    Lints,
    /// `[dependencies]`, `[dev-dependencies]`, `[target.'cfg(unix)'.dependencies]` …
    Dependencies {
        is_dev: bool,
    },
    /// `[dependencies.name]`
    OneDependency {
        package: String,
        is_dev: bool,
    },
    Other,
}

impl Section {
    fn of(header: &str) -> Section {
        let is_dev = header.contains("dev-dependencies");
        match header {
            "package" => Section::Package,
            "features" => Section::Features,
            "lints" => Section::Lints,
            _ if header.ends_with("dependencies") => Section::Dependencies { is_dev },
            _ => match header.rsplit_once("dependencies.") {
                Some((_, package)) => Section::OneDependency {
                    package: unquoted(package),
                    is_dev,
                },
                None => Section::Other,
            },
        }
    }
}

fn renamed(value: &str) -> Option<String> {
    let (_, after) = value.split_once("package")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.strip_prefix('"')?;
    value.split('"').next().map(str::to_owned)
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"
[package]
name = "steadfast-engine" # a comment
publish = true

[features]
http = [
    "dep:hyper",
]
_testing = []

[dependencies]
serde.workspace = true
tokio = { version = "1", features = [
    "rt",
    "sync",
] }
clock = { package = "steadfast-core", path = "../core" }

[dependencies.hyper]
version = "1"

[dev-dependencies]
insta = "1"

[target.'cfg(unix)'.dependencies]
libc = "0.2"

[lints]
workspace = true
"#;

    #[test]
    fn every_way_to_write_a_dependency_is_read() {
        let manifest = read(MANIFEST);
        let found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|d| (d.line, d.package.as_str(), d.is_dev))
            .collect();
        assert_eq!(
            found,
            [
                (13, "serde", false),
                (14, "tokio", false),
                (18, "steadfast-core", false),
                (20, "hyper", false),
                (24, "insta", true),
                (27, "libc", false),
            ]
        );
        assert_eq!(manifest.package, "steadfast-engine");
        assert!(manifest.is_published);
        assert_eq!(manifest.features, ["http", "_testing"]);
        assert!(manifest.has_workspace_lints);
    }
}
