//! The recorded part of a response, and the outcome that follows from it.

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderMap, StatusCode, header, response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Serialize;
use steadfast_core::{
    Failure, Outcome, Payload, Timestamp, explain::shorten, limits::OUTPUT_BYTES_MAX,
};

use crate::limits::http::{
    BODY_KEPT_MAX, BODY_READ_MAX, HEADERS_KEPT_BYTES_MAX, HEADERS_KEPT_MAX, QUOTE_CHARS_MAX,
};

/// The part of a response that an attempt's record keeps.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordedResponse {
    /// The status code.
    pub status: StatusCode,
    /// By lower-case name, repeated ones joined; secrets are hidden, and what exceeds the limits
    /// is left out.
    pub headers: BTreeMap<String, String>,
    /// The beginning of the body, as text.
    pub body: String,
    /// Whether the body went on.
    pub truncated: bool,
    /// How long each phase took.
    pub timings: Timings,
    retry_after: Option<String>,
    location: Option<String>,
}

/// How long each phase took. Over a connection that was kept from before, only the last two are set;
/// of a call that failed, those up to the one in which it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Looking up the name.
    pub dns: Option<Duration>,
    /// Opening the TCP connection.
    pub connect: Option<Duration>,
    /// The TLS handshake.
    pub tls: Option<Duration>,
    /// From the request to the head of the response.
    pub first_byte: Option<Duration>,
    /// Reading the body, or the part of it that was read.
    pub body: Option<Duration>,
}

impl Timings {
    /// The record of a call that got no response; `None` if it failed before anything was done.
    pub(super) fn output(self) -> Option<Payload> {
        #[derive(Serialize)]
        struct NoResponseRecord {
            timings: TimingsRecord,
        }
        if self == Self::default() {
            return None;
        }
        let timings = TimingsRecord::from(self);
        Payload::encode(&NoResponseRecord { timings }).ok()
    }
}

impl RecordedResponse {
    pub(super) fn new(head: &response::Parts, excerpt: &Excerpt, timings: Timings) -> Self {
        let text = |name| {
            let value = head.headers.get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        Self {
            status: head.status,
            headers: kept_headers(&head.headers),
            body: excerpt.text(),
            truncated: excerpt.truncated,
            timings,
            retry_after: text(header::RETRY_AFTER),
            location: text(header::LOCATION),
        }
    }

    /// The outcome of the attempt: 2xx is success, and everything else is a failure.
    pub fn outcome(self, now: Timestamp) -> Outcome {
        let output = self.output();
        if self.status.is_success() {
            return Outcome::Success { output };
        }
        let mut failure = Failure::http(self.status.as_u16(), self.message());
        if let Some(delay) = self.retry_after(now) {
            failure = failure.with_retry_after(delay);
        }
        Outcome::Failure { failure, output }
    }

    /// The delay of a `Retry-After` header. It only counts on 429 and 503.
    pub fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let statuses = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
        ];
        if !statuses.contains(&self.status) {
            return None;
        }
        parse_retry_after(self.retry_after.as_deref()?, now)
    }

    /// Everything that the target has written.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let heads = [&mut self.retry_after, &mut self.location];
        let heads = heads.into_iter().flatten();
        let headers = self.headers.values_mut();
        heads.chain(headers).chain([&mut self.body])
    }

    fn message(&self) -> String {
        let status = self.status;
        let redirect = self.location.as_deref().filter(|_| status.is_redirection());
        if let Some(target) = redirect {
            let target = shorten(target, QUOTE_CHARS_MAX);
            return format!(
                "answered {status} with a redirect to {target}; redirects are not followed"
            );
        }
        match self.quote() {
            Some(quote) => format!("answered {status}: {quote}"),
            None => format!("answered {status}"),
        }
    }

    /// The beginning of the body on one line, if people can read it.
    fn quote(&self) -> Option<String> {
        let kind = self.headers.get("content-type").map_or("", String::as_str);
        let readable = kind.is_empty() || kind.starts_with("text/plain") || kind.contains("json");
        let line = self.body.split_whitespace().collect::<Vec<_>>().join(" ");
        let strange = |c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER;
        if !readable || line.is_empty() || line.contains(strange) {
            return None;
        }
        Some(shorten(&line, QUOTE_CHARS_MAX))
    }

    /// The record of this response. Escapes can make six bytes of one, so the body is cut until
    /// all of it fits.
    fn output(&self) -> Option<Payload> {
        let mut body = self.body.as_str();
        loop {
            let record = Record {
                status: self.status.as_u16(),
                headers: &self.headers,
                body,
                truncated: self.truncated || body.len() < self.body.len(),
                timings: TimingsRecord::from(self.timings),
            };
            let output = Payload::encode(&record).ok()?;
            if output.as_str().len() <= OUTPUT_BYTES_MAX {
                return Some(output);
            }
            if body.is_empty() {
                return None;
            }
            body = &body[..body.floor_char_boundary(body.len() * 3 / 4)];
        }
    }
}

/// The delay that a `Retry-After` header asks for: seconds, or a date.
pub fn parse_retry_after(header: &str, now: Timestamp) -> Option<Duration> {
    let text = header.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More seconds than fit in a number are capped later like any other.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(Timestamp::from(date).since(now))
}

#[derive(Serialize)]
struct Record<'a> {
    status: u16,
    headers: &'a BTreeMap<String, String>,
    body: &'a str,
    truncated: bool,
    timings: TimingsRecord,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimingsRecord {
    dns_ms: Option<f64>,
    connect_ms: Option<f64>,
    tls_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    body_ms: Option<f64>,
}

impl From<Timings> for TimingsRecord {
    fn from(timings: Timings) -> Self {
        // Microseconds, because a call within a datacentre takes less than a millisecond.
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        Self {
            dns_ms: timings.dns.map(ms),
            connect_ms: timings.connect.map(ms),
            tls_ms: timings.tls.map(ms),
            first_byte_ms: timings.first_byte.map(ms),
            body_ms: timings.body.map(ms),
        }
    }
}

/// Headers whose values would let a reader impersonate the caller.
const SECRET: [&str; 8] = [
    "authentication-info",
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "set-cookie2",
    "x-api-key",
    "x-auth-token",
];

fn kept_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    let mut bytes = 0;
    for (name, value) in headers.iter().take(HEADERS_KEPT_MAX) {
        let value = if SECRET.contains(&name.as_str()) {
            "(hidden)".into()
        } else {
            String::from_utf8_lossy(value.as_bytes())
        };
        bytes += name.as_str().len() + value.len();
        if bytes > HEADERS_KEPT_BYTES_MAX {
            break;
        }
        kept.entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    kept
}

/// The beginning of a body; the rest was read and dropped.
pub(super) struct Excerpt {
    kept: Vec<u8>,
    truncated: bool,
    /// Read to its end, so that the connection can carry another request.
    pub whole: bool,
}

impl Excerpt {
    /// Reads a body to its end, or to the limit.
    pub async fn read(mut body: Incoming) -> Result<Self, hyper::Error> {
        let mut excerpt = Self {
            kept: Vec::new(),
            truncated: false,
            whole: true,
        };
        let mut bytes_read = 0;
        while let Some(frame) = body.frame().await.transpose()? {
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let room = BODY_KEPT_MAX - excerpt.kept.len();
            excerpt.truncated |= data.len() > room;
            excerpt
                .kept
                .extend_from_slice(&data[..data.len().min(room)]);
            bytes_read += data.len();
            if bytes_read > BODY_READ_MAX {
                excerpt.whole = false;
                break;
            }
        }
        Ok(excerpt)
    }

    fn text(&self) -> String {
        let bytes = match std::str::from_utf8(&self.kept) {
            // The cut went through a character.
            Err(error) if self.truncated && error.error_len().is_none() => {
                &self.kept[..error.valid_up_to()]
            }
            _ => &self.kept,
        };
        // PostgreSQL keeps no zero bytes, escaped or not.
        String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")
    }
}

#[cfg(test)]
mod tests;
