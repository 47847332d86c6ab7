//! Why an attempt failed, in terms that rules and people can use.

mod fingerprint;
mod normalize;
mod vocabulary;

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    flow::{LimitHeader, RequestedWait},
    limits,
    values::{cut_middle, duration, truncate},
};

pub use fingerprint::FailureFingerprint;

/// Why an attempt failed.
///
/// ```
/// use steadfast_core::{Failure, FailureClass};
///
/// let failure = Failure::http(503, "upstream connect error");
/// assert_eq!(failure.class, FailureClass::HTTP);
/// assert!(!failure.is_permanent());
/// assert!(Failure::http(404, "no such order").is_permanent());
/// ```
// Exhaustive on purpose: callers build it with `..Failure::new(…)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The kind of failure, by which rules match and permanence is decided.
    pub class: FailureClass,
    /// The message; truncated to [`limits::MESSAGE_BYTES_MAX`] when it is recorded.
    pub message: String,
    /// The status of the HTTP response, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// How long the target asked callers to wait (Retry-After); the retry comes no earlier. At most
    /// [`limits::RETRY_AFTER_MAX`] counts.
    #[serde(
        default,
        with = "duration::text_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after: Option<Duration>,
    /// The header that said so, if it was not `Retry-After`.
    #[serde(default, skip_serializing_if = "LimitHeader::is_retry_after")]
    pub retry_after_header: LimitHeader,
    /// The stack trace, if there is one. Only the record of the attempt keeps it, the middle left
    /// out if it is longer than [`limits::TRACE_BYTES_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The worker that reported it says that no retry can cure it, whatever its class.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub permanent: bool,
    /// It is certain that the request was not sent, or the work not begun: a repetition does nothing
    /// twice, and there is nothing to ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsent: bool,
    /// Set while it is open whether the attempt took effect: how often that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<u32>,
    /// The fingerprint, shared with failures of the same cause; set when it is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<FailureFingerprint>,
}

impl Failure {
    /// A failure without HTTP status and Retry-After. A message that is too long is cut.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: truncate(message.into(), limits::MESSAGE_BYTES_MAX),
            http_status: None,
            retry_after: None,
            retry_after_header: LimitHeader::RETRY_AFTER,
            trace: None,
            permanent: false,
            unsent: false,
            questions: None,
            fingerprint: None,
        }
    }

    /// An HTTP response that was not a success. Its status decides the class.
    pub fn http(status: u16, message: impl Into<String>) -> Self {
        Self {
            http_status: Some(status),
            ..Self::new(FailureClass::of_http_status(status), message)
        }
    }

    /// Sets how long the target asked callers to wait, cut to [`limits::RETRY_AFTER_MAX`].
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.retry_after = Some(delay.min(limits::RETRY_AFTER_MAX));
        self
    }

    /// Sets the same, and the header that said so.
    #[must_use]
    pub fn with_requested_wait(mut self, wait: RequestedWait) -> Self {
        self.retry_after_header = wait.header;
        self.with_retry_after(wait.delay)
    }

    /// Sets the stack trace; of one that is too long the middle is left out.
    #[must_use]
    pub fn with_trace(mut self, trace: impl Into<String>) -> Self {
        self.trace = Some(cut_middle(trace.into(), limits::TRACE_BYTES_MAX));
        self
    }

    /// The same failure, of which it is known that no retry can cure it.
    #[must_use]
    pub fn into_permanent(mut self) -> Self {
        self.permanent = true;
        self
    }

    /// The same failure, of which it is known that nothing was sent or begun.
    #[must_use]
    pub fn into_unsent(mut self) -> Self {
        self.unsent = true;
        self
    }

    /// The same failure after `asked` questions whether the attempt took effect; `None` if that is
    /// not open.
    #[must_use]
    pub(crate) fn with_questions(mut self, asked: Option<u32>) -> Self {
        self.questions = asked;
        self
    }

    /// The same failure as the job itself keeps it.
    pub(crate) fn without_trace(&self) -> Self {
        Self {
            class: self.class.clone(),
            message: self.message.clone(),
            http_status: self.http_status,
            retry_after: self.retry_after,
            retry_after_header: self.retry_after_header,
            trace: None,
            permanent: self.permanent,
            unsent: self.unsent,
            questions: self.questions,
            fingerprint: self.fingerprint,
        }
    }

    /// Whether another try would end the same way. A rule of the policy may retry it all the same.
    pub fn is_permanent(&self) -> bool {
        self.permanent
            || self.class.is_permanent()
            || self.http_status.is_some_and(http_is_permanent)
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

/// Any error becomes a failure of class `error`, with the chain of its causes as the message.
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

/// A class of failures, by its stable name. Classes of handlers' own choice are retryable.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String")]
pub struct FailureClass(Cow<'static, str>);

macro_rules! classes {
    ($($(#[$doc:meta])+ $constant:ident = $name:literal),+ $(,)?) => {
        impl FailureClass {
            $($(#[$doc])+ pub const $constant: Self = Self(Cow::Borrowed($name));)+

            /// The classes that the product itself assigns.
            pub const KNOWN: &[Self] = &[$(Self::$constant),+];
        }
    };
}

classes! {
    /// The attempt took longer than its timeout, or the target answered 408.
    TIMEOUT = "timeout",
    /// The connection was refused, or broke off.
    CONNECTION = "connection",
    /// The target's host name could not be resolved.
    DNS = "dns",
    /// No encrypted connection could be established.
    TLS = "tls",
    /// The handler panicked.
    PANIC = "panic",
    /// The lease ran out: the worker may have died.
    LOST = "lost",
    /// An error of the handler, without a class of its own.
    ERROR = "error",
    /// The target answered with a status that no other class covers, such as 429 or 503.
    HTTP = "http",
    /// The input is wrong (400, 422). Permanent.
    VALIDATION = "validation",
    /// The thing that the job is about does not exist (404, 410). Permanent.
    NOT_FOUND = "not_found",
    /// The credentials are missing or wrong (401). Permanent.
    UNAUTHORIZED = "unauthorized",
    /// The credentials are not enough (403). Permanent.
    FORBIDDEN = "forbidden",
    /// The input cannot be parsed. Permanent.
    SYNTAX = "syntax",
    /// The target redirects elsewhere, which is not followed (3xx). Permanent.
    REDIRECT = "redirect",
    /// The address is one that the node does not call. Permanent.
    BLOCKED = "blocked",
    /// The payload is not what the handler expects. Permanent.
    PAYLOAD = "payload",
    /// A secret that a header names does not exist, or cannot be read; nothing was sent.
    SECRET = "secret",
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
    /// The class of this name; spellings such as `ValidationError` stand for the class they mean. An
    /// empty name means `error`, and a long one is cut to [`limits::CLASS_BYTES_MAX`].
    pub fn named(name: &str) -> Self {
        let known = Self::KNOWN.iter().find(|class| class.as_str() == name);
        let spelled = SPELLINGS.iter().find(|(spelling, _)| *spelling == name);
        match (known, spelled) {
            (Some(class), _) | (None, Some((_, class))) => class.clone(),
            (None, None) if name.trim().is_empty() => Self::ERROR,
            (None, None) => Self(Cow::Owned(truncate(
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

    /// The name of the class.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether another try would end the same way.
    pub fn is_permanent(&self) -> bool {
        PERMANENT.contains(self)
    }
}

fn http_is_permanent(status: u16) -> bool {
    (300..500).contains(&status) && !matches!(status, 408 | 425 | 429)
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
    fn a_failure_that_is_called_permanent_keeps_its_class() {
        let failure = Failure::new(FailureClass::named("CardDeclined"), "no");
        assert!(!failure.is_permanent());
        let text = serde_json::to_string(&failure).unwrap();
        assert!(!text.contains("permanent"), "{text}");
        let failure = failure.into_permanent();
        assert!(failure.is_permanent() && failure.without_trace().is_permanent());
        assert_eq!(failure.class.as_str(), "CardDeclined");
        let text = serde_json::to_string(&failure).unwrap();
        let read: Failure = serde_json::from_str(&text).unwrap();
        assert_eq!(read, failure);
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
    fn a_long_trace_keeps_its_ends() {
        let trace = format!("first{}last", "ß".repeat(limits::TRACE_BYTES_MAX));
        let failure = Failure::new(FailureClass::ERROR, "no").with_trace(trace);
        let trace = failure.trace.unwrap();
        assert!(trace.len() <= limits::TRACE_BYTES_MAX);
        assert!(trace.starts_with("firstß") && trace.ends_with("ßlast"));
        assert!(trace.contains("\n… middle omitted …\n"));
        let short = Failure::new(FailureClass::ERROR, "no").with_trace("a\nb");
        assert_eq!(short.trace.as_deref(), Some("a\nb"));
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
