//! Reading requests: bodies, questions and ids, each with a clear answer when it is wrong.

use std::{str::FromStr, time::Duration};

use axum::{
    extract::{FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::{limits, problem::Problem};

/// A JSON body.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = read(request).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out altogether.
pub struct MaybeBody<T>(pub T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let has_type = request.headers().contains_key(header::CONTENT_TYPE);
        let bytes = match has_type {
            true => read(request).await?,
            false => collect(request).await?,
        };
        match bytes.is_empty() {
            true => Ok(Self(T::default())),
            false => parse(&bytes).map(Self),
        }
    }
}

/// The whole body, which must call itself JSON.
pub fn read(request: Request) -> impl Future<Output = Result<Bytes, Problem>> {
    let checked = check_media(request.headers());
    let body = collect(request);
    async {
        checked?;
        body.await
    }
}

fn check_media(headers: &HeaderMap) -> Result<(), Problem> {
    let media = headers.get(header::CONTENT_TYPE);
    let media = media.and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = media.split(';').next().unwrap_or("").trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "not_json",
        format!("the body is {essence:?}: send it with Content-Type: application/json"),
    ))
}

/// Bodies are bounded in size and in time.
pub fn collect(request: Request) -> impl Future<Output = Result<Bytes, Problem>> {
    let body = Limited::new(request.into_body(), limits::BODY_BYTES_MAX);
    let collected = tokio::time::timeout(limits::BODY_TIME_MAX, body.collect());
    collected.map(|collected| match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is over {} bytes", limits::BODY_BYTES_MAX),
        )),
        Ok(Err(_)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the body ended before it was whole",
        )),
        Err(_) => Err(too_slow(limits::BODY_TIME_MAX)),
    })
}

fn too_slow(limit: Duration) -> Problem {
    let detail = format!("the body did not arrive within {} s", limit.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail)
}

/// Reads JSON. Only a body that is wrong is read a second time, to say where.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    if depth(bytes) > limits::BODY_DEPTH_MAX {
        let most = limits::BODY_DEPTH_MAX;
        let detail = format!("the body is nested more than {most} deep");
        return Err(Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail));
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let mut deserializer = serde_json::Deserializer::from_slice(bytes);
        let found = serde_path_to_error::deserialize::<_, T>(&mut deserializer);
        let path = found.err().map(|error| error.path().to_string());
        explained(&error, &path.unwrap_or_default())
    })
}

/// How deep the nesting goes, at most. Payloads are kept unread, so nobody else would notice.
fn depth(bytes: &[u8]) -> usize {
    let opened = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    let opened = opened.count();
    if opened <= limits::BODY_DEPTH_MAX {
        return opened;
    }
    let (mut now, mut deepest) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in bytes {
        match (in_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'[' | b'{') => now += 1,
            (false, b']' | b'}') => now = now.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(now);
    }
    deepest
}

fn explained(error: &serde_json::Error, path: &str) -> Problem {
    if !error.is_data() {
        let detail = format!("the body is not JSON: {error}");
        return Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail);
    }
    let text = error.to_string();
    let sentence = text.split(" at line ").next().unwrap_or(&text);
    let (code, field) = match named(sentence, "unknown field `") {
        Some(field) => ("unknown_field", join(path, field)),
        None => match named(sentence, "missing field `") {
            Some(field) => ("missing_field", join(path, field)),
            None => match named(sentence, "duplicate field `") {
                Some(field) => ("invalid", join(path, field)),
                None => ("invalid", path.to_owned()),
            },
        },
    };
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    let place = match (code, field.as_str()) {
        ("invalid", field) if !field.is_empty() && field != "." => format!("{field}: "),
        _ => String::new(),
    };
    let problem = Problem::new(status, code, format!("{place}{sentence}"));
    match (code, field.as_str()) {
        ("invalid", "" | ".") => problem,
        // A field may be called "", and is then named as that.
        _ => problem.at(field),
    }
}

fn named<'a>(sentence: &'a str, before: &str) -> Option<&'a str> {
    let rest = sentence.split_once(before)?.1;
    rest.split_once('`').map(|(name, _)| name)
}

fn join(path: &str, field: &str) -> String {
    match path {
        "" | "." => field.to_owned(),
        path if path == field || path.ends_with(&format!(".{field}")) => path.to_owned(),
        path => format!("{path}.{field}"),
    }
}

/// A question: what stands after `?`.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = serde_urlencoded::Deserializer::new(form(query));
        serde_path_to_error::deserialize(pairs)
            .map(Self)
            .map_err(|error| {
                let path = error.path().to_string();
                let sentence = error.inner().to_string();
                let field = named(&sentence, "unknown field `")
                    .or_else(|| named(&sentence, "missing field `"))
                    .unwrap_or(&path);
                let code = match sentence.starts_with("unknown field") {
                    true => "unknown_field",
                    false => "invalid",
                };
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let place = match field {
                    "." | "" => String::new(),
                    field if sentence.contains(field) => String::new(),
                    field => format!("{field}: "),
                };
                Problem::new(status, code, format!("{place}{sentence}")).at(field)
            })
    }
}

fn form(query: &str) -> form_urlencoded::Parse<'_> {
    form_urlencoded::parse(query.as_bytes())
}

/// An id in the path. One that cannot be an id names nothing, as one that is not known.
pub struct Id<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::not_found("such thing"))?;
        let shown: String = text.chars().take(64).collect();
        let parsed = text.parse();
        parsed.map(Self).map_err(|_| Problem::not_found(shown))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Outer {
        #[expect(dead_code, reason = "only read by serde")]
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "only read by serde")]
        number: u8,
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let cases = [
            ("{", 400, "bad_json", None),
            ("[]", 422, "invalid", None),
            (r#"{"inne":1}"#, 422, "unknown_field", Some("inne")),
            (r#"{"":1}"#, 422, "unknown_field", Some("")),
            (
                r#"{"inner":{"number":1},"inner":null}"#,
                422,
                "invalid",
                Some("inner"),
            ),
            (
                r#"{"inner":{"x":1}}"#,
                422,
                "unknown_field",
                Some("inner.x"),
            ),
            (
                r#"{"inner":{}}"#,
                422,
                "missing_field",
                Some("inner.number"),
            ),
            (
                r#"{"inner":{"number":"1"}}"#,
                422,
                "invalid",
                Some("inner.number"),
            ),
            (
                r#"{"inner":{"number":999}}"#,
                422,
                "invalid",
                Some("inner.number"),
            ),
        ];
        for (json, status, code, field) in cases {
            let problem = parse::<Outer>(json.as_bytes()).unwrap_err();
            assert_eq!(problem.status, status, "{json}");
            assert_eq!(problem.code, code, "{json}");
            assert_eq!(problem.field.as_deref(), field, "{json}: {problem:?}");
        }
    }
}
