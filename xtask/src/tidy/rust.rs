//! Questions about Rust source: where functions begin and end, and what is test code.
//!
//! Braces are counted in code that the lexer has freed of comments and literals, which is exact
//! enough for sources that the formatter has seen.

use std::ops::RangeInclusive;

use super::lexer::{self, Literal, Parts, is_word};

pub struct Rust {
    /// The source with comments and the insides of literals blanked out. Lines stay where they are.
    pub code: String,
    /// The comments, with everything else blanked out.
    pub comments: String,
    pub literals: Vec<Literal>,
    line_starts: Vec<usize>,
}

pub struct Function {
    pub name: String,
    /// From the line of the keyword to the line of the closing brace.
    pub lines: RangeInclusive<usize>,
}

/// `const NAME: declared = value;`
pub struct Constant<'a> {
    pub name: &'a str,
    pub declared: &'a str,
    pub value: &'a str,
    pub lines: RangeInclusive<usize>,
}

pub struct Module {
    /// The modules with a body that it stands in, from the outermost.
    pub inside: Vec<String>,
    pub name: String,
    /// Where its file is, if an attribute says so.
    pub path: Option<String>,
}

impl Rust {
    pub fn read(text: &str) -> Rust {
        let Parts {
            code,
            comments,
            literals,
        } = lexer::take_apart(text);
        let ends = code.match_indices('\n').map(|(at, _)| at + 1);
        Rust {
            line_starts: std::iter::once(0).chain(ends).collect(),
            code,
            comments,
            literals,
        }
    }

    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (at, _) in self.code.match_indices("fn ") {
            let follows_word = self.code[..at].chars().next_back().is_some_and(is_word);
            let rest = &self.code[at + 3..];
            let name: String = rest
                .chars()
                .take_while(|&c| is_word(c) || c == '$')
                .collect();
            if follows_word || name.is_empty() {
                continue;
            }
            if let Some(end) = self.end_of_block(at) {
                found.push(Function {
                    name,
                    lines: self.line_at(at)..=self.line_at(end),
                });
            }
        }
        found
    }

    /// The names of the types that are declared here, each with its line.
    pub fn types(&self) -> Vec<(usize, &str)> {
        const KEYWORDS: &[&str] = &["struct", "enum", "union", "trait", "type"];
        let named = self.named_after(KEYWORDS).into_iter();
        named
            .filter(|(_, name)| name.starts_with(char::is_uppercase))
            .map(|(at, name)| (self.line_at(at), name))
            .collect()
    }

    /// The constants that are declared here.
    pub fn constants(&self) -> Vec<Constant<'_>> {
        let named = self.named_after(&["const"]).into_iter();
        named
            .filter_map(|(at, name)| {
                let rest = self.code[at + name.len()..].strip_prefix(':')?;
                let (declared, _) = rest.split_once('=')?;
                let value = &rest[declared.len() + 1..];
                let end = end_of_statement(value)?;
                // A parameter of a function or an impl: there is no `=` before its end.
                let is_type = |c: char| is_word(c) || c.is_whitespace() || "<>:[];&'".contains(c);
                let is_balanced = declared.matches('<').count() == declared.matches('>').count();
                (declared.chars().all(is_type) && is_balanced).then(|| Constant {
                    name,
                    declared: declared.trim(),
                    value: value[..end].trim(),
                    lines: self.line_at(at)
                        ..=self.line_at(at + name.len() + 1 + declared.len() + 1 + end),
                })
            })
            .collect()
    }

    /// The modules that live in files of their own: `mod name;`.
    pub fn modules(&self) -> Vec<Module> {
        let mut found = Vec::new();
        let mut parents: Vec<(usize, &str)> = Vec::new();
        for (at, name) in self.named_after(&["mod"]) {
            parents.retain(|&(end, _)| at < end);
            let after = self.code[at + name.len()..].trim_start();
            if after.starts_with(';') {
                found.push(Module {
                    inside: parents.iter().map(|&(_, name)| name.to_owned()).collect(),
                    name: name.to_owned(),
                    path: self.path_attribute(self.line_at(at)),
                });
            } else if let Some(end) = self.end_of_block(at) {
                parents.push((end, name));
            }
        }
        found
    }

    /// What `#[path = "…"]` says above a line.
    fn path_attribute(&self, line: usize) -> Option<String> {
        let lines: Vec<&str> = self.code.lines().collect();
        let above = (1..line).rev().map(|number| (number, lines[number - 1]));
        let mut attributes = above.take_while(|(_, code)| {
            let code = code.trim();
            code.is_empty() || code.starts_with("#[")
        });
        let (number, _) = attributes.find(|(_, code)| code.trim().starts_with("#[path"))?;
        let literal = self.literals.iter().find(|literal| literal.line == number);
        literal.map(|literal| literal.text.clone())
    }

    /// The names that follow one of the keywords, each with its offset, in their order.
    fn named_after(&self, keywords: &[&str]) -> Vec<(usize, &str)> {
        let mut found = Vec::new();
        for keyword in keywords {
            for (at, _) in self.code.match_indices(keyword) {
                let follows_word = self.code[..at].chars().next_back().is_some_and(is_word);
                let after = &self.code[at + keyword.len()..];
                let rest = after.trim_start();
                let name = rest.split(|c| !is_word(c)).next().unwrap_or_default();
                if !follows_word && rest.len() < after.len() && !name.is_empty() {
                    found.push((self.code.len() - rest.len(), name));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// True inside a `#[cfg(test)]` item.
    pub fn is_test_line(&self, line: usize) -> bool {
        let mut attributes = self.code.match_indices("#[cfg(test)]");
        attributes.any(|(at, attribute)| {
            let end = self.end_of_block(at + attribute.len());
            end.is_some_and(|end| (self.line_at(at)..=self.line_at(end)).contains(&line))
        })
    }

    /// Where the block of the item that starts at `start` is closed; none if it ends in `;`.
    fn end_of_block(&self, start: usize) -> Option<usize> {
        let (mut parens, mut braces) = (0_i32, 0_i32);
        for (offset, byte) in self.code[start..].bytes().enumerate() {
            match byte {
                b'(' | b'[' => parens += 1,
                b')' | b']' => parens -= 1,
                b';' if parens == 0 && braces == 0 => return None,
                // A brace inside brackets belongs to a type such as `[u8; { N }]`.
                b'{' if parens == 0 || braces > 0 => braces += 1,
                b'}' if braces > 0 => {
                    braces -= 1;
                    if braces == 0 {
                        return Some(start + offset);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn line_at(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }
}

/// The words of a piece of code.
pub fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Where the `;` is that ends what begins here.
fn end_of_statement(code: &str) -> Option<usize> {
    let mut open = 0_i32;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open -= 1,
            b';' if open == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_span_from_keyword_to_closing_brace() {
        let rust = Rust::read(
            "fn a() {\n  let f: fn(u8) = g;\n  fn inner() { \"}\"; }\n}\n\
             trait T {\n  fn declared(&self, x: [u8; 3]);\n}\n\
             pub async fn b(x: [u8; { 3 }])\nwhere\n  T: X,\n{\n}\n",
        );
        let found: Vec<_> = rust
            .functions()
            .into_iter()
            .map(|f| (f.name, f.lines))
            .collect();
        let expected = [("a", 1..=4), ("inner", 3..=3), ("b", 8..=12)];
        assert_eq!(
            found,
            expected.map(|(name, lines)| (name.to_owned(), lines))
        );
    }

    #[test]
    fn types_are_found_by_their_keyword() {
        let rust = Rust::read(
            "pub struct One<T>(T);\n// struct Two;\nenum Three {}\ntrait Four: X {}\n\
             type Five = u8;\nlet r#type = kind_of_struct; \"enum Six\"",
        );
        let found = rust.types();
        assert_eq!(found, [(1, "One"), (3, "Three"), (4, "Four"), (5, "Five")]);
    }

    #[test]
    fn constants_are_found_with_type_and_value() {
        let rust = Rust::read(
            "pub(super) const A_MAX: usize = 2 * 3;\nconst B: Range<u8> =\n  f(1);\n\
             const fn c() {}\nfn d<const N: usize>() { let x = 1; }\nconst E: [u8; 2] = [1; 2];",
        );
        let found: Vec<_> = rust
            .constants()
            .into_iter()
            .map(|c| (c.name, c.declared, c.value, c.lines))
            .collect();
        let expected = [
            ("A_MAX", "usize", "2 * 3", 1..=1),
            ("B", "Range<u8>", "f(1)", 2..=3),
            ("E", "[u8; 2]", "[1; 2]", 6..=6),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn modules_in_files_are_found_with_where_they_are() {
        let rust =
            Rust::read("mod a;\nmod b {\n  pub(crate) mod c;\n}\n#[path = \"x/y.rs\"]\nmod d;\n");
        let found: Vec<_> = rust
            .modules()
            .into_iter()
            .map(|m| (m.inside.join("/"), m.name, m.path))
            .collect();
        let module = |inside: &str, name: &str, path: Option<&str>| {
            (inside.to_owned(), name.to_owned(), path.map(str::to_owned))
        };
        assert_eq!(
            found,
            [
                module("", "a", None),
                module("b", "c", None),
                module("", "d", Some("x/y.rs")),
            ]
        );
    }

    #[test]
    fn test_modules_are_known_and_end() {
        let rust = Rust::read("fn a() {}\n#[cfg(test)]\nmod tests {\n  x\n}\nfn b() {}\n");
        let lines: Vec<usize> = (1..=6).filter(|&line| rust.is_test_line(line)).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert!(!Rust::read("#[cfg(test)]\nuse x;\nfn b() {}\n").is_test_line(3));
    }
}
