//! The book: the pages of `docs/SUMMARY.md` in their order, their links, and the site made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::markdown::{self, Block, Document};
use super::{html, inline, search};

const SUMMARY: &str = "docs/SUMMARY.md";
const STYLE: &str = include_str!("book.css");
const SCRIPT: &str = include_str!("book.js");
/// The dashboard's style sheet, which has the colours.
const COLOURS: &str = "crates/server/assets/steadfast.css";

/// What is wrong, as `file:line: sentence` or `file: sentence`.
pub type Findings = Vec<String>;

pub struct Page {
    /// From the root of the repository.
    pub path: String,
    /// The part of the book that it belongs to.
    part: String,
    /// As the summary names it.
    title: String,
    /// In the site.
    file: String,
    pub document: Document,
}

pub struct Book {
    pub pages: Vec<Page>,
    /// Pictures that the pages show, from the root.
    pictures: BTreeSet<String>,
}

impl Book {
    /// Reads all pages, and says what is wrong with them and their links.
    pub fn load(root: &Path) -> Result<(Book, Findings), String> {
        let summary = read(root, SUMMARY)?;
        let mut book = Book {
            pages: Vec::new(),
            pictures: BTreeSet::new(),
        };
        let mut part = String::new();
        for block in &markdown::parse(&summary).blocks {
            match block {
                Block::Heading(heading) if heading.level > 1 => part = heading.text.clone(),
                Block::List(list) => {
                    for (item, _) in &list.items {
                        let page = Page::load(root, &part, item, book.pages.is_empty())?;
                        book.pages.push(page);
                    }
                }
                _ => {}
            }
        }
        let mut findings = book.check_names(root)?;
        findings.extend(book.check_links(root));
        Ok((book, findings))
    }

    /// Every page of docs is in the summary.
    fn check_names(&self, root: &Path) -> Result<Findings, String> {
        let mut findings = Vec::new();
        let entries = fs::read_dir(root.join("docs")).map_err(|error| format!("docs: {error}"))?;
        for entry in entries.flatten() {
            let path = format!("docs/{}", entry.file_name().to_string_lossy());
            let is_page = path.ends_with(".md") && path != SUMMARY;
            if is_page && !self.pages.iter().any(|page| page.path == path) {
                findings.push(format!(
                    "{path}: it is not in {SUMMARY}; add it where it belongs"
                ));
            }
        }
        Ok(findings)
    }

    fn check_links(&mut self, root: &Path) -> Findings {
        let mut findings = Vec::new();
        let mut pictures = BTreeSet::new();
        let mut anchors = BTreeMap::new();
        for page in &self.pages {
            for (line, sentence) in &page.document.findings {
                findings.push(format!("{}:{line}: {sentence}", page.path));
            }
            for target in page.targets() {
                if target.contains("://") || target.starts_with("mailto:") {
                    continue;
                }
                let (path, anchor) = resolve(&page.path, &target);
                if !root.join(&path).exists() {
                    findings.push(format!(
                        "{}: the link to `{target}` leads nowhere",
                        page.path
                    ));
                } else if let Some(anchor) = anchor.filter(|_| path.ends_with(".md")) {
                    let known = anchors.entry(path.clone()).or_insert_with(|| {
                        let text = fs::read_to_string(root.join(&path)).unwrap_or_default();
                        let document = markdown::parse(&text);
                        let anchors = document.headings().map(|heading| heading.anchor.clone());
                        anchors.collect::<BTreeSet<_>>()
                    });
                    if !known.contains(&anchor) {
                        findings.push(format!(
                            "{}: `{target}`: {path} has no heading `{anchor}`",
                            page.path
                        ));
                    }
                } else if is_picture(&path) {
                    pictures.insert(path);
                }
            }
        }
        self.pictures = pictures;
        findings
    }

    /// Writes the site. It needs no server: links and scripts work from a file, too.
    pub fn write(&self, root: &Path, to: &Path) -> Result<(), String> {
        let put = |name: &str, content: &str| {
            let path = to.join(name);
            fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))
        };
        let pictures = to.join("pictures");
        fs::create_dir_all(&pictures)
            .map_err(|error| format!("{}: {error}", pictures.display()))?;
        let colours = colours(&read(root, COLOURS)?)?;
        put("book.css", &format!("{colours}\n{STYLE}"))?;
        put("book.js", SCRIPT)?;
        put("search.js", &search::index(&self.pages))?;
        for (index, page) in self.pages.iter().enumerate() {
            put(&page.file, &self.page(index, page))?;
        }
        for picture in &self.pictures {
            let file = to.join(picture_file(picture));
            fs::copy(root.join(picture), &file)
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    }

    fn page(&self, index: usize, page: &Page) -> String {
        let beside = |index: Option<usize>, name: &str, arrow: &str| {
            let page = index.and_then(|index| self.pages.get(index));
            page.map_or_else(String::new, |page| {
                let title = html::escape(&page.title);
                format!(
                    "<a rel=\"{name}\" href=\"{}\">{arrow} {title}</a>",
                    page.file
                )
            })
        };
        let content = html::page(&page.document, &|target| self.link(page, target));
        include_str!("page.html")
            .replace("{title}", &html::escape(&page.title))
            .replace("{navigation}", &self.navigation(index))
            .replace("{previous}", &beside(index.checked_sub(1), "prev", "←"))
            .replace("{next}", &beside(Some(index + 1), "next", "→"))
            .replace("{content}", &content)
    }

    fn navigation(&self, current: usize) -> String {
        let mut navigation = String::new();
        let mut part = None;
        for (index, page) in self.pages.iter().enumerate() {
            if part != Some(&page.part) {
                part = Some(&page.part);
                navigation.push_str(&format!("<h2>{}</h2>\n", html::escape(&page.part)));
            }
            let mark = if index == current {
                " aria-current=\"page\""
            } else {
                ""
            };
            let (file, title) = (&page.file, html::escape(&page.title));
            navigation.push_str(&format!("<a href=\"{file}\"{mark}>{title}</a>\n"));
        }
        navigation
    }

    /// Where a link of a page leads in the site.
    fn link(&self, page: &Page, target: &str) -> Option<String> {
        if target.contains("://") || target.starts_with("mailto:") || target.starts_with('#') {
            return Some(target.to_owned());
        }
        let (path, anchor) = resolve(&page.path, target);
        if is_picture(&path) {
            return Some(picture_file(&path));
        }
        // A folder is known by its first page.
        let readme = format!("{path}/README.md");
        let mut pages = self.pages.iter();
        let found = pages.find(|page| page.path == path || page.path == readme)?;
        let anchor = anchor
            .map(|anchor| format!("#{anchor}"))
            .unwrap_or_default();
        Some(format!("{}{anchor}", found.file))
    }
}

impl Page {
    /// The page of an entry, `[title](path)`, of the summary.
    fn load(root: &Path, part: &str, entry: &str, is_first: bool) -> Result<Page, String> {
        let pieces = inline::parse(entry);
        let mut targets = Vec::new();
        pieces.iter().for_each(|piece| piece.targets(&mut targets));
        let target = targets.first();
        let target = target.ok_or_else(|| format!("{SUMMARY}: `{entry}` names no page"))?;
        let (path, _) = resolve(SUMMARY, target);
        let text = read(root, &path)?;
        let document = markdown::parse(&text);
        let name = path.trim_start_matches("docs/").trim_end_matches(".md");
        let name = name.trim_end_matches("/README").replace('/', "-");
        let file = if is_first {
            "index.html".to_owned()
        } else {
            format!("{}.html", name.to_lowercase())
        };
        Ok(Page {
            part: part.to_owned(),
            title: markdown::plain(entry),
            file,
            document,
            path,
        })
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn title(&self) -> &str {
        &self.title
    }

    /// Targets of all its links and pictures.
    fn targets(&self) -> Vec<String> {
        let mut targets = Vec::new();
        for text in self.document.blocks.iter().flat_map(texts) {
            let pieces = inline::parse(&text);
            let mut found = Vec::new();
            pieces.iter().for_each(|piece| piece.targets(&mut found));
            targets.extend(found.into_iter().map(str::to_owned));
        }
        targets
    }
}

/// What a block says, without its code.
pub fn texts(block: &Block) -> Vec<String> {
    fn items(list: &markdown::List, texts: &mut Vec<String>) {
        for (item, inner) in &list.items {
            texts.push(item.clone());
            if let Some(inner) = inner {
                items(inner, texts);
            }
        }
    }
    match block {
        Block::Heading(heading) => vec![heading.text.clone()],
        Block::Paragraph(text) | Block::Quote(text) => vec![text.clone()],
        Block::Table(rows) => rows.iter().flatten().cloned().collect(),
        Block::List(list) => {
            let mut texts = Vec::new();
            items(list, &mut texts);
            texts
        }
        Block::Code(_) | Block::Rule => Vec::new(),
    }
}

/// The path that a link means, from the root, and its anchor.
fn resolve(from: &str, target: &str) -> (String, Option<String>) {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (target, None),
    };
    if path.is_empty() {
        return (from.to_owned(), anchor);
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    (parts.join("/"), anchor)
}

fn is_picture(path: &str) -> bool {
    [".png", ".svg", ".jpg"]
        .iter()
        .any(|end| path.ends_with(end))
}

fn picture_file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("pictures/{name}")
}

/// The colours of both themes: every `:root` of the style sheet, with the media query around it.
fn colours(style: &str) -> Result<String, String> {
    let end = style.find("\n* {").or_else(|| style.find("\nhtml {"));
    match end.map(|end| &style[..end]) {
        Some(head) if head.contains(":root") => Ok(head.to_owned()),
        _ => Err(format!(
            "{COLOURS} does not begin with its colours any more"
        )),
    }
}

fn read(root: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn links_are_resolved_from_their_page() {
        let resolved = |target| resolve("docs/a.md", target).0;
        assert_eq!(resolved("b.md#c"), "docs/b.md");
        assert_eq!(resolved("../README.md"), "README.md");
        assert_eq!(resolved("#c"), "docs/a.md");
    }

    #[test]
    fn the_book_has_no_broken_links() {
        let (book, findings) = Book::load(&root()).unwrap();
        assert!(book.pages.len() > 10);
        assert_eq!(findings, Vec::<String>::new());
    }

    #[test]
    fn no_page_of_the_site_loads_anything_from_elsewhere() {
        let (book, _) = Book::load(&root()).unwrap();
        for (index, page) in book.pages.iter().enumerate() {
            let html = book.page(index, page);
            for loads in [
                "src=\"http",
                "<link rel=\"stylesheet\" href=\"http",
                "@import",
            ] {
                assert!(!html.contains(loads), "{}: {loads}", page.path);
            }
        }
    }
}
