//! Blocks of a page as HTML.

use crate::inline::{self, Inline};
use crate::markdown::{Block, Document, List};

/// Where a link leads in the book; none if what it names is not part of it.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn page(document: &Document, resolve: Resolve) -> String {
    let mut html = String::new();
    for block in &document.blocks {
        html.push_str(&show(block, resolve));
        html.push('\n');
    }
    html
}

fn show(block: &Block, resolve: Resolve) -> String {
    let text = |text: &str| inline(&inline::parse(text), resolve);
    match block {
        Block::Heading(heading) => {
            let (level, anchor) = (heading.level, &heading.anchor);
            format!(
                "<h{level} id=\"{anchor}\"><a class=\"anchor\" href=\"#{anchor}\">{}</a></h{level}>",
                text(&heading.text)
            )
        }
        Block::Paragraph(paragraph) => format!("<p>{}</p>", text(paragraph)),
        Block::Quote(quote) => format!("<blockquote><p>{}</p></blockquote>", text(quote)),
        Block::Rule => "<hr>".to_owned(),
        Block::Code(code) => {
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
                "<pre{kind} tabindex=\"0\"><code>{}</code></pre>",
                lines.join("\n")
            )
        }
        Block::Table(rows) => table(rows, &text),
        Block::List(items) => list(items, &text),
    }
}

/// What a person types stands out from what is printed.
fn code_line(line: &str, is_typed: bool) -> String {
    match line.strip_prefix("$ ") {
        Some(command) if is_typed => format!("<i>$ </i><b>{}</b>", escape(command)),
        _ if is_typed => format!("<b>{}</b>", escape(line)),
        _ => escape(line),
    }
}

fn table(rows: &[Vec<String>], text: &dyn Fn(&str) -> String) -> String {
    let row = |cells: &[String], name: &str| {
        let cells = cells.iter().map(|cell| {
            // A head without a text is none.
            let name = if cell.is_empty() { "td" } else { name };
            format!("<{name}>{}</{name}>", text(cell))
        });
        format!("<tr>{}</tr>", cells.collect::<String>())
    };
    let Some((head, body)) = rows.split_first() else {
        return String::new();
    };
    let head = if head.iter().all(String::is_empty) {
        String::new()
    } else {
        format!("<thead>{}</thead>", row(head, "th"))
    };
    let body: String = body.iter().map(|cells| row(cells, "td")).collect();
    format!("<div class=\"table\" tabindex=\"0\"><table>{head}<tbody>{body}</tbody></table></div>")
}

fn list(list: &List, text: &dyn Fn(&str) -> String) -> String {
    let name = if list.is_ordered { "ol" } else { "ul" };
    let items = list.items.iter().map(|(item, inner)| {
        let inner = inner.as_ref().map(|inner| self::list(inner, text));
        format!("<li>{}{}</li>", text(item), inner.unwrap_or_default())
    });
    format!("<{name}>{}</{name}>", items.collect::<String>())
}

pub fn inline(pieces: &[Inline], resolve: Resolve) -> String {
    let mut html = String::new();
    for piece in pieces {
        match piece {
            Inline::Text(text) => html.push_str(&escape(text)),
            Inline::Code(code) => html.push_str(&format!("<code>{}</code>", escape(code))),
            Inline::Strong(inner) => {
                html.push_str(&format!("<strong>{}</strong>", inline(inner, resolve)));
            }
            Inline::Emphasis(inner) => {
                html.push_str(&format!("<em>{}</em>", inline(inner, resolve)));
            }
            Inline::Link { text, target } => {
                let text = inline(text, resolve);
                html.push_str(&match resolve(target) {
                    Some(url) => format!("<a href=\"{}\">{text}</a>", escape(&url)),
                    None => format!(
                        "<span class=\"elsewhere\" title=\"in the repository: {}\">{text}</span>",
                        escape(target)
                    ),
                });
            }
            Inline::Image { alt, target } => {
                let url = resolve(target).unwrap_or_default();
                let (url, alt) = (escape(&url), escape(alt));
                html.push_str(&format!(
                    "<img src=\"{url}\" alt=\"{alt}\" loading=\"lazy\">"
                ));
            }
        }
    }
    html
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

    #[test]
    fn what_is_typed_stands_out_until_its_last_line() {
        let document = markdown::parse("```console\n$ a \\\n  b\nc\n```\n```sh\n$ d\n```");
        let html = page(&document, &|_| None);
        assert!(
            html.contains("<i>$ </i><b>a \\</b>\n<b>  b</b>\nc</code>"),
            "{html}"
        );
        assert!(html.contains("<code>$ d</code>"), "{html}");
    }
}
