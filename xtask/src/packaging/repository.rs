//! `cargo xtask repository URL`: the address of the repository, everywhere.
//!
//! `Cargo.toml` of the workspace says it once, and packages get it from there. Files of other
//! languages cannot read that one, and a Go module is named after its address; so they are
//! rewritten, and a test compares them.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::release;
use crate::{VerbResult, root};

/// What the Go module is called while there is no repository.
const PLACEHOLDER: &str = "https://steadfast.example/steadfast";
const MODULE_PLACEHOLDER: &str = "steadfast.example/steadfast";
const GO: &str = "sdk/go";

pub fn run(args: &[String]) -> VerbResult {
    let [url] = args else {
        return Err("usage: cargo xtask repository https://HOST/OWNER/NAME".to_owned());
    };
    let url = url.trim_end_matches('/').trim_end_matches(".git");
    if !is_address(url) {
        return Err(format!(
            "{url} is no address such as https://HOST/OWNER/NAME"
        ));
    }
    let root = root();
    let old = release::repository(&root)?;
    let modules = (module(&old), module(url));
    let mut changed = 0;
    for file in tracked(&root)? {
        let path = root.join(&file);
        let Ok(text) = fs::read_to_string(&path) else {
            continue; // Pictures.
        };
        if file.ends_with("packaging/repository.rs") {
            continue;
        }
        let new = rewrite(&file, &text, (&old, url), (&modules.0, &modules.1));
        if new != text {
            fs::write(&path, new).map_err(|error| format!("{file}: {error}"))?;
            changed += 1;
        }
    }
    println!("{changed} files name {url}; the Go module is {}", modules.1);
    Ok(())
}

fn is_address(url: &str) -> bool {
    let path = url.strip_prefix("https://").unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
    path.split('/').filter(|part| !part.is_empty()).count() >= 2 && path.chars().all(is_plain)
}

/// The name of the Go module: where `go get` finds it in the repository.
fn module(url: &str) -> String {
    match url {
        PLACEHOLDER => MODULE_PLACEHOLDER.to_owned(),
        url => format!("{}/{GO}", url.trim_start_matches("https://")),
    }
}

/// Go files and pages name the module, all others the repository.
fn rewrite(file: &str, text: &str, urls: (&str, &str), modules: (&str, &str)) -> String {
    let text = text.replace(urls.0, urls.1);
    let names_module = file.ends_with(".go") || file.ends_with("go.mod") || file.ends_with(".md");
    match names_module {
        true => text.replace(modules.0, modules.1),
        false => text,
    }
}

fn tracked(root: &Path) -> Result<Vec<String>, String> {
    let listed = Command::new("git")
        .arg("ls-files")
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(names.lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_manifest_names_the_repository_of_the_workspace() {
        let root = root();
        let url = release::repository(&root).unwrap();
        let module = format!("module {}\n", module(&url));
        for (file, wanted) in [
            ("packaging/helm/steadfast/Chart.yaml", url.as_str()),
            ("sdk/python/pyproject.toml", &url),
            ("sdk/typescript/package.json", &url),
            ("sdk/go/go.mod", &module),
        ] {
            let text = fs::read_to_string(root.join(file)).unwrap();
            assert!(text.contains(wanted), "{file} lacks {wanted}");
        }
    }

    #[test]
    fn a_new_address_is_a_new_go_module() {
        let new = "https://git.example/ann/steadfast";
        assert_eq!(module(new), "git.example/ann/steadfast/sdk/go");
        let text = "import \"steadfast.example/steadfast/steadfasttest\"";
        let modules = (MODULE_PLACEHOLDER, &*module(new));
        let go = rewrite("a.go", text, (PLACEHOLDER, new), modules);
        assert_eq!(
            go,
            "import \"git.example/ann/steadfast/sdk/go/steadfasttest\""
        );
        let home = format!("homepage: {PLACEHOLDER}");
        let home = rewrite("Chart.yaml", &home, (PLACEHOLDER, new), modules);
        assert_eq!(home, format!("homepage: {new}"));
        for wrong in ["http://a/b/c", "https://a", "https://a/b c", "a/b/c"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }
}
