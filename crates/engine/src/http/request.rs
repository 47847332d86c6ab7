//! The payload of a job of kind `http`: which request to send.
//!
//! Everything is checked when it is built, so that a job which can never be sent is refused
//! with the name of the field when it is created, and not found hours later as a dead letter.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header::CONTENT_TYPE};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use steadfast_core::{HeaderSource, Invalid, Payload, PolicyPatch, Preset, SecretReference};

use super::{host::Host, origin::Origin, qstash::QstashMessage, usage::UsageSources};
use crate::{
    client::request::JobKind,
    limits::http::{HEADERS_BYTES_MAX, HEADERS_MAX, URL_BYTES_MAX},
};

/// The kind of jobs that are HTTP requests.
pub const HTTP_KIND: &str = "http";

/// A request to be sent.
///
/// ```
/// use steadfast_engine::http::HttpRequest;
///
/// let request = HttpRequest::new("https://example.com/refresh")?
///     .with_method("PUT")?
///     .with_header("authorization", "Bearer secret")?;
/// assert!(!format!("{request:?}").contains("secret"));
/// # Ok::<(), steadfast_core::Invalid>(())
/// ```
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "JsonFields", into = "JsonFields")]
pub struct HttpRequest {
    url: String,
    target: Uri,
    method: Method,
    headers: HeaderMap,
    /// Headers whose values are looked up when the request is sent.
    secrets: Vec<SecretHeader>,
    body: Option<Payload>,
    /// A body that is neither JSON nor text.
    bytes: Option<Bytes>,
    /// What it has beyond a request, if it is a message of QStash.
    message: Option<Box<QstashMessage>>,
    usage: UsageSources,
}

/// A header whose value is a secret.
pub(super) type SecretHeader = (HeaderName, SecretReference);

/// The request as it is written in JSON.
#[derive(Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object with a url, such as {\"url\": \"https://example.com/path\"}"
)]
struct JsonFields {
    url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, HeaderSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Payload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    qstash: Option<Box<QstashMessage>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    usage: BTreeMap<String, String>,
}

const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];

impl HttpRequest {
    /// A POST without a body.
    pub fn new(url: &str) -> Result<Self, Invalid> {
        Ok(Self {
            url: url.to_owned(),
            target: check_url(url)?,
            method: Method::POST,
            headers: HeaderMap::new(),
            secrets: Vec::new(),
            body: None,
            bytes: None,
            message: None,
            usage: UsageSources::default(),
        })
    }

    /// Another method than POST.
    pub fn with_method(mut self, method: &str) -> Result<Self, Invalid> {
        let known = METHODS
            .iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(method));
        self.method = known.cloned().ok_or_else(|| {
            let names = METHODS.each_ref().map(Method::as_str).join(", ");
            Invalid::new(
                "method",
                format!("{method:?}"),
                format!("must be one of {names}"),
            )
        })?;
        Ok(self)
    }

    /// One more header. Errors never show the value, which may be a secret.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, Invalid> {
        let name = check_header_name(name)?;
        let field = format!("headers.{name}");
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| Invalid::new(&field, "(hidden)", "must be one line of text"))?;
        value.set_sensitive(true);
        self.check_once(&name)?;
        self.headers.insert(name, value);
        self.check_headers()?;
        Ok(self)
    }

    /// One more header, whose value is that of a secret at the time of the call.
    ///
    /// ```
    /// use steadfast_core::{SecretName, SecretReference};
    /// use steadfast_engine::http::HttpRequest;
    ///
    /// let token = SecretReference {
    ///     prefix: "Bearer ".to_owned(),
    ///     ..SecretReference::new(SecretName::new("stripe")?)
    /// };
    /// let request = HttpRequest::new("https://api.stripe.com/v1/charges")?
    ///     .with_secret("authorization", token)?;
    /// # Ok::<(), steadfast_core::Invalid>(())
    /// ```
    pub fn with_secret(mut self, name: &str, reference: SecretReference) -> Result<Self, Invalid> {
        let name = check_header_name(name)?;
        let checked = reference.check();
        checked.map_err(|error| error.within(&format!("headers.{name}")))?;
        self.check_once(&name)?;
        self.secrets.push((name, reference));
        self.check_headers()?;
        Ok(self)
    }

    /// One more header, as a request of the API gives it.
    pub fn with_source(self, name: &str, source: &HeaderSource) -> Result<Self, Invalid> {
        match source {
            HeaderSource::Text(value) => self.with_header(name, value),
            HeaderSource::Secret(reference) => self.with_secret(name, reference.clone()),
        }
    }

    fn check_once(&self, name: &HeaderName) -> Result<(), Invalid> {
        let is_secret = self.secrets.iter().any(|(known, _)| known == name);
        if is_secret || self.headers.contains_key(name) {
            let field = format!("headers.{name}");
            return Err(Invalid::new(field, "given twice", "must be given once"));
        }
        Ok(())
    }

    /// The values of secrets are counted when the request is sent.
    fn check_headers(&self) -> Result<(), Invalid> {
        let names = self.secrets.iter().map(|(name, _)| name.as_str().len());
        let count = self.headers.len() + self.secrets.len();
        check_header_bytes(count, header_bytes(&self.headers) + names.sum::<usize>())
    }

    /// JSON to send. A string goes out as the plain text that it is if a `content-type` other
    /// than JSON is given; otherwise the JSON is sent as it was written.
    #[must_use]
    pub fn with_body(mut self, body: Payload) -> Self {
        self.body = Some(body);
        self
    }

    /// Bytes to send as they are. Set a `content-type` first, which says what they are: JSON and
    /// text are stored in a form that people can read.
    #[must_use]
    pub fn with_bytes(mut self, bytes: Bytes) -> Self {
        let text = std::str::from_utf8(&bytes).ok();
        let body = text.and_then(|text| {
            let body = match self.is_json() {
                true => Payload::from_json(text),
                false => Payload::encode(text),
            };
            let is_same = |body: &Payload| !self.is_json() || body.as_str() == text;
            body.ok().filter(is_same)
        });
        self.bytes = body.is_none().then_some(bytes);
        self.body = body;
        self
    }

    /// Makes it a message of QStash.
    #[must_use]
    pub fn with_message(mut self, message: QstashMessage) -> Self {
        self.message = Some(Box::new(message));
        self
    }

    /// What it has beyond a request, if it is a message of QStash.
    pub fn message(&self) -> Option<&QstashMessage> {
        self.message.as_deref()
    }

    /// Where the response says how much of a unit was used: a JSON pointer into its body, such as
    /// `/usage/total_tokens`, or the name of a header.
    pub fn with_usage(mut self, unit: &str, source: &str) -> Result<Self, Invalid> {
        self.usage.add(unit, source)?;
        Ok(self)
    }

    /// Where the response says what was used.
    pub(super) fn usage(&self) -> &UsageSources {
        &self.usage
    }

    /// Its headers without those whose values are secrets.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The URL as it was given.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The method in upper case.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The headers whose values are secrets.
    pub(super) fn secrets(&self) -> &[SecretHeader] {
        &self.secrets
    }

    /// The request itself without the values of secrets, with the given headers and the default ones.
    pub(super) fn to_request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.body_bytes()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        request
    }

    /// The body as it is sent.
    pub fn body_bytes(&self) -> Bytes {
        if let Some(bytes) = &self.bytes {
            return bytes.clone();
        }
        let Some(body) = &self.body else {
            return Bytes::new();
        };
        let text = if self.is_json() {
            None
        } else {
            body.decode::<String>().ok()
        };
        text.map_or_else(
            || Bytes::copy_from_slice(body.as_str().as_bytes()),
            Bytes::from,
        )
    }

    fn is_json(&self) -> bool {
        let Some(value) = self.headers.get(CONTENT_TYPE) else {
            return true;
        };
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        let media_type = value.split(';').next().unwrap_or_default().trim();
        media_type.ends_with("/json") || media_type.ends_with("+json")
    }
}

/// The default policy of HTTP jobs comes with them.
impl JobKind for HttpRequest {
    const KIND: &'static str = HTTP_KIND;

    fn retry() -> PolicyPatch {
        Preset::Http.into()
    }
}

fn check_url(url: &str) -> Result<Uri, Invalid> {
    // The part before an @ may be a password.
    let shown = if url.contains('@') {
        "(hidden)".to_owned()
    } else {
        format!("{url:?}")
    };
    let invalid = |expected: String| Invalid::new("url", &shown, expected);
    if url.len() > URL_BYTES_MAX {
        return Err(invalid(format!("must be at most {URL_BYTES_MAX} bytes")));
    }
    if !url.is_ascii() {
        let expected = "must be ASCII: percent-encode the path, and write the host as xn--…";
        return Err(invalid(expected.to_owned()));
    }
    // The parser does not check what comes after a `#`.
    if url.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
        return Err(invalid(
            "must not contain spaces or control characters".to_owned(),
        ));
    }
    let absolute = "must be an absolute http or https URL such as https://example.com/path";
    let target: Uri = url
        .parse()
        .map_err(|error| invalid(format!("{absolute} ({error})")))?;
    if Origin::of(&target).is_none() {
        return Err(invalid(absolute.to_owned()));
    }
    let authority = target
        .authority()
        .map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        let expected =
            "must not contain credentials; use headers for HTTP jobs, and signatures for webhooks";
        return Err(invalid(expected.to_owned()));
    }
    let host = target.host().unwrap_or_default();
    if Host::read(host) == Host::Neither {
        return Err(invalid(
            "must have a host that is a name or an address".to_owned(),
        ));
    }
    let port = authority.strip_prefix(host).unwrap_or_default();
    if !port.is_empty() && target.port_u16().is_none_or(|port| port == 0) {
        return Err(invalid(
            "must have a port from 1 to 65535, or none".to_owned(),
        ));
    }
    Ok(target)
}

/// Names and values together.
pub(super) fn header_bytes(headers: &HeaderMap) -> usize {
    let bytes = headers.iter().map(|(n, v)| n.as_str().len() + v.len());
    bytes.sum()
}

pub(super) fn check_header_bytes(count: usize, bytes: usize) -> Result<(), Invalid> {
    if count <= HEADERS_MAX && bytes <= HEADERS_BYTES_MAX {
        return Ok(());
    }
    let found = format!("{count} headers of {bytes} bytes");
    let expected = format!("must be at most {HEADERS_MAX}, of {HEADERS_BYTES_MAX} bytes together");
    Err(Invalid::new("headers", found, expected))
}

/// Headers that belong to the connection, or that the engine sets.
const RESERVED: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "idempotency-key",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const RESERVED_PREFIXES: [&str; 2] = ["proxy-", "steadfast-"];

fn check_header_name(name: &str) -> Result<HeaderName, Invalid> {
    let checked: HeaderName = name.parse().map_err(|_| {
        let expected = "must have names of letters, digits and dashes";
        Invalid::new("headers", format!("{name:?}"), expected)
    })?;
    let lower = checked.as_str();
    let reserved = RESERVED.contains(&lower)
        || RESERVED_PREFIXES
            .iter()
            .any(|prefix| lower.starts_with(prefix));
    if reserved {
        let expected = "must be omitted: the engine sets it";
        return Err(Invalid::new(format!("headers.{name}"), "given", expected));
    }
    Ok(checked)
}

impl TryFrom<JsonFields> for HttpRequest {
    type Error = Invalid;

    fn try_from(fields: JsonFields) -> Result<Self, Invalid> {
        let mut request = Self::new(&fields.url)?;
        if let Some(method) = &fields.method {
            request = request.with_method(method)?;
        }
        for (name, value) in &fields.headers {
            request = request.with_source(name, value)?;
        }
        request.body = fields.body;
        if let Some(text) = &fields.body_base64 {
            let bytes = BASE64_STANDARD.decode(text);
            let bytes =
                bytes.map_err(|_| Invalid::new("bodyBase64", "(hidden)", "must be base64"))?;
            request.bytes = Some(bytes.into());
        }
        request.message = fields.qstash;
        for (unit, source) in &fields.usage {
            request = request.with_usage(unit, source)?;
        }
        Ok(request)
    }
}

impl From<HttpRequest> for JsonFields {
    fn from(request: HttpRequest) -> Self {
        let headers = request.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            let value = HeaderSource::Text(value.into_owned());
            (name.as_str().to_owned(), value)
        });
        let secrets = request.secrets.iter().map(|(name, reference)| {
            let value = HeaderSource::Secret(reference.clone());
            (name.as_str().to_owned(), value)
        });
        Self {
            url: request.url,
            method: Some(request.method.as_str().to_owned()),
            headers: headers.chain(secrets).collect(),
            body: request.body,
            body_base64: request.bytes.map(|bytes| BASE64_STANDARD.encode(bytes)),
            qstash: request.message,
            usage: request.usage.into_texts(),
        }
    }
}

/// Header values and bodies may be secrets.
impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("url", &self.url)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
