//! The secrets of one request: put into its headers, and taken out of what is recorded.

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
        failure: Failure::new(FailureClass::SECRET, message),
        output: None,
    }
}

fn redact_text(text: &mut String, value: &str, hidden: &str) {
    let mut from = 0;
    while let Some((start, end)) = find(text, from, value) {
        text.replace_range(start..end, hidden);
        from = start + hidden.len();
    }
}

/// The end of a body may be the beginning of a secret.
fn redact_end(text: &mut String, value: &str, hidden: &str) {
    let is_cut = |start: &usize| {
        // Shorter parts are in many texts.
        let mut parts =
            ends_by_part(text, *start, value.as_bytes()).skip(SECRET_PART_BYTES_MIN - 1);
        parts.any(|ends| ends.contains(&text.len()))
    };
    let start = text.char_indices().map(|(start, _)| start).find(is_cut);
    if let Some(start) = start {
        text.truncate(start);
        text.push_str(hidden);
    }
}

/// Where a value stands in a text as it is, or as a program writes it into JSON, HTML or a URL.
fn find(text: &str, from: usize, value: &str) -> Option<(usize, usize)> {
    let starts = text.get(from..)?.char_indices();
    starts.map(|(start, _)| from + start).find_map(|start| {
        let ends = ends_by_part(text, start, value.as_bytes()).nth(value.len() - 1)?;
        ends.into_iter().max().map(|end| (start, end))
    })
}

/// Where a part of a value that begins here may end, for each part that is there, shorter ones
/// first: a byte can be read in more than one way.
fn ends_by_part<'t>(
    text: &'t str,
    start: usize,
    value: &'t [u8],
) -> impl Iterator<Item = Vec<usize>> + 't {
    let begin = vec![start];
    value.iter().scan(begin, move |ends, byte| {
        let after = |end: &usize| {
            let end = *end;
            lengths(&text.as_bytes()[end..], *byte).map(move |length| end + length)
        };
        let mut next: Vec<usize> = ends.iter().flat_map(after).collect();
        next.sort_unstable();
        next.dedup();
        ends.clone_from(&next);
        (!next.is_empty()).then_some(next)
    })
}

/// How long a byte at the beginning of a text is written, in each way in which it is there.
fn lengths(text: &[u8], byte: u8) -> impl Iterator<Item = usize> {
    let is = |index: usize, expected: u8| text.get(index) == Some(&expected);
    let hex = |from: usize| {
        let digits = text.get(from..from + 2)?;
        u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let plain = is(0, byte) || (byte == b' ' && is(0, b'+'));
    let escaped = is(0, b'\\') && is(1, byte);
    let unicode = text.starts_with(b"\\u00") && hex(4) == Some(byte);
    let percent = is(0, b'%') && hex(1) == Some(byte);
    [(plain, 1), (escaped, 2), (unicode, 6), (percent, 3)]
        .into_iter()
        .filter_map(|(is_there, length)| is_there.then_some(length))
        .chain(entity_length(text, byte))
}

/// The same for a character of HTML: `&amp;`, `&#39;` or `&#x27;`.
fn entity_length(text: &[u8], byte: u8) -> Option<usize> {
    let body = text.strip_prefix(b"&")?;
    let length = body
        .iter()
        .take(ENTITY_BYTES_MAX)
        .position(|it| *it == b';')?;
    let name = std::str::from_utf8(&body[..length]).ok()?;
    let number = match name.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u8::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        },
        None => *NAMED_ENTITIES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, byte)| byte)?,
    };
    (number == byte).then_some(length + 2)
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
