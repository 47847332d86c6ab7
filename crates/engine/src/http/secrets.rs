//! The secrets of one request: put into its headers, and taken out of what is recorded.

use std::ops::Range;

use http::{HeaderMap, HeaderValue};
use steadfast_core::{Failure, FailureClass, Outcome, SecretName, SecretReference, SecretValue};

use super::{
    request::{SecretHeader, check_header_bytes, header_bytes},
    response::RecordedResponse,
};
use crate::{
    attempt::context::AttemptContext,
    limits::http::{LOOKUP_SNOOZE, SECRET_PART_BYTES_MIN},
};

/// Characters of HTML that have names.
const NAMED_ENTITIES: [(&str, u8); 5] = [
    ("amp", b'&'),
    ("lt", b'<'),
    ("gt", b'>'),
    ("quot", b'"'),
    ("apos", b'\''),
];
/// The longest of them, or a number: `#x0027`.
const ENTITY_BYTES_MAX: usize = 8; // not a limit: longer ones are not written

/// The secrets that a request carries, which its target may send back.
#[derive(Default)]
pub(super) struct RevealedSecrets(Vec<(SecretName, SecretValue)>);

impl RevealedSecrets {
    /// Looks up the secrets of these headers as they are at this moment, and adds the headers. The
    /// outcome if that cannot be done: nothing was sent, and the policy decides about a retry.
    pub async fn add_to(
        headers: &mut HeaderMap,
        references: &[SecretHeader],
        attempt: &AttemptContext,
    ) -> Result<Self, Outcome> {
        let mut revealed = Vec::with_capacity(references.len());
        for (header, SecretReference { secret, prefix }) in references {
            let tenant = &attempt.job().tenant;
            let found = attempt.client().reveal_secret(tenant, secret).await;
            let found = found.map_err(|error| match error.is_transient() {
                true => Outcome::Snoozed(LOOKUP_SNOOZE),
                false => refused(format!("secret {secret} cannot be read: {error}")),
            })?;
            let value = found.ok_or_else(|| {
                refused(format!(
                    "secret {secret} does not exist in tenant {tenant}: set it with PUT /secrets/{secret}"
                ))
            })?;
            let text = format!("{prefix}{}", value.reveal());
            let mut text = HeaderValue::try_from(text)
                .map_err(|_| refused(format!("secret {secret} does not fit in a header")))?;
            text.set_sensitive(true);
            headers.insert(header.clone(), text);
            revealed.push((secret.clone(), value));
        }
        check_header_bytes(headers.len(), header_bytes(headers))
            .map_err(|error| refused(error.to_string()))?;
        Ok(Self(revealed))
    }

    /// The same response with the names of the secrets in place of their values.
    pub fn redact(&self, mut response: RecordedResponse) -> RecordedResponse {
        for (name, value) in &self.0 {
            let hidden = format!("(secret {name})");
            let is_cut = response.truncated;
            for text in response.texts() {
                redact_text(text, value.reveal(), &hidden);
            }
            if is_cut {
                redact_end(&mut response.body, value.reveal(), &hidden);
            }
        }
        response
    }
}

fn refused(message: String) -> Outcome {
    Outcome::Failure {
        failure: Failure::new(FailureClass::SECRET, message).into_unsent(),
        output: None,
    }
}

fn redact_text(text: &mut String, value: &str, hidden: &str) {
    for notation in NOTATIONS {
        let read = ReadText::new(text, notation);
        for range in read.find_all(value.as_bytes()).into_iter().rev() {
            text.replace_range(range, hidden);
        }
    }
}

/// The end of a body may be the beginning of a secret.
fn redact_end(text: &mut String, value: &str, hidden: &str) {
    let parts = || (SECRET_PART_BYTES_MIN..value.len()).rev();
    for notation in NOTATIONS {
        let read = ReadText::new(text, notation);
        let cut = parts().find(|part| read.bytes.ends_with(&value.as_bytes()[..*part]));
        if let Some(part) = cut {
            text.truncate(read.starts[read.bytes.len() - part]);
            text.push_str(hidden);
            return;
        }
    }
}

/// How a character may be written in a text: which one is at its beginning, and how long that is.
/// `None` if it stands for itself.
type Notation = fn(&[u8]) -> Option<(u8, usize)>;

/// As it is, and as programs write it into JSON, a URL, a form or HTML.
const NOTATIONS: [Notation; 5] = [|_| None, of_json, of_url, of_form, of_html];

/// A text in one notation, with the place of each byte in the original.
struct ReadText {
    bytes: Vec<u8>,
    /// One more than the bytes: the last is the end.
    starts: Vec<usize>,
}

impl ReadText {
    fn new(text: &str, notation: Notation) -> Self {
        let mut read = Self {
            bytes: Vec::with_capacity(text.len()),
            starts: Vec::with_capacity(text.len() + 1),
        };
        let (mut rest, mut start) = (text.as_bytes(), 0);
        while let Some(first) = rest.first() {
            let (byte, length) = notation(rest).unwrap_or((*first, 1));
            read.bytes.push(byte);
            read.starts.push(start);
            start += length;
            rest = &rest[length..];
        }
        read.starts.push(start);
        read
    }

    /// Where a value is in the original, from the beginning to the end.
    fn find_all(&self, value: &[u8]) -> Vec<Range<usize>> {
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(rest) = self.bytes.get(from..)
            && let Some(at) = rest.windows(value.len()).position(|part| part == value)
        {
            let (first, end) = (from + at, from + at + value.len());
            found.push(self.starts[first]..self.starts[end]);
            from = end;
        }
        found
    }
}

/// `\/`, `\"` or `\u002f`.
fn of_json(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', b'u', b'0', b'0', high, low, ..] => Some((hex(*high, *low)?, 6)),
        [b'\\', escaped @ (b'"' | b'\\' | b'/'), ..] => Some((*escaped, 2)),
        _ => None,
    }
}

/// `%2F`.
fn of_url(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'%', high, low, ..] => Some((hex(*high, *low)?, 3)),
        _ => None,
    }
}

/// The same, with `+` for a space.
fn of_form(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'+', ..] => Some((b' ', 1)),
        _ => of_url(text),
    }
}

/// `&amp;`, `&#39;` or `&#x27;`.
fn of_html(text: &[u8]) -> Option<(u8, usize)> {
    let body = text.strip_prefix(b"&")?;
    let length = body
        .iter()
        .take(ENTITY_BYTES_MAX)
        .position(|it| *it == b';')?;
    let name = std::str::from_utf8(&body[..length]).ok()?;
    let byte = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u8::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => NAMED_ENTITIES.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((byte, length + 2))
}

fn hex(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_hidden_wherever_a_text_has_it() {
        let value = r#"pass"word\1"#;
        for (text, expected) in [
            (
                r#"you sent pass"word\1, pass"word\1"#,
                "you sent (hidden), (hidden)",
            ),
            (r#"{"auth": "pass\"word\\1"}"#, r#"{"auth": "(hidden)"}"#),
            (
                r#"{"auth": "pass\u0022word\u005c1"}"#,
                r#"{"auth": "(hidden)"}"#,
            ),
            (
                "?auth=pass%22word%5C1&a=pass%22word%5c1",
                "?auth=(hidden)&a=(hidden)",
            ),
            (
                "<b>pass&quot;word\\1</b> pass&#34;word&#x5c;1",
                "<b>(hidden)</b> (hidden)",
            ),
            ("ä pass%22word", "ä pass%22word"),
            ("nothing", "nothing"),
        ] {
            let mut text = text.to_owned();
            redact_text(&mut text, value, "(hidden)");
            assert_eq!(text, expected);
        }
    }

    /// Both are a tenant's own: neither may keep a node busy.
    #[test]
    fn a_long_secret_in_a_long_text_is_found_in_one_pass_per_notation() {
        let value = format!("{}b", "a".repeat(8 * 1024 - 1));
        let mut text = "a".repeat(16 * 1024);
        redact_text(&mut text, &value, "(hidden)");
        assert_eq!(text.len(), 16 * 1024);
        redact_end(&mut text, &value, "(hidden)");
        assert_eq!(text.len(), 8 * 1024 + 1 + "(hidden)".len());
        let mut short = "s%65cret1".repeat(1_000);
        redact_text(&mut short, "secret1", "(hidden)");
        assert_eq!(short, "(hidden)".repeat(1_000));
        let mut letters = "ä%C3%A4\\u00e4".to_owned();
        redact_text(&mut letters, "ää", "(hidden)");
        assert_eq!(letters, "(hidden)\\u00e4");
    }

    #[test]
    fn a_secret_is_hidden_where_the_end_of_a_body_cuts_it() {
        for (text, expected) in [
            ("you sent sk_live_12", "you sent (hidden)"),
            ("you sent sk_l", "you sent (hidden)"),
            ("you sent sk_%6cive%5F", "you sent (hidden)"),
            ("you sent sk", "you sent sk"),
            ("you sent sk_dead", "you sent sk_dead"),
        ] {
            let mut text = text.to_owned();
            redact_end(&mut text, "sk_live_1234", "(hidden)");
            assert_eq!(text, expected);
        }
    }
}
