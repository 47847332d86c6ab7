//! What a manifest says of a crate: its features, and its dependencies with the line of each.

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

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

pub fn read(text: &str) -> Result<Manifest, String> {
    let table = DeTable::parse(text).map_err(|error| error.to_string())?;
    let table = table.get_ref();
    let mut dependencies = dependencies(text, table);
    for platform in entries(table, "target").filter_map(|(_, value)| value.get_ref().as_table()) {
        dependencies.extend(self::dependencies(text, platform));
    }
    let value = |section: &str, key: &str| table.get(section)?.get_ref().get(key);
    let is_true = |value: Option<&Spanned<DeValue>>| {
        value.is_some_and(|value| value.get_ref().as_bool() == Some(true))
    };
    let package = value("package", "name").and_then(|name| name.get_ref().as_str());
    Ok(Manifest {
        package: package.unwrap_or_default().to_owned(),
        is_published: is_true(value("package", "publish")),
        features: entries(table, "features")
            .map(|(name, _)| name.get_ref().to_string())
            .collect(),
        dependencies,
        has_workspace_lints: is_true(value("lints", "workspace")),
    })
}

fn dependencies(text: &str, table: &DeTable) -> Vec<Dependency> {
    let mut found = Vec::new();
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        found.extend(entries(table, section).map(|(name, value)| {
            let renamed = value.get_ref().get("package");
            let package = renamed.and_then(|package| package.get_ref().as_str());
            Dependency {
                line: 1 + text[..name.span().start].matches('\n').count(),
                package: package.unwrap_or(name.get_ref()).to_owned(),
                is_dev: section == "dev-dependencies",
            }
        }));
    }
    found
}

fn entries<'a, 'i>(
    table: &'a DeTable<'i>,
    section: &str,
) -> impl Iterator<Item = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>)> {
    let section = table
        .get(section)
        .and_then(|value| value.get_ref().as_table());
    section.into_iter().flat_map(DeTable::iter)
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
        let manifest = read(MANIFEST).unwrap();
        let mut found: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|d| (d.line, d.package.as_str(), d.is_dev))
            .collect();
        found.sort_unstable();
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
        assert_eq!(manifest.features, ["_testing", "http"]);
        assert!(manifest.has_workspace_lints);
    }
}
