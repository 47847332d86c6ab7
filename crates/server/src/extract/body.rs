//! Reading requests: bodies, query strings and ids, each with a clear answer when it is wrong.

use std::{str::FromStr, sync::Arc, time::Duration};

use axum::{
    extract::{FromRef, FromRequest, FromRequestParts, Path, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::{Serialize, de::DeserializeOwned};
use steadfast_store::wait_outside;

use crate::{
    app::App,
    http::{
        Problem,
        connections::{BodyUnderWay, Connection, connection_closed},
        json_fields, query_fields,
    },
    limits,
};

/// A JSON body.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T>
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = read(request, &Arc::<App>::from_ref(state)).await?;
        parse(&bytes).map(Self)
    }
}

/// An optional JSON body.
pub struct MaybeBody<T>(pub T);

impl<T: DeserializeOwned + Default, S: Send + Sync> FromRequest<S> for MaybeBody<T>
where
    Arc<App>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let app = Arc::<App>::from_ref(state);
        let has_type = request.headers().contains_key(header::CONTENT_TYPE);
        let checked = check_media(request.headers());
        let bytes = collect(request, app.settings.body_bytes_max).await?;
        if bytes.is_empty() && !has_type {
            return Ok(Self(T::default()));
        }
        checked?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        parse(&bytes).map(Self)
    }
}

/// The whole body, of a request whose content type is JSON.
pub fn read(request: Request, app: &App) -> impl Future<Output = Result<Bytes, Problem>> + use<> {
    let checked = check_media(request.headers());
    let body = collect(request, app.settings.body_bytes_max);
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
        format!("the Content-Type of the body is {essence:?}: must be application/json"),
    ))
}

/// Bodies are bounded in size and in time.
pub fn collect(request: Request, bytes_max: usize) -> impl Future<Output = Result<Bytes, Problem>> {
    let connection = request.extensions().get::<Arc<Connection>>();
    let arriving = connection.map(Connection::receive);
    let body = read_body(request, bytes_max);
    // A client that is slow to send does not keep others from being served.
    let collected = wait_outside(tokio::time::timeout(limits::BODY_TIME_MAX, body));
    collected.map(move |collected| match collected {
        Ok(Ok(_)) if !arriving.is_none_or(BodyUnderWay::end) => Err(connection_closed()),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(BodyError::TooLarge)) => Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("the body is larger than {bytes_max} bytes"),
        )),
        Ok(Err(BodyError::Broken)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            "broken_body",
            "the connection was closed before the end of the body",
        )),
        Err(_) => Err(too_slow(limits::BODY_TIME_MAX)),
    })
}

enum BodyError {
    TooLarge,
    Broken,
}

/// The whole body, if it has no more bytes than that.
async fn read_body(request: Request, bytes_max: usize) -> Result<Bytes, BodyError> {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    // This client sends its body only once it is asked for.
    if request.headers().contains_key(header::EXPECT) && length.is_some_and(|it| it > bytes_max) {
        return Err(BodyError::TooLarge);
    }
    let mut body = request.into_body();
    match Limited::new(&mut body, bytes_max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            discard_rest(body).await;
            Err(BodyError::TooLarge)
        }
        Err(_) => Err(BodyError::Broken),
    }
}

/// A client that is still sending when its connection is closed does not see the response.
async fn discard_rest(mut body: axum::body::Body) {
    let mut left = limits::BODY_REST_BYTES_MAX;
    let discard = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    let _too_slow = tokio::time::timeout(limits::BODY_REST_TIME_MAX, discard).await;
}

fn too_slow(limit: Duration) -> Problem {
    let detail = format!("the body did not arrive within {} s", limit.as_secs());
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail)
}

/// Reads a JSON object. Only a body that is wrong is read a second time, to say where.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    check_depth(bytes)?;
    match serde_json::from_slice(bytes) {
        Ok(body) if bytes.trim_ascii_start().starts_with(b"{") => Ok(body),
        Err(error) if !error.is_data() => {
            let detail = format!("the body is not valid JSON: {error}");
            Err(Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail))
        }
        _ => Err(find_problem::<T>(bytes)),
    }
}

/// Reads JSON that a form of the dashboard makes, as if it had been sent.
pub fn from_json<T: DeserializeOwned>(json: &impl Serialize) -> Result<Body<T>, Problem> {
    let bytes = serde_json::to_vec(json).map_err(|error| Problem::internal(&error))?;
    parse(&bytes).map(Body)
}

/// The error in a body that is JSON.
fn find_problem<T: DeserializeOwned>(bytes: &[u8]) -> Problem {
    let not_an_object = || {
        let detail = "the body must be a JSON object, such as {\"kind\": \"mail\"}";
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail)
    };
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if !text.trim_start().starts_with('{') {
        return not_an_object();
    }
    match json_fields::read::<T>(text) {
        Err(error) => error.into(),
        Ok(_) => not_an_object(),
    }
}

/// Refuses JSON that is nested too deep.
pub fn check_depth(bytes: &[u8]) -> Result<(), Problem> {
    let most = limits::BODY_DEPTH_MAX;
    if depth(bytes) <= most {
        return Ok(());
    }
    let detail = format!("the body is nested more than {most} levels deep");
    Err(Problem::new(StatusCode::BAD_REQUEST, "bad_json", detail))
}

/// How deep the nesting goes, at most. Payloads are kept unread, so no later step would notice.
fn depth(bytes: &[u8]) -> usize {
    let opened = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    let opened = opened.count();
    if opened <= limits::BODY_DEPTH_MAX {
        return opened;
    }
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in bytes {
        match (in_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'[' | b'{') => depth += 1,
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The query string.
pub struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self(query_fields::read(pairs)?))
    }
}

/// An id in the path. Text that is no id is answered as an id that does not exist.
pub struct Id<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|_| Problem::not_found("such thing"))?;
        let parsed = text.parse().map(Self);
        parsed.map_err(|_| Problem::not_found(shorten_id(&text)))
    }
}

/// Text in place of an id, cut to what a sentence can hold.
pub fn shorten_id(text: &str) -> String {
    text.chars().take(limits::ID_CHARS_MAX).collect()
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
    fn a_problem_names_the_path_of_the_wrong_field() {
        let cases = [
            ("{", 400, "bad_json", None),
            ("[]", 422, "invalid", None),
            ("[null]", 422, "invalid", None),
            (r#"{"inner":[]}"#, 422, "invalid", Some("inner")),
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
