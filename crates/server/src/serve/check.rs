//! Checks of every request, and headers of every response.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{IntoResponse as _, Response},
};

use crate::{
    app::App,
    http::{Problem, origin},
    theme::error_page::error_page,
};

/// No other site may use a response, not even as an image.
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// The headers of every response.
pub fn set_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The checks of every request.
pub fn check<B>(app: &App, request: &Request<B>) -> Result<(), Problem> {
    let headers = request.headers();
    origin::check_form(request.version(), headers)?;
    if app.needs_no_key() {
        app.own_hosts.check_host(request.uri(), headers)?;
    }
    app.own_hosts.check_origin(request.method(), headers)
}

/// JSON for programs, a page for people. The rest of the request is not read.
pub fn refuse(path: &str, problem: Problem) -> Response {
    if path.starts_with("/api") {
        problem.into_response()
    } else {
        error_page(problem)
    }
}
