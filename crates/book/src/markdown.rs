//! A page in Markdown, taken apart by `pulldown-cmark`: the events that it is made of, and what the
//! book and its checks ask of them.

use std::collections::HashMap;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

#[derive(Default)]
pub struct Document {
    pub events: Vec<Event<'static>>,
    /// What stands before the first heading, and then a section for each.
    pub sections: Vec<Section>,
    pub codes: Vec<Code>,
    /// Code inside of sentences.
    pub code_spans: Vec<String>,
    pub links: Vec<Link>,
    /// Lines that cannot be shown, with the reason.
    pub findings: Vec<(usize, String)>,
}

/// A heading, and what is below it until the next one.
#[derive(Default)]
pub struct Section {
    /// From 1; 0 before the first heading.
    pub level: usize,
    pub heading: String,
    /// The name of the heading in links.
    pub anchor: String,
    /// Without marks, and with code.
    pub text: String,
}

/// A fenced block: "```python file=verify.py".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// Of its first line, counted from 1.
    pub line: usize,
    pub language: String,
    /// The text after the language.
    pub options: Vec<String>,
    pub text: String,
}

/// A link or a picture.
pub struct Link {
    pub target: String,
    pub text: String,
    /// The place of its section in the document.
    pub section: usize,
}

impl Code {
    /// The value of `name=value`.
    pub fn option(&self, name: &str) -> Option<&str> {
        let mut options = self.options.iter();
        options.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

pub fn parse(text: &str) -> Document {
    let mut reader = Reader {
        text,
        document: Document {
            sections: vec![Section::default()],
            ..Document::default()
        },
        element: Element::Text,
        anchors: HashMap::new(),
    };
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let event = reader.read(event.into_static(), range.start);
        reader.document.events.push(event);
    }
    reader.document
}

struct Reader<'a> {
    text: &'a str,
    document: Document,
    element: Element,
    /// How often each has occurred.
    anchors: HashMap<String, usize>,
}

#[derive(PartialEq)]
enum Element {
    Text,
    Heading,
    Code,
    Link,
}

impl Reader<'_> {
    fn read(&mut self, event: Event<'static>, offset: usize) -> Event<'static> {
        match &event {
            Event::Start(tag) => self.start(tag, offset),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => self.push(text),
            Event::Code(text) => {
                self.document.code_spans.push(text.to_string());
                self.push(text);
            }
            Event::SoftBreak | Event::HardBreak => self.push(" "),
            Event::Html(html) | Event::InlineHtml(html) => {
                let sentence = "raw HTML is not shown in the book; write it in Markdown".to_owned();
                self.document
                    .findings
                    .push((self.line_at(offset), sentence));
                return Event::Text(html.clone());
            }
            _ => {}
        }
        event
    }

    fn start(&mut self, tag: &Tag<'_>, offset: usize) {
        match tag {
            Tag::Heading { level, .. } => {
                self.element = Element::Heading;
                self.document.sections.push(Section {
                    level: *level as usize,
                    ..Section::default()
                });
            }
            Tag::CodeBlock(kind) => {
                self.element = Element::Code;
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                let mut words = info.split([' ', ',']).map(str::to_owned);
                self.document.codes.push(Code {
                    line: self.line_at(offset) + 1,
                    language: words.next().unwrap_or_default(),
                    options: words.collect(),
                    text: String::new(),
                });
            }
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                if self.element == Element::Text {
                    self.element = Element::Link;
                }
                self.document.links.push(Link {
                    target: dest_url.to_string(),
                    text: String::new(),
                    section: self.document.sections.len() - 1,
                });
            }
            Tag::Item => self.push(" "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                if let Some(section) = self.document.sections.last_mut() {
                    let slug = slug(&section.heading);
                    let seen = self.anchors.entry(slug.clone()).or_default();
                    section.anchor = match *seen {
                        0 => slug,
                        _ => format!("{slug}-{seen}"),
                    };
                    *seen += 1;
                }
                self.element = Element::Text;
            }
            TagEnd::CodeBlock => {
                if let Some(code) = self.document.codes.last_mut() {
                    code.text.truncate(code.text.trim_end_matches('\n').len());
                }
                self.element = Element::Text;
                self.push(" ");
            }
            TagEnd::Link | TagEnd::Image if self.element == Element::Link => {
                self.element = Element::Text;
            }
            TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell => self.push(" "),
            _ => {}
        }
    }

    fn line_at(&self, offset: usize) -> usize {
        1 + self.text[..offset].matches('\n').count()
    }

    fn push(&mut self, text: &str) {
        let document = &mut self.document;
        if let Some(section) = document.sections.last_mut() {
            match self.element {
                Element::Heading => section.heading.push_str(text),
                _ => section.text.push_str(text),
            }
        }
        match self.element {
            Element::Code => document
                .codes
                .last_mut()
                .map(|code| code.text.push_str(text)),
            Element::Link => document
                .links
                .last_mut()
                .map(|link| link.text.push_str(text)),
            _ => None,
        };
    }
}

/// The name of a heading in links, as code hosts make it.
fn slug(heading: &str) -> String {
    let kept = heading.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_taken_apart() {
        let text = "# Title\n\nOne `two`\nthree.\n\n- [a *b*](c.md)\n\n```sh file=a.sh\nls\n```\n## Title\n";
        let document = parse(text);
        let sections = document.sections.iter();
        let sections: Vec<_> = sections
            .map(|section| (section.level, &*section.anchor, section.text.trim()))
            .collect();
        let words = "One two three.  a b ls";
        assert_eq!(
            sections,
            [(0, "", ""), (1, "title", words), (2, "title-1", "")]
        );
        assert_eq!(document.code_spans, ["two"]);
        let link = &document.links[0];
        assert_eq!(
            (&*link.target, &*link.text, link.section),
            ("c.md", "a b", 1)
        );
        let code = &document.codes[0];
        assert_eq!((code.line, code.language.as_str()), (9, "sh"));
        assert_eq!(
            (code.option("file"), code.text.as_str()),
            (Some("a.sh"), "ls")
        );
    }

    #[test]
    fn names_of_headings_are_those_of_code_hosts() {
        for (heading, anchor) in [
            ("Past one primary", "past-one-primary"),
            ("`serve`: what, and *why*?", "serve-what-and-why"),
        ] {
            assert_eq!(parse(&format!("# {heading}")).sections[1].anchor, anchor);
        }
    }

    #[test]
    fn raw_html_is_a_finding() {
        assert_eq!(parse("a\n\n<div>").findings[0].0, 3);
        assert_eq!(parse("a <b>c</b>").findings.len(), 2);
    }
}
