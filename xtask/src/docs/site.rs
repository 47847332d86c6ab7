//! The book as it stands in the repository: its links held against the files, and the site written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use steadfast_book::book::{PICTURES, SUMMARY, picture_file, resolve};
use steadfast_book::{Book, markdown};

const ASSETS: &str = "crates/server/assets";
/// The dashboard's style sheet, which has the colours and names the font.
const COLOURS: &str = "crates/server/assets/steadfast.css";

/// Findings, as `file:line: sentence` or `file: sentence`.
pub type Findings = Vec<String>;

/// Reads all pages, and says what is wrong with them and their links.
pub fn load(root: &Path) -> Result<(Book, Findings), String> {
    let book = Book::load(&|path| read(root, path))?;
    let mut findings = check_names(&book, root)?;
    findings.extend(check_links(&book, root));
    Ok((book, findings))
}

/// Every page of docs is in the summary.
fn check_names(book: &Book, root: &Path) -> Result<Findings, String> {
    let mut findings = Vec::new();
    for folder in ["docs", "docs/cli", "docs/design"] {
        let entries = fs::read_dir(root.join(folder));
        for entry in entries
            .map_err(|error| format!("{folder}: {error}"))?
            .flatten()
        {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let is_page = path.ends_with(".md") && path != SUMMARY;
            if is_page && !book.pages.iter().any(|page| page.path == path) {
                findings.push(format!(
                    "{path}: it is not in {SUMMARY}; add it where it belongs"
                ));
            }
        }
    }
    Ok(findings)
}

fn check_links(book: &Book, root: &Path) -> Findings {
    let mut findings = Vec::new();
    let mut anchors = BTreeMap::new();
    for page in &book.pages {
        for (line, sentence) in &page.document.findings {
            findings.push(format!("{}:{line}: {sentence}", page.path));
        }
        for target in page.targets() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = resolve(&page.path, target);
            if !root.join(&path).exists() {
                findings.push(format!(
                    "{}: the link to `{target}` leads nowhere",
                    page.path
                ));
            } else if let Some(anchor) = anchor.filter(|_| path.ends_with(".md")) {
                let known = anchors.entry(path.clone()).or_insert_with(|| {
                    let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
                    let document = markdown::parse(&text);
                    let anchors = document.sections.into_iter().map(|section| section.anchor);
                    anchors.collect::<BTreeSet<_>>()
                });
                if !known.contains(&anchor) {
                    findings.push(format!(
                        "{}: `{target}`: {path} has no heading `{anchor}`",
                        page.path
                    ));
                }
            }
        }
    }
    findings
}

/// Writes the site. It needs no server: links and scripts work from a file, too.
pub fn write(book: &Book, root: &Path, to: &Path) -> Result<(), String> {
    let pictures = to.join(PICTURES);
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    let colours = read(root, COLOURS)?;
    let files = book.site(&colours, &[]);
    for (name, content) in files.map_err(|error| format!("{COLOURS}: {error}"))? {
        let path = to.join(name);
        fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    copy_fonts(&root.join(ASSETS), to)?;
    for picture in book.pictures() {
        let file = to.join(picture_file(&picture));
        fs::copy(root.join(&picture), &file)
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn copy_fonts(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", from.display());
    for entry in fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().extension().is_some_and(|it| it == "woff2") {
            fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
        }
    }
    Ok(())
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn the_book_has_no_broken_links() {
        let (book, findings) = load(&root()).unwrap();
        assert!(book.pages.len() > 10);
        assert_eq!(findings, Vec::<String>::new());
    }

    #[test]
    fn no_page_of_the_site_loads_anything_from_elsewhere() {
        let (book, _) = load(&root()).unwrap();
        let colours = read(&root(), COLOURS).unwrap();
        for (name, content) in book.site(&colours, &[]).unwrap() {
            for loads in [
                "src=\"http",
                "<link rel=\"stylesheet\" href=\"http",
                "@import",
            ] {
                let is_page = name.ends_with(".html") || name.ends_with(".css");
                assert!(!is_page || !content.contains(loads), "{name}: {loads}");
            }
        }
    }
}
