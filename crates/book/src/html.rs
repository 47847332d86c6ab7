//! A page as HTML, with what is ours: names of headings, what is typed in a console, tables that
//! can be scrolled, and links that lead to the site's own pages.

use pulldown_cmark::{Event, Tag, TagEnd, html};

use crate::markdown::{Code, Document, Section};

/// Where a link leads in the book; none if what it names is not part of it.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn page(document: &Document, resolve: Resolve) -> String {
    let mut codes = document.codes.iter();
    let mut sections = document.sections.iter().skip(1);
    let mut events = document.events.iter().cloned().peekable();
    let mut end_of_link = None;
    let mut is_head = false;
    let shown = std::iter::from_fn(|| {
        let tags = match events.next()? {
            Event::Start(Tag::Heading { .. }) => sections.next().map(heading).unwrap_or_default(),
            Event::End(TagEnd::Heading(level)) => format!("</a></{level}>\n"),
            Event::Start(Tag::CodeBlock(_)) => {
                skip_to(&mut events, TagEnd::CodeBlock);
                codes.next().map(code_block).unwrap_or_default()
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                let alt = skip_to(&mut events, TagEnd::Image);
                let url = resolve(&dest_url).unwrap_or_default();
                let (url, alt) = (escape(&url), escape(&alt));
                format!("<img src=\"{url}\" alt=\"{alt}\" loading=\"lazy\">")
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                let (start, end) = link(&dest_url, resolve);
                end_of_link = Some(end);
                start
            }
            Event::End(TagEnd::Link) => end_of_link.take().unwrap_or_default().to_owned(),
            Event::Start(Tag::Table(_)) => "<div class=\"table\" tabindex=\"0\"><table>".to_owned(),
            Event::End(TagEnd::Table) => "</tbody></table></div>\n".to_owned(),
            Event::Start(Tag::TableHead) => {
                is_head = true;
                "<thead><tr>".to_owned()
            }
            Event::End(TagEnd::TableHead) => {
                is_head = false;
                "</tr></thead><tbody>".to_owned()
            }
            Event::Start(Tag::TableRow) => "<tr>".to_owned(),
            Event::End(TagEnd::TableRow) => "</tr>".to_owned(),
            Event::Start(Tag::TableCell) => {
                // A head without a text is none.
                let is_empty = events.next_if(|next| *next == Event::End(TagEnd::TableCell));
                match (is_empty, is_head) {
                    (Some(_), _) => "<td></td>",
                    (None, true) => "<th>",
                    (None, false) => "<td>",
                }
                .to_owned()
            }
            Event::End(TagEnd::TableCell) if is_head => "</th>".to_owned(),
            Event::End(TagEnd::TableCell) => "</td>".to_owned(),
            other => return Some(other),
        };
        Some(Event::InlineHtml(tags.into()))
    });
    let mut page = String::new();
    html::push_html(&mut page, shown);
    // A table without any head has no row for it.
    without_empty_heads(&page)
}

fn without_empty_heads(page: &str) -> String {
    let mut parts = page.split("<thead>");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("</thead>") {
            Some((head, rest)) if !head.contains("<th>") => kept.push_str(rest),
            _ => {
                kept.push_str("<thead>");
                kept.push_str(part);
            }
        }
    }
    kept
}

/// Takes what is before the end of an element, and answers its text.
fn skip_to(events: &mut impl Iterator<Item = Event<'static>>, end: TagEnd) -> String {
    let mut text = String::new();
    for event in events {
        match event {
            Event::End(tag) if tag == end => break,
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            _ => {}
        }
    }
    text
}

fn heading(section: &Section) -> String {
    let (level, anchor) = (section.level, &section.anchor);
    format!("<h{level} id=\"{anchor}\"><a class=\"anchor\" href=\"#{anchor}\">")
}

/// The tags of a link.
fn link(target: &str, resolve: Resolve) -> (String, &'static str) {
    match resolve(target) {
        Some(url) => (format!("<a href=\"{}\">", escape(&url)), "</a>"),
        None => {
            let title = format!("in the repository: {}", escape(target));
            let start = format!("<span class=\"elsewhere\" title=\"{title}\">");
            (start, "</span>")
        }
    }
}

fn code_block(code: &Code) -> String {
    let is_console = code.language == "console";
    let kind = if is_console { " class=\"console\"" } else { "" };
    let mut is_typed = false;
    let lines = code.text.lines().map(|line| {
        is_typed = is_console && (is_typed || line.starts_with("$ "));
        let shown = code_line(line, is_typed);
        is_typed = is_typed && line.ends_with('\\');
        shown
    });
    let lines: Vec<String> = lines.collect();
    format!(
        "<pre{kind} tabindex=\"0\"><code>{}</code></pre>\n",
        lines.join("\n")
    )
}

/// What a person types stands out from what is printed.
fn code_line(line: &str, is_typed: bool) -> String {
    match line.strip_prefix("$ ") {
        Some(command) if is_typed => format!("<i>$ </i><b>{}</b>", escape(command)),
        _ if is_typed => format!("<b>{}</b>", escape(line)),
        _ => escape(line),
    }
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;

    fn shown(text: &str) -> String {
        page(&markdown::parse(text), &|target| Some(target.to_owned()))
    }

    #[test]
    fn what_is_typed_stands_out_until_its_last_line() {
        let html = shown("```console\n$ a \\\n  b\nc\n```\n```sh\n$ d\n```");
        assert!(
            html.contains("<i>$ </i><b>a \\</b>\n<b>  b</b>\nc</code>"),
            "{html}"
        );
        assert!(html.contains("<code>$ d</code>"), "{html}");
    }

    #[test]
    fn marks_become_html() {
        for (text, html) in [
            (
                "a `b<c` **d** *e* [f `g`](h.md#i)",
                "<p>a <code>b&lt;c</code> <strong>d</strong> <em>e</em> \
                 <a href=\"h.md#i\">f <code>g</code></a></p>",
            ),
            (
                "snake_case_name and _so_",
                "<p>snake_case_name and <em>so</em></p>",
            ),
            ("2 * 3 \\* 4", "<p>2 * 3 * 4</p>"),
            (
                "![x](y.png)",
                "<p><img src=\"y.png\" alt=\"x\" loading=\"lazy\"></p>",
            ),
            (
                "## A `b`",
                "<h2 id=\"a-b\"><a class=\"anchor\" href=\"#a-b\">A <code>b</code></a></h2>",
            ),
        ] {
            assert_eq!(shown(text).trim(), html, "{text}");
        }
        let elsewhere = page(&markdown::parse("[a](b.rs)"), &|_| None);
        let title = "title=\"in the repository: b.rs\"";
        let expected = format!("<p><span class=\"elsewhere\" {title}>a</span></p>\n");
        assert_eq!(elsewhere, expected);
    }

    #[test]
    fn tables_have_only_the_heads_that_are_written() {
        let table = |inside: &str| {
            format!("<div class=\"table\" tabindex=\"0\"><table>{inside}</tbody></table></div>\n")
        };
        assert_eq!(
            shown("| x | |\n|---|---|\n| `a\\|b` | 2 |\n"),
            table(
                "<thead><tr><th>x</th><td></td></tr></thead><tbody>\
                 <tr><td><code>a|b</code></td><td>2</td></tr>"
            )
        );
        assert_eq!(
            shown("| | |\n|---|---|\n| 1 | 2 |\n"),
            table("<tbody><tr><td>1</td><td>2</td></tr>")
        );
    }
}
