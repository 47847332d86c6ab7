//! Messages without their changing parts.
//!
//! A thousand failures of one outage differ in ids, ports and times. Replacing digits alone leaves
//! a group for each customer and each host; replacing too much makes one group of everything. So a
//! message is read once, from left to right, in words: a word that was made up by a person stays,
//! and one that was made up by a machine is a placeholder, written `#`. Placeholders that only punctuation keeps
//! apart are one, so that a list of ids is as long as any other.
//!
//! A quoted word is a value and a placeholder, unless it looks like a name of the program, as in
//! `KeyError: 'customer_id'`; a quoted sentence is a message within the message. In JSON,
//! which quotes everything, the key says which it is.

use std::borrow::Cow;

use super::vocabulary::{
    is_before_name, is_before_status, is_date, is_error_type, is_telling, is_unit, singular,
};
use crate::limits;

/// The pattern of a message. It takes time in proportion to the message's length, and of a message
/// of any length only [`limits::MESSAGE_BYTES_MAX`] bytes are read.
pub fn normalize_message(message: &str) -> String {
    let message = &message[..message.floor_char_boundary(limits::MESSAGE_BYTES_MAX)];
    let text = without_frames(message);
    let text = text.trim();
    let uncut = text.trim_end_matches('…');
    let bytes_max = if uncut.len() < text.len() {
        limits::PATTERN_CUT_BYTES_MAX
    } else {
        limits::PATTERN_BYTES_MAX
    };
    let mut normalizer = Normalizer::new(uncut, bytes_max);
    normalizer.run();
    let mut pattern = without_repeats(&normalizer.out);
    pattern.truncate(pattern.floor_char_boundary(bytes_max));
    pattern
}

/// The lines of a message without those of a stack trace, whose depth is no part of the cause.
fn without_frames(message: &str) -> Cow<'_, str> {
    if !message.contains('\n') {
        return Cow::Borrowed(message);
    }
    let mut lines = message.lines().map(str::trim).filter(|it| !it.is_empty());
    if message.trim_start().starts_with("Traceback (most recent") {
        return Cow::Borrowed(lines.next_back().unwrap_or_default());
    }
    let is_trace = |line: &str| {
        let starts = [
            "goroutine ",
            "stack backtrace",
            "Stack trace:",
            "Backtrace:",
        ];
        starts.iter().any(|start| line.starts_with(start))
    };
    let lines = lines.take_while(|line| !is_trace(line));
    let lines: Vec<&str> = lines.filter(|line| !is_frame(line)).collect();
    Cow::Owned(lines.join(" "))
}

fn is_frame(line: &str) -> bool {
    let is_call = line.starts_with("at ") && line.contains(['(', ':', '/']);
    let is_numbered = line.starts_with('#') && line[1..].starts_with(|c: char| c.is_ascii_digit());
    let is_from = line.starts_with("from ") && line.contains(':');
    is_call || is_numbered || is_from || line.starts_with("File \"") || line.starts_with("... ")
}

/// A call that tries several addresses repeats its complaint for each.
fn without_repeats(pattern: &str) -> String {
    let mut clauses: Vec<&str> = pattern.split("; ").collect();
    clauses.dedup();
    // The first has a head that the others lack: `cannot connect to x: #: refused; #: refused`.
    if let [first, second] = clauses.as_slice()
        && first.ends_with(second)
    {
        clauses.pop();
    }
    clauses.join("; ")
}

struct Normalizer<'a> {
    text: &'a str,
    at: usize,
    bytes_max: usize,
    out: String,
    /// What stands between the end of `out` and the next word.
    gap: String,
    /// Where the last word begins in `out`.
    word_start: usize,
    /// Whether `out` ends with a placeholder.
    after_placeholder: bool,
    /// Objects of JSON that are open.
    depth: u32,
    /// Whether the value of the last key says what is wrong.
    is_telling: bool,
    /// The closing quote of the sentence that is being read.
    sentence_end: Option<usize>,
}

const HOLE: char = '#';

impl<'a> Normalizer<'a> {
    fn new(text: &'a str, bytes_max: usize) -> Self {
        Self {
            text,
            at: 0,
            bytes_max,
            out: String::new(),
            gap: String::new(),
            word_start: 0,
            after_placeholder: false,
            depth: 0,
            is_telling: false,
            sentence_end: None,
        }
    }

    fn run(&mut self) {
        while self.out.len() < self.bytes_max {
            let Some(c) = self.text[self.at..].chars().next() else {
                let end = self
                    .gap
                    .trim_end_matches([' ', '.', ':', ',', ';', '!', '?']);
                self.gap.truncate(end.len());
                return self.take_gap();
            };
            if self.sentence_end == Some(self.at) {
                self.sentence_end = None;
                self.at += c.len_utf8();
            } else if closing(c).is_some() {
                self.quote(c);
            } else if is_delimiter(c) {
                self.delimiter(c);
            } else {
                self.chunk();
            }
        }
    }

    fn delimiter(&mut self, c: char) {
        let rest = &self.text[self.at..];
        if let Some(end) = bracketed_address_end(rest) {
            self.placeholder();
            self.at += end;
            return;
        }
        self.at += c.len_utf8();
        // Some write JSON with spaces, others without.
        if !(self.in_json() && c.is_whitespace()) {
            self.push_gap(c);
        }
        if self.sentence_end.is_some() {
            return;
        }
        let next = rest[c.len_utf8()..].trim_start();
        match c {
            '{' if self.depth > 0 || next.starts_with(['"', '\'']) => self.depth += 1,
            '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn quote(&mut self, c: char) {
        let start = self.at + c.len_utf8();
        let Some(end) = self.closing_quote(c) else {
            self.at = start;
            return;
        };
        let content = self.text[start..end].trim_end_matches('\\');
        let after = end + self.text[end..].chars().next().map_or(0, char::len_utf8);
        let in_json = self.in_json();
        let is_key = in_json && self.text[after..].trim_start().starts_with(':');
        let is_sentence = match in_json {
            true => self.is_telling,
            false => is_sentence(content),
        };
        if is_key {
            self.is_telling = is_telling(content);
            self.parts(content);
        } else if is_sentence && self.sentence_end.is_none() {
            self.sentence_end = Some(end);
            self.at = start;
            return;
        } else if is_name(content) && self.is_identifier(content, after) {
            self.parts(content);
        } else {
            self.placeholder();
        }
        self.at = after;
    }

    /// Whether a quoted name is one of the program, and not a value: by the word before it, because
    /// it is all that an error says, or by its underscore. Values in JSON have keys that say so.
    fn is_identifier(&self, content: &str, after: usize) -> bool {
        let last = self.last_word();
        let is_all = after == self.text.len() && (self.out.is_empty() || is_error_type(last));
        is_all || is_before_name(last) || (content.contains('_') && !self.in_json())
    }

    /// Whether what comes next is a part of JSON, and not of a text within it.
    fn in_json(&self) -> bool {
        self.depth > 0 && self.sentence_end.is_none()
    }

    /// Where the quote that opens here is closed; `None` if it is an apostrophe, or is not closed
    /// within a line's length.
    fn closing_quote(&self, c: char) -> Option<usize> {
        let before = &self.text[..self.at];
        let mut before = before.chars().rev();
        let previous = before.next();
        // Python writes b'…' for bytes.
        let is_prefix = matches!(previous, Some('b' | 'u' | 'r'))
            && !before.next().is_some_and(char::is_alphanumeric);
        if previous.is_some_and(char::is_alphanumeric) && !is_prefix {
            return None;
        }
        let is_escaped = previous == Some('\\');
        let start = self.at + c.len_utf8();
        let rest = &self.text[start..];
        let mut previous = c;
        let mut chars = rest
            .char_indices()
            .take(limits::QUOTED_CHARS_MAX)
            .peekable();
        while let Some((index, next)) = chars.next() {
            let is_closing = closing(c).is_some_and(|closing| closing.contains(next));
            let is_level = (previous == '\\') == is_escaped;
            let is_followed = chars.peek().is_some_and(|(_, c)| c.is_alphanumeric());
            if is_closing && is_level && !(next == '\'' && is_followed) {
                return Some(start + index);
            }
            previous = if previous == '\\' && next == '\\' {
                ' '
            } else {
                next
            };
        }
        None
    }

    fn chunk(&mut self) {
        let rest = &self.text[self.at..];
        let mut end = chunk_end(rest);
        let is_address = rest[..end].contains("://");
        let has_query = rest[..end].contains('/') && rest[..end].contains('?');
        if is_address || has_query {
            let is_end = |c: char| c.is_whitespace() || closing(c).is_some() || "<>()|".contains(c);
            end = rest.find(is_end).unwrap_or(rest.len());
        }
        self.at += end;
        // A backslash before a quote belongs to it.
        let is_quoted = rest[end..].starts_with(|c| closing(c).is_some());
        let escapes: &[char] = if is_quoted { &['\\'] } else { &[] };
        let mut chunk = rest[..end].trim_end_matches(escapes);
        end = chunk.len();
        if self.in_json() && chunk.starts_with(':') {
            self.push_gap(':');
            chunk = &chunk[1..];
        }
        let start = end - chunk.len();
        chunk = chunk.trim_end_matches(['.', ':', ',', ';', '!', '?']);
        let tail = &rest[start + chunk.len()..end];
        if self.in_json() && !self.is_telling && !chunk.is_empty() {
            self.placeholder();
        } else if is_address || has_query {
            let path = chunk.split(['?', '#']).next().unwrap_or_default();
            self.address(path.trim_end_matches('/'));
        } else {
            self.token(chunk);
        }
        for c in tail.chars() {
            self.push_gap(c);
        }
    }

    fn address(&mut self, address: &str) {
        let Some((scheme, rest)) = address.split_once("://") else {
            return self.parts(address);
        };
        let host_end = rest.find('/').unwrap_or(rest.len());
        let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
        self.parts(scheme);
        self.gap.push_str("://");
        self.parts(&rest[host_start..]);
    }

    fn token(&mut self, token: &str) {
        if token.starts_with("HTTP/") {
            return self.word("HTTP");
        }
        if is_colon_hex(token) {
            return self.placeholder();
        }
        match token.rsplit_once('@') {
            Some((left, right)) if !left.is_empty() && !right.is_empty() => {
                // The version of a package, or the identity of an object in Java.
                let is_version = right.starts_with(|c: char| c.is_ascii_digit());
                if is_version || is_hex_id(right) {
                    self.parts(left);
                    self.push_gap('@');
                }
                self.placeholder();
            }
            _ => self.parts(token),
        }
    }

    /// Words and what joins them.
    fn parts(&mut self, mut rest: &str) {
        let mut after_hyphen = false;
        while let Some(c) = rest.chars().next() {
            let uuid = uuid_end(rest).filter(|end| !rest[*end..].starts_with(is_word));
            if let Some(end) = uuid {
                self.placeholder();
                rest = &rest[end..];
            } else if is_word(c) {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                self.part(&rest[..end], after_hyphen);
                rest = &rest[end..];
            } else {
                after_hyphen = c == '-';
                self.push_gap(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }

    fn part(&mut self, part: &str, after_hyphen: bool) {
        if (after_hyphen && is_pod_suffix(part)) || is_hex_id(part) {
            return self.placeholder();
        }
        let Some(digit) = part.find(char::is_numeric) else {
            return self.word(part);
        };
        let (letters, number) = part.split_at(digit);
        if is_error_type(part) {
            self.word(part);
        } else if !number.chars().all(char::is_numeric) {
            self.placeholder();
        } else if letters.is_empty() && number.len() <= 3 && is_before_status(self.last_word()) {
            self.word(number);
        } else {
            if !letters.is_empty() {
                self.word(letters);
            }
            self.placeholder();
        }
    }

    fn word(&mut self, word: &str) {
        let is_beside = self.after_placeholder && matches!(self.gap.as_str(), "" | " " | "-");
        if is_beside && is_unit(word) {
            self.gap.clear();
            return;
        }
        if self.after_placeholder && is_date(word) {
            return self.placeholder();
        }
        let word = if is_beside { singular(word) } else { word };
        self.take_gap();
        self.word_start = self.out.len();
        self.out.push_str(word);
        self.after_placeholder = false;
    }

    fn placeholder(&mut self) {
        let is_joined = self.gap.chars().all(|c| " ,-:./+;~".contains(c));
        if is_joined && self.after_placeholder {
            self.gap.clear();
            return;
        }
        if is_joined && is_date(self.last_word()) {
            self.out.truncate(self.word_start);
            self.gap.clear();
        }
        // A sign belongs to the number.
        let unsigned = self.gap.trim_end_matches(['-', '+']);
        let is_first = self.out.is_empty() && unsigned.is_empty();
        if is_first || unsigned.ends_with([' ', '(', '[', '=', ',', ':']) {
            self.gap.truncate(unsigned.len());
        }
        self.take_gap();
        self.out.push(HOLE);
        self.word_start = self.out.len();
        self.after_placeholder = true;
    }

    fn last_word(&self) -> &str {
        &self.out[self.word_start..]
    }

    fn push_gap(&mut self, c: char) {
        if c.is_whitespace() || c.is_control() {
            if !self.gap.ends_with(' ') {
                self.gap.push(' ');
            }
        } else if !(c == '%' && self.after_placeholder && self.gap.is_empty()) {
            self.gap.push(c);
        }
    }

    fn take_gap(&mut self) {
        if self.out.is_empty() {
            self.out.push_str(self.gap.trim_start());
        } else {
            self.out.push_str(&self.gap);
        }
        self.gap.clear();
    }
}

/// The closing quote for this opening quote.
fn closing(c: char) -> Option<&'static str> {
    match c {
        '"' => Some("\""),
        '\'' => Some("'"),
        '`' => Some("`'"),
        '“' => Some("”"),
        '„' => Some("“”"),
        '‘' => Some("’"),
        '«' => Some("»"),
        _ => None,
    }
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "()[]{}<>,;|=".contains(c)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’')
}

/// The end of an IPv6 address in brackets.
fn bracketed_address_end(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('[')?;
    let is_other = |c: char| !c.is_ascii_hexdigit() && !":.%".contains(c);
    let end = inner
        .find(is_other)
        .filter(|end| is_colon_hex(&inner[..*end]))?;
    inner[end..].starts_with(']').then_some(end + 2)
}

/// Where a token ends that begins here. An apostrophe within a word does not end it.
fn chunk_end(rest: &str) -> usize {
    let mut previous = ' ';
    let mut chars = rest.char_indices().peekable();
    while let Some((index, c)) = chars.next() {
        let is_followed = chars.peek().is_some_and(|(_, c)| c.is_alphanumeric());
        let is_apostrophe = c == '\'' && previous.is_alphanumeric() && is_followed;
        if is_delimiter(c) || (closing(c).is_some() && !is_apostrophe) {
            return index;
        }
        previous = c;
    }
    rest.len()
}

/// Three words, or two without capitals and digits, which no name of a person or thing has.
fn is_sentence(text: &str) -> bool {
    let is_worded = |word: &&str| word.contains(char::is_alphabetic);
    let is_lower = |c: char| c.is_lowercase() || !c.is_alphanumeric();
    match text.split_whitespace().filter(is_worded).take(3).count() {
        3 => true,
        2 => text.chars().all(is_lower),
        _ => false,
    }
}

/// Looks like an identifier of a program: without digits.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_alphabetic() || "_.:$-\\".contains(c))
}

/// A time of day, an IPv6 address or one of hardware.
fn is_colon_hex(token: &str) -> bool {
    token.bytes().filter(|byte| *byte == b':').count() >= 2
        && token
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || b":.%".contains(&byte))
}

/// Letters and digits of one hexadecimal number; seven are the shortest that versions of files
/// have. A shorter one may be a name with a number, and so may letters alone.
fn is_hex_id(part: &str) -> bool {
    let letters = if part.contains(|c: char| c.is_ascii_digit()) {
        7
    } else {
        8
    };
    let is_one_case = !part.contains(char::is_lowercase) || !part.contains(char::is_uppercase);
    part.len() >= letters && is_one_case && part.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What Kubernetes appends to names: it leaves out vowels, so that no words come of it.
fn is_pod_suffix(part: &str) -> bool {
    let has_length = matches!(part.len(), 5 | 8..=10);
    has_length
        && part
            .bytes()
            .all(|byte| b"bcdfghjklmnpqrstvwxz0123456789".contains(&byte))
}

fn uuid_end(text: &str) -> Option<usize> {
    const LENGTH: usize = 36; // not a limit: follows from the format
    let head = text.as_bytes().get(..LENGTH)?;
    let is_uuid = head.iter().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    is_uuid.then_some(LENGTH)
}
