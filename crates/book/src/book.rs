//! The book: the pages of `docs/SUMMARY.md` in their order, their links, and the site made of them.
//!
//! The site is made here, in 200 lines, and not by mdBook, whose library is 129 crates and a minute
//! of CPU time to compile, and whose pages have scripts inside that our content policy forbids.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Tag};

use crate::markdown::{self, Document, Link};
use crate::{html, search};

/// The list of the pages.
pub const SUMMARY: &str = "docs/SUMMARY.md";
const STYLE: &str = include_str!("book.css");
const SCRIPT: &str = include_str!("book.js");
const COPY: &str = include_str!("copy.js");
/// A part with more pages is folded in the navigation.
const OPEN_PAGES: usize = 12; // not a limit: a layout
/// Where pictures are in the site.
pub const PICTURES: &str = "pictures";

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
}

/// Reads a file by its path from the root of the repository.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Book {
    /// Reads all pages.
    pub fn load(read: Read) -> Result<Book, String> {
        let summary = markdown::parse(&read(SUMMARY)?);
        let is_item = |event: &&Event| matches!(event, Event::Start(Tag::Item));
        if summary.events.iter().filter(is_item).count() != summary.links.len() {
            return Err(format!("{SUMMARY}: not every entry names one page"));
        }
        let mut pages = Vec::new();
        for link in &summary.links {
            let section = &summary.sections[link.section];
            pages.push(Page::load(read, &section.heading, link, pages.is_empty())?);
        }
        Ok(Book { pages })
    }

    /// Pictures that the pages show, from the root.
    pub fn pictures(&self) -> BTreeSet<String> {
        let pages = self.pages.iter();
        let targets = pages.flat_map(|page| {
            let targets = page.targets().filter(|target| !target.contains("://"));
            targets.map(|target| resolve(&page.path, target).0)
        });
        targets.filter(|path| is_picture(path)).collect()
    }

    /// The files of the site but for its pictures: names and contents. Links and scripts work from
    /// a file, too. `colours` is the style sheet that defines them, `links` what each page leads to
    /// beside the book: names and addresses.
    pub fn site(
        &self,
        colours: &str,
        links: &[(&str, &str)],
    ) -> Result<Vec<(String, String)>, String> {
        let links = links_html(links);
        let pages = self.pages.iter().enumerate();
        let mut files: Vec<(String, String)> = pages
            .map(|(index, page)| {
                let html = self.page(index, page).replace("{links}", &links);
                (page.file.clone(), html)
            })
            .collect();
        files.push(("book.css".to_owned(), style(colours)?));
        files.push(("book.js".to_owned(), SCRIPT.to_owned()));
        files.push(("copy.js".to_owned(), COPY.to_owned()));
        let pages = self.pages.iter();
        let pages = pages.map(|page| (&*page.title, &*page.file, &page.document));
        files.push(("search.js".to_owned(), search::index(pages)));
        Ok(files)
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

    /// All pages, by part. A long part is folded, except around the current page.
    fn navigation(&self, current: usize) -> String {
        let mut navigation = String::new();
        let parts = self.pages.chunk_by(|a, b| a.part == b.part);
        let mut index = 0;
        for pages in parts {
            let range = index..index + pages.len();
            let links: String = range
                .clone()
                .zip(pages)
                .map(|(index, page)| page.link(index == current))
                .collect();
            let name = html::escape(&pages[0].part);
            let part = match pages.len() > OPEN_PAGES && !range.contains(&current) {
                true => format!("<details><summary>{name}</summary>\n{links}</details>\n"),
                false => format!("<h2>{name}</h2>\n{links}"),
            };
            navigation.push_str(&part);
            index = range.end;
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
    /// The page of an entry of the summary.
    fn load(read: Read, part: &str, entry: &Link, is_first: bool) -> Result<Page, String> {
        let (path, _) = resolve(SUMMARY, &entry.target);
        let document = markdown::parse(&read(&path)?);
        let name = path.trim_start_matches("docs/").trim_end_matches(".md");
        let name = name.trim_end_matches("/README").replace('/', "-");
        let file = if is_first {
            "index.html".to_owned()
        } else {
            format!("{}.html", name.to_lowercase())
        };
        Ok(Page {
            part: part.to_owned(),
            title: entry.text.clone(),
            file,
            document,
            path,
        })
    }

    /// Its entry in the navigation.
    fn link(&self, is_current: bool) -> String {
        let mark = if is_current {
            " aria-current=\"page\""
        } else {
            ""
        };
        let (file, title) = (&self.file, html::escape(&self.title));
        format!("<a href=\"{file}\"{mark}>{title}</a>\n")
    }

    /// Targets of all its links and pictures.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.document.links.iter().map(|link| link.target.as_str())
    }
}

/// The path that a link means, from the root, and its anchor.
pub fn resolve(from: &str, target: &str) -> (String, Option<String>) {
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

pub fn is_picture(path: &str) -> bool {
    [".png", ".svg", ".jpg"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// Where a picture is in the site.
pub fn picture_file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{PICTURES}/{name}")
}

fn links_html(links: &[(&str, &str)]) -> String {
    if links.is_empty() {
        return String::new();
    }
    let links = links.iter();
    let links: String = links
        .map(|(name, url)| format!("<a href=\"{url}\">{name}</a>"))
        .collect();
    format!("<nav class=\"links\" aria-label=\"Elsewhere\">{links}</nav>\n")
}

/// The style sheet of the book, in these colours.
pub fn style(colours: &str) -> Result<String, String> {
    Ok(format!("{}\n{STYLE}", palette(colours)?))
}

/// The colours of both themes: every `:root` of the style sheet, with the media query around it.
fn palette(style: &str) -> Result<String, String> {
    let end = style.find("\n* {").or_else(|| style.find("\nhtml {"));
    match end.map(|end| &style[..end]) {
        Some(head) if head.contains(":root") => Ok(head.to_owned()),
        _ => Err("the style sheet no longer begins with its colours".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_part_is_folded_on_the_pages_of_other_parts() {
        let verbs: String = (0..=OPEN_PAGES)
            .map(|n| format!("- [v{n}](v{n}.md)\n"))
            .collect();
        let summary = format!("# Book\n\n## Begin\n\n- [a](a.md)\n\n## Verbs\n\n{verbs}");
        let read = |path: &str| match path {
            SUMMARY => Ok(summary.clone()),
            _ => Ok("# Page\n".to_owned()),
        };
        let book = Book::load(&read).unwrap();
        let fold = "<details><summary>Verbs</summary>";
        let first = book.navigation(0);
        assert!(
            first.contains(fold) && first.contains("<h2>Begin</h2>"),
            "{first}"
        );
        assert!(
            first.contains("<a href=\"index.html\" aria-current"),
            "{first}"
        );
        assert!(first.contains("<a href=\"v0.html\">v0</a>"), "{first}");
        assert!(!book.navigation(1).contains(fold));
    }

    #[test]
    fn links_are_resolved_from_their_page() {
        let resolved = |target| resolve("docs/a.md", target).0;
        assert_eq!(resolved("b.md#c"), "docs/b.md");
        assert_eq!(resolved("../README.md"), "README.md");
        assert_eq!(resolved("#c"), "docs/a.md");
    }
}
