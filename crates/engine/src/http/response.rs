//! The recorded part of a response, and the outcome that follows from it.

use std::{collections::BTreeMap, time::Duration};

use http::{HeaderMap, HeaderName, StatusCode, header, response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Serialize;
use steadfast_core::{
    Failure, LimitHeader, Outcome, Payload, RequestedWait, TargetQuota, Timestamp,
    explain::shorten, limits::OUTPUT_BYTES_MAX,
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
    /// Those in which targets name their limits, whole.
    limit_headers: BTreeMap<String, String>,
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
            limit_headers: limit_headers(&head.headers),
            location: text(header::LOCATION),
        }
    }

    /// The outcome of the attempt: 2xx is success, and everything else is a failure.
    pub fn outcome(self, now: Timestamp) -> Outcome {
        let output = self.output(now);
        if self.status.is_success() {
            return Outcome::Success { output };
        }
        let mut failure = Failure::http(self.status.as_u16(), self.message());
        if let Some(wait) = self.requested_wait(now) {
            failure = failure.with_requested_wait(wait);
        }
        Outcome::Failure { failure, output }
    }

    /// How long the target asked the caller to wait. It only counts on 429 and 503.
    pub fn requested_wait(&self, now: Timestamp) -> Option<RequestedWait> {
        RequestedWait::read(self.status.as_u16(), &|name| self.limit_header(name), now)
    }

    /// What remains of the target's own limits, if it is so little that it limits other jobs. A
    /// `Retry-After` says more, and is shared by itself.
    pub fn quota(&self, now: Timestamp) -> Option<TargetQuota> {
        let quota = TargetQuota::read(&|name| self.limit_header(name), now)?;
        let wait = self.requested_wait(now);
        wait.is_none_or(|wait| wait.header == quota.header)
            .then_some(quota)
    }

    fn limit_header(&self, name: &str) -> Option<String> {
        self.limit_headers.get(name).cloned()
    }

    /// Everything that the target has written.
    pub(super) fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let headers = self.headers.values_mut();
        let location = self.location.iter_mut();
        location.chain(headers).chain([&mut self.body])
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
    pub(super) fn output(&self, now: Timestamp) -> Option<Payload> {
        let quota = self.quota(now).map(|quota| QuotaRecord {
            header: quota.header,
            remaining: quota.remaining,
            resets_at: now.plus(quota.resets_in),
        });
        let mut body = self.body.as_str();
        loop {
            let record = Record {
                status: self.status.as_u16(),
                headers: &self.headers,
                body,
                truncated: self.truncated || body.len() < self.body.len(),
                quota: quota.as_ref(),
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

#[derive(Serialize)]
struct Record<'a> {
    status: u16,
    headers: &'a BTreeMap<String, String>,
    body: &'a str,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<&'a QuotaRecord>,
    timings: TimingsRecord,
}

/// What the target said remains of its own limits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QuotaRecord {
    header: LimitHeader,
    remaining: u32,
    resets_at: Timestamp,
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

/// What the names of headers have that are about limits. The date is that of the target's clock.
const LIMIT_WORDS: [&str; 4] = ["ratelimit", "rate-limit", "retry-after", "date"];

fn limit_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let names = headers.keys().map(HeaderName::as_str);
    let names = names.filter(|name| LIMIT_WORDS.iter().any(|word| name.contains(word)));
    let value = |name: &str| {
        let values = headers.get_all(name).iter();
        let values: Vec<_> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
            .collect();
        values.join(", ")
    };
    names.map(|name| (name.to_owned(), value(name))).collect()
}

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
