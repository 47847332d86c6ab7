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
    fn test_modules_are_known_and_end() {
        let rust = Rust::read("fn a() {}\n#[cfg(test)]\nmod tests {\n  x\n}\nfn b() {}\n");
        let lines: Vec<usize> = (1..=6).filter(|&line| rust.is_test_line(line)).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert!(!Rust::read("#[cfg(test)]\nuse x;\nfn b() {}\n").is_test_line(3));
    }
}
