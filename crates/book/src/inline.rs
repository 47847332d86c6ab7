//! Marks inside of a line: code, strong, emphasis, links and pictures.

pub enum Inline {
    Text(String),
    Code(String),
    Strong(Vec<Inline>),
    Emphasis(Vec<Inline>),
    Link { text: Vec<Inline>, target: String },
    Image { alt: String, target: String },
}

impl Inline {
    pub fn push_plain(&self, plain: &mut String) {
        match self {
            Inline::Text(text) | Inline::Code(text) => plain.push_str(text),
            Inline::Strong(inner) | Inline::Emphasis(inner) | Inline::Link { text: inner, .. } => {
                inner.iter().for_each(|piece| piece.push_plain(plain));
            }
            Inline::Image { alt, .. } => plain.push_str(alt),
        }
    }

    /// Targets of links and pictures, in order.
    pub fn targets<'a>(&'a self, found: &mut Vec<&'a str>) {
        match self {
            Inline::Text(_) | Inline::Code(_) => {}
            Inline::Strong(inner) | Inline::Emphasis(inner) => {
                inner.iter().for_each(|piece| piece.targets(found));
            }
            Inline::Link { text, target } => {
                found.push(target);
                text.iter().for_each(|piece| piece.targets(found));
            }
            Inline::Image { target, .. } => found.push(target),
        }
    }
}

pub fn parse(text: &str) -> Vec<Inline> {
    let mut found = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some((piece, length)) = marked(rest, plain.chars().next_back()) {
            if !plain.is_empty() {
                found.push(Inline::Text(std::mem::take(&mut plain)));
            }
            found.push(piece);
            rest = &rest[length..];
            continue;
        }
        let after = &rest[c.len_utf8()..];
        match after.chars().next() {
            Some(next) if c == '\\' && next.is_ascii_punctuation() => {
                plain.push(next);
                rest = &after[next.len_utf8()..];
            }
            _ => {
                plain.push(c);
                rest = after;
            }
        }
    }
    if !plain.is_empty() {
        found.push(Inline::Text(plain));
    }
    found
}

/// The marked piece at the beginning, and its length in bytes.
fn marked(rest: &str, before: Option<char>) -> Option<(Inline, usize)> {
    if rest.starts_with('`') {
        let marks = rest.chars().take_while(|&c| c == '`').count();
        let fence = &rest[..marks];
        let inside = &rest[marks..];
        let end = inside.find(fence)?;
        let code = inside[..end].trim_matches(' ').to_owned();
        return Some((Inline::Code(code), end + 2 * marks));
    }
    if let Some(inside) = rest.strip_prefix("**") {
        let end = inside.find("**").filter(|&end| end > 0)?;
        return Some((Inline::Strong(parse(&inside[..end])), end + 4));
    }
    if let Some(inside) = rest.strip_prefix('*') {
        let begins = inside.chars().next().is_some_and(char::is_alphanumeric);
        let end = inside.find('*').filter(|_| begins)?;
        return Some((Inline::Emphasis(parse(&inside[..end])), end + 2));
    }
    if let Some(inside) = rest.strip_prefix('_') {
        let begins = inside.chars().next().is_some_and(char::is_alphanumeric)
            && !before.is_some_and(char::is_alphanumeric);
        let end = inside.find('_').filter(|_| begins)?;
        let after = inside[end + 1..].chars().next();
        let ends = !after.is_some_and(char::is_alphanumeric);
        return ends.then(|| (Inline::Emphasis(parse(&inside[..end])), end + 2));
    }
    if let Some(inside) = rest.strip_prefix("![") {
        let (alt, target, length) = link(inside)?;
        let alt = alt.to_owned();
        return Some((Inline::Image { alt, target }, length + 2));
    }
    if let Some(inside) = rest.strip_prefix('[') {
        let (text, target, length) = link(inside)?;
        let text = parse(text);
        return Some((Inline::Link { text, target }, length + 1));
    }
    if let Some(inside) = rest.strip_prefix('<') {
        let end = inside.find('>').filter(|_| inside.starts_with("http"))?;
        let target = inside[..end].to_owned();
        let text = vec![Inline::Text(target.clone())];
        return Some((Inline::Link { text, target }, end + 2));
    }
    None
}

/// `text](target)`, without the bracket before it.
fn link(inside: &str) -> Option<(&str, String, usize)> {
    let mut depth = 0;
    let end = inside.char_indices().find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => return Some(at),
            ']' => depth -= 1,
            _ => {}
        }
        None
    })?;
    let target = inside[end + 1..].strip_prefix('(')?;
    let close = target.find(')')?;
    let target = target[..close].trim_matches(['<', '>']).to_owned();
    Some((&inside[..end], target, end + close + 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html;

    #[test]
    fn marks_become_html() {
        let show = |text: &str| html::inline(&parse(text), &|target| Some(target.to_owned()));
        assert_eq!(
            show("a `b<c` **d** *e* [f `g`](h.md#i)"),
            "a <code>b&lt;c</code> <strong>d</strong> <em>e</em> \
             <a href=\"h.md#i\">f <code>g</code></a>"
        );
        assert_eq!(
            show("snake_case_name and _so_"),
            "snake_case_name and <em>so</em>"
        );
        assert_eq!(show("2 * 3 \\* 4"), "2 * 3 * 4");
        assert_eq!(
            show("![x](y.png)"),
            "<img src=\"y.png\" alt=\"x\" loading=\"lazy\">"
        );
    }
}
