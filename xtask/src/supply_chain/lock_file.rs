//! The packages of `Cargo.lock`.

use std::fmt;

pub struct LockedPackage {
    pub name: String,
    pub version: String,
    /// `None` for a package in a directory.
    pub source: Option<String>,
}

impl fmt::Display for LockedPackage {
    /// As cargo names a package; what follows a `+` says how it was built and is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.split('+').next().unwrap_or_default();
        write!(f, "{}@{version}", self.name)
    }
}

/// Cargo writes this file, always in the same way.
pub fn parse(text: &str) -> Vec<LockedPackage> {
    let packages = text.split("[[package]]").skip(1);
    packages
        .filter_map(|package| {
            let field = |name: &str| {
                let mut lines = package.lines();
                let line = lines.find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
                Some(line.trim_end_matches('"').to_owned())
            };
            Some(LockedPackage {
                name: field("name")?,
                version: field("version")?,
                source: field("source"),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_versions_and_sources_are_read() {
        let text = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.2.3+wasi\"\nsource = \"registry+x\"\ndependencies = [\n \"b\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"0.1.0\"\n";
        let packages = parse(text);
        let shown: Vec<String> = packages.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["a@1.2.3", "b@0.1.0"]);
        assert_eq!(packages[0].source.as_deref(), Some("registry+x"));
        assert_eq!(packages[1].source, None);
    }
}
