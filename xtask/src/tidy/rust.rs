//! Questions about Rust source: where functions begin and end, and what is test code.
//!
//! The tokens come from `proc-macro2`: it builds in a second, and unlike `syn` it also reads the
//! inside of macros, where much of the tests is. The gaps between tokens are the comments.

mod paths;

use std::ops::{Range, RangeInclusive};

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

#[derive(Default)]
pub struct Rust {
    pub literals: Vec<Literal>,
    pub functions: Vec<Function>,
    /// Names of the types that are declared here, each with its line.
    pub types: Vec<(usize, String)>,
    pub constants: Vec<Constant>,
    pub modules: Vec<Module>,
    pub paths: Vec<Path>,
    /// Lines of `#[cfg(test)]` items.
    tests: Vec<RangeInclusive<usize>>,
}

/// A string literal as written, without its quotes.
pub struct Literal {
    pub line: usize,
    pub text: String,
}

pub struct Function {
    pub name: String,
    /// From the line of the keyword to the line of the closing brace.
    pub lines: RangeInclusive<usize>,
}

/// `const NAME: declared = value;`
pub struct Constant {
    pub name: String,
    /// Each token of its type.
    pub declared: Vec<String>,
    /// Names and numbers of its value.
    pub value: Vec<String>,
    pub lines: RangeInclusive<usize>,
}

/// A module that lives in a file of its own: `mod name;`.
pub struct Module {
    /// The modules with a body that it stands in, from the outermost.
    pub inside: Vec<String>,
    pub name: String,
    /// Where its file is, if an attribute says so.
    pub path: Option<String>,
}

/// `crate::flow::Gate`, in a `use` or elsewhere.
pub struct Path {
    pub line: usize,
    /// How many modules with a body it stands in.
    pub depth: usize,
    pub segments: Vec<String>,
    /// The name that a `use` gives it in this file.
    pub alias: Option<String>,
}

impl Rust {
    pub fn read(text: &str) -> Result<Rust, LexError> {
        let mut rust = Rust::default();
        rust.items(text.parse()?, &[]);
        // Places in the text are looked up among all texts that the thread has read.
        proc_macro2::extra::invalidate_current_thread_spans();
        Ok(rust)
    }

    /// True inside a `#[cfg(test)]` item.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.tests.iter().any(|lines| lines.contains(&line))
    }

    fn items(&mut self, tokens: TokenStream, inside: &[String]) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut path = None;
        let mut module = None;
        for (at, tree) in trees.iter().enumerate() {
            let rest = &trees[at + 1..];
            match tree {
                TokenTree::Ident(keyword) => match (keyword.to_string().as_str(), name_in(rest)) {
                    ("fn", Some(name)) => self.function(tree, rest, name),
                    ("struct" | "enum" | "union" | "trait" | "type", Some(name))
                        if name.starts_with(char::is_uppercase) =>
                    {
                        self.types.push((first_line(&rest[0]), name));
                    }
                    ("const", Some(name)) => self.constants.extend(constant(rest, name)),
                    ("mod", Some(name)) if is_punct(rest.get(1), ';') => {
                        let (inside, path) = (inside.to_vec(), path.take());
                        self.modules.push(Module { inside, name, path });
                    }
                    ("mod", name) => module = name,
                    ("use", _) => self.add_paths(tree, inside, paths::imported(rest)),
                    _ => self.add_paths(tree, inside, paths::used(&trees, at)),
                },
                TokenTree::Group(_) if paths::follows_separator(&trees, at) => {}
                TokenTree::Group(group) => {
                    if at > 0 && is_punct(trees.get(at - 1), '#') {
                        match &attribute(group)[..] {
                            [name, _] if name == "doc" => continue,
                            [name, value] if name == "path" => path = Some(value.clone()),
                            [text] if text == "cfg (test)" => {
                                let from = first_line(tree);
                                self.tests.extend(end_of_item(rest).map(|end| from..=end));
                            }
                            _ => {}
                        }
                    }
                    let mut inside = inside.to_vec();
                    inside.extend(module.take());
                    self.items(group.stream(), &inside);
                }
                TokenTree::Literal(literal) => {
                    let line = first_line(tree);
                    let text = text_of(&literal.to_string()).map(str::to_owned);
                    self.literals
                        .extend(text.map(|text| Literal { line, text }));
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => path = None,
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn add_paths(
        &mut self,
        first: &TokenTree,
        inside: &[String],
        found: impl IntoIterator<Item = (Vec<String>, Option<String>)>,
    ) {
        let (line, depth) = (first_line(first), inside.len());
        self.paths
            .extend(found.into_iter().map(|(segments, alias)| Path {
                line,
                depth,
                segments,
                alias,
            }));
    }

    fn function(&mut self, keyword: &TokenTree, rest: &[TokenTree], name: String) {
        if let Some(end) = end_of_item(rest) {
            let lines = first_line(keyword)..=end;
            self.functions.push(Function { name, lines });
        }
    }
}

/// None for a parameter of a function or an impl, which has no value of its own.
fn constant(rest: &[TokenTree], name: String) -> Option<Constant> {
    let equals = rest.iter().position(|tree| is_punct(Some(tree), '='))?;
    let is_end = |tree: &TokenTree| is_punct(Some(tree), ';');
    let end = equals + rest[equals..].iter().position(is_end)?;
    let is_block = |tree: &TokenTree| match tree {
        TokenTree::Group(group) => group.delimiter() != Delimiter::Bracket,
        _ => false,
    };
    let declared = rest.get(2..equals)?;
    let count = |sign| {
        declared
            .iter()
            .filter(|tree| is_punct(Some(tree), sign))
            .count()
    };
    let is_type = !declared.iter().any(is_block) && count('<') == count('>') && count(',') == 0;
    (is_punct(rest.get(1), ':') && is_type).then(|| Constant {
        name,
        declared: declared.iter().map(ToString::to_string).collect(),
        value: words_in(rest[equals + 1..end].iter().cloned().collect()),
        lines: first_line(&rest[0])..=first_line(&rest[end]),
    })
}

fn words_in(tokens: TokenStream) -> Vec<String> {
    let words = tokens.into_iter().map(|tree| match tree {
        TokenTree::Group(group) => words_in(group.stream()),
        TokenTree::Literal(literal) if text_of(&literal.to_string()).is_some() => Vec::new(),
        TokenTree::Punct(_) => Vec::new(),
        TokenTree::Ident(_) | TokenTree::Literal(_) => vec![tree.to_string()],
    });
    words.flatten().collect()
}

/// The name and the text of `#[name = "text"]`; for any other attribute, all of it.
fn attribute(group: &Group) -> Vec<String> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    match &tokens[..] {
        [TokenTree::Ident(name), _, TokenTree::Literal(text)] => {
            let text = text.to_string();
            vec![
                name.to_string(),
                text_of(&text).unwrap_or_default().to_owned(),
            ]
        }
        _ => vec![group.stream().to_string()],
    }
}

/// The text between the quotes of a string.
fn text_of(literal: &str) -> Option<&str> {
    let range = quoted(literal)?;
    literal[..range.start]
        .ends_with('"')
        .then(|| &literal[range])
}

/// Where that is, in a string or a character.
fn quoted(literal: &str) -> Option<Range<usize>> {
    let quote = literal.find(['"', '\''])?;
    let hashes = literal[..quote].matches('#').count();
    Some(quote + 1..literal.len() - 1 - hashes)
}

/// The source in two texts, code without the insides of literals, and comments. Each has blanks
/// where the other has something, so that lines stay where they are.
pub fn code_and_comments(source: &str) -> (String, String) {
    let mut code = source.as_bytes().to_vec();
    blank(&mut code);
    let mut parts = Parts {
        source,
        code,
        comments: source.as_bytes().to_vec(),
    };
    parts.take(source.parse().unwrap_or_default());
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(parts.code), text(parts.comments))
}

struct Parts<'a> {
    source: &'a str,
    code: Vec<u8>,
    comments: Vec<u8>,
}

impl Parts<'_> {
    fn take(&mut self, tokens: TokenStream) {
        for tree in tokens {
            match tree {
                TokenTree::Group(group) => {
                    let (open, close) = (group.span_open(), group.span_close());
                    if !self.is_comment(open.byte_range()) {
                        self.code(open.byte_range());
                        self.take(group.stream());
                        self.code(close.byte_range());
                    }
                }
                TokenTree::Literal(literal) => {
                    let range = literal.span().byte_range();
                    self.code(range.clone());
                    let inside = quoted(&self.source[range.clone()]).unwrap_or(0..0);
                    blank(&mut self.code[range][inside]);
                }
                _ => self.code(tree.span().byte_range()),
            }
        }
    }

    /// A comment for the documentation comes as tokens, all of which span it.
    fn is_comment(&self, range: Range<usize>) -> bool {
        let rest = &self.source[range.start..];
        rest.starts_with("//") || rest.starts_with("/*")
    }

    fn code(&mut self, range: Range<usize>) {
        if !self.is_comment(range.clone()) {
            self.code[range.clone()].copy_from_slice(&self.source.as_bytes()[range.clone()]);
            blank(&mut self.comments[range]);
        }
    }
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// `name`, or in a macro `$name`.
fn name_in(trees: &[TokenTree]) -> Option<String> {
    match trees {
        [TokenTree::Ident(name), ..] => Some(name.to_string()),
        [TokenTree::Punct(sign), TokenTree::Ident(name), ..] if sign.as_char() == '$' => {
            Some(format!("${name}"))
        }
        _ => None,
    }
}

/// The last line of the block that comes next; none if the item ends in `;`.
fn end_of_item(trees: &[TokenTree]) -> Option<usize> {
    for tree in trees {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == ';' => return None,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                return Some(group.span_close().end().line);
            }
            _ => {}
        }
    }
    None
}

fn is_punct(tree: Option<&TokenTree>, sign: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn first_line(tree: &TokenTree) -> usize {
    tree.span().start().line
}

#[cfg(test)]
mod tests;
