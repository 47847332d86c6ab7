//! The server below a path: behind a proxy that adds one, or in a router of another program.
//!
//! Pages, redirects and cookies are made as if the server were at the root, and the path is put in
//! front of their addresses on the way out. So a page cannot forget it, and a form that sends an
//! address back sends one that is known here.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{OriginalUri, Request},
    http::{
        Extensions, HeaderMap, HeaderValue, StatusCode, Uri, header,
        request::Parts,
        uri::{Authority, PathAndQuery},
    },
    response::{IntoResponse as _, Response},
};

use crate::{http::connections::Connection, limits};

/// The prefix of the addresses of the server.
const OWN_PARTS: &[&str] = &[
    "alerts",
    "api",
    "audit",
    "batches",
    "dead-letters",
    "destinations",
    "docs",
    "endpoints",
    "failures",
    "gates",
    "healthz",
    "jobs",
    "keys",
    "mcp",
    "metrics",
    "nodes",
    "operations",
    "qstash",
    "queues",
    "readyz",
    "schedules",
    "sign-in",
    "sign-out",
    "simulator",
    "ui",
];

/// The path in front of all addresses, as the browser sees them; without a slash at the end.
#[derive(Clone, Debug, Default)]
pub struct MountPath(pub String);

/// The address of the server from the settings, without a slash at the end.
#[derive(Clone, Debug)]
pub struct PublicUrl(pub Arc<str>);

/// The address under which the browser sees this server: the public one of the settings, or what
/// the request names.
pub fn own_url(parts: &Parts) -> String {
    if let Some(PublicUrl(url)) = parts.extensions.get() {
        return url.to_string();
    }
    let header = |name: &str| parts.headers.get(name).and_then(|it| it.to_str().ok());
    let host = header("host").filter(|host| host.parse::<Authority>().is_ok());
    let is_https = arrived_with_tls(&parts.extensions)
        || header("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let scheme = if is_https { "https" } else { "http" };
    let path = parts.extensions.get::<MountPath>();
    let path = path.map_or("", |path| &path.0);
    format!("{scheme}://{}{path}", host.unwrap_or("127.0.0.1"))
}

/// Whether the connection of a request has TLS.
pub fn arrived_with_tls(extensions: &Extensions) -> bool {
    let connection = extensions.get::<Arc<Connection>>();
    connection.is_some_and(|connection| connection.is_tls)
}

/// Puts a path in front of the addresses in a response.
pub async fn move_response(mut response: Response, prefix: &str) -> Response {
    if prefix.is_empty() {
        return response;
    }
    move_headers(response.headers_mut(), prefix);
    let media_type = response.headers().get(header::CONTENT_TYPE);
    let is_page = media_type.is_some_and(|it| it.as_bytes().starts_with(b"text/html"));
    if !is_page {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, limits::PAGE_BYTES_MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let text = String::from_utf8_lossy(&bytes);
    Response::from_parts(parts, Body::from(moved(&text, prefix)))
}

/// What is in front of all addresses, as the browser sees them: what a proxy adds, and then what a
/// router around this one does.
pub fn prefix_of(base_path: &str, request: &Request) -> String {
    let original = request.extensions().get::<OriginalUri>();
    let nested = nested_prefix(original, request.uri());
    format!("{base_path}{nested}")
}

/// The part of the path that an outer router removed.
fn nested_prefix(original: Option<&OriginalUri>, inner: &Uri) -> String {
    let Some(OriginalUri(original)) = original else {
        return String::new();
    };
    let (original, inner) = (original.path(), inner.path());
    let prefix = original
        .strip_suffix(inner)
        .or_else(|| (inner == "/").then_some(original));
    prefix.unwrap_or("").to_owned()
}

/// Takes the path off the address of a request that a proxy passed on as it was.
pub fn strip(uri: &mut Uri, base_path: &str) {
    if base_path.is_empty() {
        return;
    }
    let Some(whole) = uri.path_and_query() else {
        return;
    };
    let Some(rest) = whole.as_str().strip_prefix(base_path) else {
        return;
    };
    let rest = match rest.as_bytes().first() {
        None => "/".to_owned(),
        Some(b'?') => format!("/{rest}"),
        Some(b'/') => rest.to_owned(),
        Some(_) => return,
    };
    if let Ok(path) = rest.parse::<PathAndQuery>() {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(path);
        if let Ok(stripped) = Uri::from_parts(parts) {
            *uri = stripped;
        }
    }
}

/// Redirects, and the cookie of a session: other programs behind the same proxy do not get it.
fn move_headers(headers: &mut HeaderMap, prefix: &str) {
    let text = |name| {
        headers
            .get(name)
            .and_then(|it: &HeaderValue| it.to_str().ok())
    };
    let location = text(header::LOCATION)
        .filter(|it| it.starts_with('/'))
        .map(|it| moved_location(it, prefix));
    if let Some(value) = location.and_then(|it| HeaderValue::from_str(&it).ok()) {
        headers.insert(header::LOCATION, value);
    }
    let path = format!("Path={prefix};");
    let cookies = headers.get_all(header::SET_COOKIE).iter();
    let cookies =
        cookies.filter_map(|cookie| Some(cookie.to_str().ok()?.replace("Path=/;", &path)));
    let cookies: Vec<String> = cookies.collect();
    headers.remove(header::SET_COOKIE);
    for cookie in cookies {
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            headers.append(header::SET_COOKIE, cookie);
        }
    }
}

/// Quotes in texts of jobs are escaped, so these are attributes of the page itself.
fn moved(page: &str, prefix: &str) -> String {
    let mut page = page.to_owned();
    for attribute in ["href", "src", "action"] {
        let moved = format!("{attribute}=\"{prefix}");
        page = page.replace(&format!("{attribute}=\"/"), &format!("{moved}/"));
        // A router takes `/path/` for another address than `/path`.
        for end in ["\"", "?", "#"] {
            page = page.replace(&format!("{moved}/{end}"), &format!("{moved}{end}"));
        }
    }
    page
}

fn moved_location(location: &str, prefix: &str) -> String {
    let is_root = location == "/" || location.starts_with("/?") || location.starts_with("/#");
    let rest = if is_root { &location[1..] } else { location };
    format!("{prefix}{rest}")
}

/// Whether this is a path that can stand in front of all others. The first part of an address of
/// the server itself cannot: of a proxy that takes the path off, it would be taken off twice.
pub fn is_base_path(text: &str) -> bool {
    let first = text.split('/').nth(1).unwrap_or("");
    if OWN_PARTS.contains(&first) {
        return false;
    }
    let is_plain = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(is_allowed)
    };
    match text.strip_prefix('/') {
        Some(rest) => rest.split('/').all(is_plain),
        None => text.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_taken_off_as_a_whole() {
        for (before, after) in [
            ("/ops", "/"),
            ("/ops/", "/"),
            ("/ops?a=1", "/?a=1"),
            ("/ops/jobs?a=1", "/jobs?a=1"),
            ("/opsjobs", "/opsjobs"),
            ("/jobs", "/jobs"),
            ("/ops//evil.example", "//evil.example"),
        ] {
            let mut uri: Uri = before.parse().unwrap();
            strip(&mut uri, "/ops");
            assert_eq!(uri.to_string(), after, "{before}");
        }
    }

    #[test]
    fn addresses_of_a_page_move_and_its_text_does_not() {
        let page = r#"<a href="/jobs">/jobs</a><a href="https://a/">x</a><form action="/act"><input value="/jobs">"#;
        let expected = r#"<a href="/ops/jobs">/jobs</a><a href="https://a/">x</a><form action="/ops/act"><input value="/jobs">"#;
        assert_eq!(moved(page, "/ops"), expected);
        let root = r#"<a href="/">x</a><a href="/?span=day">y</a>"#;
        let expected = r#"<a href="/ops">x</a><a href="/ops?span=day">y</a>"#;
        assert_eq!(moved(root, "/ops"), expected);
        assert_eq!(moved_location("/?did=set", "/ops"), "/ops?did=set");
        assert_eq!(moved_location("/jobs", "/ops"), "/ops/jobs");
    }

    #[test]
    fn every_route_begins_with_a_reserved_path() {
        let sources = [
            include_str!("../dashboard.rs"),
            include_str!("../docs.rs"),
            include_str!("../mcp.rs"),
            include_str!("../router.rs"),
        ];
        let routes = sources.iter().flat_map(|text| {
            let routes = text.split("route(\"/").skip(1);
            routes.chain(text.split("nest(\"/").skip(1))
        });
        let parts = routes.map(|route| route.split(['/', '"']).next().unwrap_or(""));
        let mut found: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, OWN_PARTS);
    }

    #[test]
    fn a_base_path_is_plain_and_taken_by_no_route() {
        for (text, expected) in [
            ("", true),
            ("/ops", true),
            ("/a/b-c_d.e~1", true),
            ("/", false),
            ("ops", false),
            ("/ops/", false),
            ("//ops", false),
            ("/../x", false),
            ("/a\"b", false),
            ("/jobs", false),
            ("/api/steadfast", false),
            ("/jobs-queue", true),
        ] {
            assert_eq!(is_base_path(text), expected, "{text}");
        }
    }
}
