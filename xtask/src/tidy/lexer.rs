//! Rust source, taken apart just far enough: what is code, what is comment, what is text.
//!
//! A search over raw lines finds words inside strings and braces inside comments. A syntax tree
//! would cost a dependency and its build. This lexer knows comments and literals and nothing else.

/// In `code` and `comments` everything else is blanked out, so that lines stay where they are.
pub struct Parts {
    pub code: String,
    pub comments: String,
    pub literals: Vec<Literal>,
}

/// A string literal as written, without its quotes.
pub struct Literal {
    pub line: usize,
    pub text: String,
}

pub fn take_apart(text: &str) -> Parts {
    let mut lexer = Lexer {
        source: text.chars().collect(),
        at: 0,
        line: 1,
        parts: Parts {
            code: String::with_capacity(text.len()),
            comments: String::with_capacity(text.len()),
            literals: Vec::new(),
        },
    };
    lexer.run();
    lexer.parts
}

struct Lexer {
    source: Vec<char>,
    at: usize,
    line: usize,
    parts: Parts,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Text,
}

impl Lexer {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(None),
                ('\'', _) => self.quote(),
                ('r', _) => match self.raw_string_hashes() {
                    Some(hashes) => {
                        self.take(Part::Code, 1 + hashes);
                        self.string(Some(hashes));
                    }
                    None => self.take(Part::Code, 1),
                },
                _ => self.take(Part::Code, 1),
            }
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.take(Part::Comment, 1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.take(Part::Comment, 1);
                    continue;
                }
            }
            self.take(Part::Comment, 2);
            if depth == 0 {
                return;
            }
        }
    }

    /// From the opening quote to the closing one; `hashes` is given for raw strings.
    fn string(&mut self, hashes: Option<usize>) {
        let line = self.line;
        self.take(Part::Code, 1);
        let start = self.at;
        while let Some(c) = self.peek(0) {
            match (c, hashes) {
                ('\\', None) => self.take(Part::Text, 2),
                ('"', None) => break,
                ('"', Some(hashes)) if self.hashes_from(1) >= hashes => break,
                _ => self.take(Part::Text, 1),
            }
        }
        let text = self.source[start..self.at.min(self.source.len())]
            .iter()
            .collect();
        self.parts.literals.push(Literal { line, text });
        self.take(Part::Code, 1 + hashes.unwrap_or(0));
    }

    /// A quote opens a character or a lifetime; only the character has a second quote.
    fn quote(&mut self) {
        let is_escape = self.peek(1) == Some('\\');
        if !is_escape && self.peek(2) != Some('\'') {
            return self.take(Part::Code, 1);
        }
        self.take(Part::Code, 1);
        self.take(Part::Text, if is_escape { 2 } else { 1 });
        while self.peek(0).is_some_and(|c| c != '\'') {
            self.take(Part::Text, 1);
        }
        self.take(Part::Code, 1);
    }

    /// The number of hashes if a raw string starts here, and not a name that begins with `r`.
    fn raw_string_hashes(&self) -> Option<usize> {
        let mut before = self.source[..self.at].iter().rev();
        let starts_word = match before.next() {
            Some('b' | 'c') => !before.next().is_some_and(|&c| is_word(c)),
            Some(&c) => !is_word(c),
            None => true,
        };
        let hashes = self.hashes_from(1);
        (starts_word && self.peek(1 + hashes) == Some('"')).then_some(hashes)
    }

    fn hashes_from(&self, ahead: usize) -> usize {
        let from = (self.at + ahead).min(self.source.len());
        self.source[from..]
            .iter()
            .take_while(|&&c| c == '#')
            .count()
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).copied()
    }

    fn take(&mut self, part: Part, count: usize) {
        for _ in 0..count {
            let Some(c) = self.peek(0) else { return };
            self.at += 1;
            let keep = |kept_in: Part| if c == '\n' || part == kept_in { c } else { ' ' };
            self.parts.code.push(keep(Part::Code));
            self.parts.comments.push(keep(Part::Comment));
            self.line += usize::from(c == '\n');
        }
    }
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_out_of_the_code() {
        let cases = [
            ("a // b", "a     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            (r#"x("a\"b")"#, r#"x("    ")"#),
            (r###"r#"a"b"# + c"###, r###"r#"   "# + c"###),
            (r#"br"\" + c"#, r#"br" " + c"#),
            ("'{' '\\'' 'a: &'a str", "' ' '  ' 'a: &'a str"),
            (r"'\u{7b}' x", r"'      ' x"),
            ("r#type = var\"x\"", "r#type = var\" \""),
        ];
        for (source, code) in cases {
            assert_eq!(take_apart(source).code, code, "{source}");
        }
    }

    #[test]
    fn literals_carry_their_line_and_text() {
        let parts = take_apart("a\n\"one\ntwo\"\nr\"three\"");
        let found: Vec<_> = parts
            .literals
            .iter()
            .map(|l| (l.line, l.text.as_str()))
            .collect();
        assert_eq!(found, [(2, "one\ntwo"), (4, "three")]);
    }
}
