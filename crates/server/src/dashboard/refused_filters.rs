//! A filter in an address that cannot be read: the page without it, and a sentence about it.
//!
//! People edit addresses, and keep bookmarks of words that have changed. Each page reads its filters by
//! itself, so a refused one is answered here, for all of them: the page is made again without it.

use axum::{
    body::Body,
    extract::Request,
    http::{Method, StatusCode, Uri, uri::PathAndQuery},
    middleware::Next,
    response::Response,
};

use crate::{dashboard::fields::Fields, theme::error_page::RefusedField};

/// What is wrong with each filter that the page is made without.
#[derive(Clone, Default)]
pub struct RefusedFilters(pub Vec<String>);

/// Ends, because each round leaves out a field that the last one had.
pub async fn leave_out(request: Request, next: Next) -> Response {
    if request.method() != Method::GET || request.uri().query().is_none() {
        return next.run(request).await;
    }
    let (mut parts, _) = request.into_parts();
    let mut refused = RefusedFilters::default();
    let mut first = None;
    loop {
        let request = Request::from_parts(parts.clone(), Body::empty());
        let response = next.clone().run(request).await;
        let field = response.extensions().get::<RefusedField>();
        let left = field.and_then(|it| Some((without(&parts.uri, &it.name)?, it.detail.clone())));
        let Some((uri, detail)) = left else {
            let is_refused = response.status() == StatusCode::UNPROCESSABLE_ENTITY;
            return first.filter(|_| is_refused).unwrap_or(response);
        };
        parts.uri = uri;
        refused.0.push(detail);
        parts.extensions.insert(refused.clone());
        first.get_or_insert(response);
    }
}

/// The same address without a field; `None` if it has no such field.
fn without(uri: &Uri, field: &str) -> Option<Uri> {
    let fields = Fields::parse(uri.query()?.as_bytes());
    let address = format!("{}?{}", uri.path(), fields.query_with(&[(field, "")]));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(address.parse::<PathAndQuery>().ok()?);
    let is_there = fields.has(field);
    Uri::from_parts(parts).ok().filter(|_| is_there)
}
