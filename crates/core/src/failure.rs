//! Why an attempt went wrong, in words that rules and people can use.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{duration, limits};

/// The recorded reason of a bad outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub class: FailureClass,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How long the other side asked us to stay away.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
}

impl Failure {
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: shortened(message.into(), limits::MESSAGE_BYTES_MAX),
            http_status: None,
            retry_after: None,
        }
    }

    /// An answer of another system that was not a success.
    pub fn http(status: u16, message: impl Into<String>) -> Self {
        Self {
            http_status: Some(status),
            ..Self::new(FailureClass::of_http_status(status), message)
        }
    }

    /// What is asked for beyond the limit is not kept.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay.min(limits::RETRY_AFTER_MAX));
        self
    }

    /// Permanent by nature: the same try would end the same way.
    pub fn is_permanent(&self) -> bool {
        self.class.is_permanent() || self.http_status.is_some_and(http_is_permanent)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.http_status {
            Some(status) => write!(f, "{} {status}: {}", self.class, self.message),
            None => write!(f, "{}: {}", self.class, self.message),
        }
    }
}

/// Any error is a failure of class `error`, with the chain of its causes as the message.
/// (`Failure` itself is not an `Error`, which is what makes `?` work in handlers.)
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self::new(FailureClass::ERROR, message)
    }
}

/// A class of failures, by its stable name. Names we do not know are kept and are retryable.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct FailureClass(Cow<'static, str>);

macro_rules! classes {
    ($($constant:ident = $name:literal),+ $(,)?) => {
        impl FailureClass {
            $(pub const $constant: Self = Self(Cow::Borrowed($name));)+

            /// The classes the product itself gives.
            pub const KNOWN: &[Self] = &[$(Self::$constant),+];
        }
    };
}

classes! {
    TIMEOUT = "timeout",
    CONNECTION = "connection",
    DNS = "dns",
    TLS = "tls",
    PANIC = "panic",
    LOST = "lost",
    ERROR = "error",
    HTTP = "http",
    VALIDATION = "validation",
    NOT_FOUND = "not_found",
    UNAUTHORIZED = "unauthorized",
    FORBIDDEN = "forbidden",
    SYNTAX = "syntax",
    REDIRECT = "redirect",
    BLOCKED = "blocked",
    PAYLOAD = "payload",
}

const PERMANENT: [FailureClass; 8] = [
    FailureClass::VALIDATION,
    FailureClass::NOT_FOUND,
    FailureClass::UNAUTHORIZED,
    FailureClass::FORBIDDEN,
    FailureClass::SYNTAX,
    FailureClass::REDIRECT,
    FailureClass::BLOCKED,
    FailureClass::PAYLOAD,
];

/// Spellings that other systems use for the same classes.
const SPELLINGS: [(&str, FailureClass); 5] = [
    ("ValidationError", FailureClass::VALIDATION),
    ("NotFoundError", FailureClass::NOT_FOUND),
    ("UnauthorizedError", FailureClass::UNAUTHORIZED),
    ("ForbiddenError", FailureClass::FORBIDDEN),
    ("SyntaxError", FailureClass::SYNTAX),
];

impl FailureClass {
    /// The class of this name, whoever spelled it. An empty name means `error`.
    pub fn named(name: &str) -> Self {
        let known = Self::KNOWN.iter().find(|class| class.as_str() == name);
        let spelled = SPELLINGS.iter().find(|(spelling, _)| *spelling == name);
        match (known, spelled) {
            (Some(class), _) | (None, Some((_, class))) => class.clone(),
            (None, None) if name.trim().is_empty() => Self::ERROR,
            (None, None) => Self(Cow::Owned(shortened(
                name.to_owned(),
                limits::CLASS_BYTES_MAX,
            ))),
        }
    }

    fn of_http_status(status: u16) -> Self {
        match status {
            300..400 => Self::REDIRECT,
            400 | 422 => Self::VALIDATION,
            401 => Self::UNAUTHORIZED,
            403 => Self::FORBIDDEN,
            404 | 410 => Self::NOT_FOUND,
            408 => Self::TIMEOUT,
            _ => Self::HTTP,
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_permanent(&self) -> bool {
        PERMANENT.contains(self)
    }
}

fn http_is_permanent(status: u16) -> bool {
    (300..500).contains(&status) && !matches!(status, 408 | 425 | 429)
}

/// Cut to the limit at a character, with a mark that it was.
pub(crate) fn shortened(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max - '…'.len_utf8()));
        text.push('…');
    }
    text
}

impl From<String> for FailureClass {
    fn from(name: String) -> Self {
        Self::named(&name)
    }
}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_permanent_or_retryable_as_specified() {
        let permanent: Vec<&str> = FailureClass::KNOWN
            .iter()
            .filter(|class| class.is_permanent())
            .map(FailureClass::as_str)
            .collect();
        assert_eq!(
            permanent,
            [
                "validation",
                "not_found",
                "unauthorized",
                "forbidden",
                "syntax",
                "redirect",
                "blocked",
                "payload"
            ]
        );
        assert!(!FailureClass::named("SmtpHiccup").is_permanent());
        assert_eq!(
            FailureClass::named("ForbiddenError"),
            FailureClass::FORBIDDEN
        );
        assert_eq!(FailureClass::named(" "), FailureClass::ERROR);
    }

    #[test]
    fn http_statuses_are_retryable_only_where_waiting_can_help() {
        let retryable: Vec<u16> = (300..600)
            .filter(|status| !Failure::http(*status, "").is_permanent())
            .collect();
        let mut expected = vec![408, 425, 429];
        expected.extend(500..600);
        assert_eq!(retryable, expected);
    }

    #[test]
    fn long_messages_are_cut_at_a_character() {
        let failure = Failure::new(FailureClass::ERROR, "ß".repeat(5_000));
        assert!(failure.message.len() <= limits::MESSAGE_BYTES_MAX);
        assert!(failure.message.ends_with('…'));
    }

    #[test]
    fn an_error_brings_its_causes_along() {
        let inner = "x".parse::<u8>().unwrap_err();
        let outer = std::io::Error::other(inner);
        let failure = Failure::from(outer);
        assert_eq!(failure.class, FailureClass::ERROR);
        assert!(failure.message.contains("invalid digit"), "{failure}");
    }
}
