//! The file that a `mod` line means.

use super::rust::Module;

/// Outside of `src`, cargo and the tests have more ways to name a file than are worth knowing.
pub fn is_root(path: &str) -> bool {
    match path.split_once("/src/") {
        None => true,
        Some((_, rest)) => matches!(rest, "lib.rs" | "main.rs") || rest.starts_with("bin/"),
    }
}

/// Where the file of a module may be.
pub fn candidates(declared_in: &str, module: &Module) -> Vec<String> {
    let (dir, name) = declared_in.rsplit_once('/').unwrap_or(("", declared_in));
    if let Some(path) = &module.path {
        return resolved(dir, path).into_iter().collect();
    }
    let stem = name.trim_end_matches(".rs");
    let is_at_top = matches!(stem, "lib" | "main" | "mod") || dir.ends_with("/bin");
    let mut parts: Vec<&str> = vec![dir];
    if !is_at_top {
        parts.push(stem);
    }
    parts.extend(module.inside.iter().map(String::as_str));
    parts.push(&module.name);
    let path = parts.join("/");
    vec![format!("{path}.rs"), format!("{path}/mod.rs")]
}

/// A path seen from a directory, as a path from the root.
pub fn resolved(dir: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
