//! `/docs`: the book, as it was when this program was built; `/api/docs`: the description of the
//! API. Both can be read without scripts and load nothing from elsewhere.
//!
//! Links within are relative; that to the dashboard gets the path at which it is mounted.

mod api_page;
mod example;
mod schema;

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use axum::{
    Router,
    extract::{Path, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use sha2::{Digest as _, Sha256};
use steadfast_book::{book, embedded};
use tokio::sync::OnceCell;

use crate::{App, api, dashboard, problem::Problem};

pub fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/docs", get(async || redirect_to("docs/")))
        .route("/docs/", get(first_page))
        .route("/docs/{*file}", get(file))
        .route("/api/docs", get(api_docs))
        .route("/api/docs/", get(async || redirect_to("../docs")))
        .layer(middleware::map_response(async |response| {
            dashboard::with_security_headers(response)
        }))
        .route("/api/v1/openapi.json", get(description))
}

fn redirect_to(location: &'static str) -> Response {
    let location = HeaderValue::from_static(location);
    (
        StatusCode::PERMANENT_REDIRECT,
        [(header::LOCATION, location)],
    )
        .into_response()
}

static DESCRIPTION: LazyLock<String> = LazyLock::new(api::openapi_json);

async fn description(headers: HeaderMap) -> Response {
    respond(&headers, "application/json", DESCRIPTION.as_bytes())
}

/// The page with the address under which its reader sees this server.
async fn api_docs(request: Request) -> Response {
    let (parts, _) = request.into_parts();
    static PAGE: OnceCell<String> = OnceCell::const_new();
    let made = PAGE.get_or_try_init(async || {
        let made = tokio::task::spawn_blocking(|| api_page::make(&DESCRIPTION)).await;
        made.map_err(|error| error.to_string())?
    });
    match made.await {
        Ok(page) => {
            let page = api_page::with_url(page, &dashboard::own_url(&parts));
            respond(&parts.headers, "text/html; charset=utf-8", page.as_bytes())
        }
        Err(error) => failure(&error),
    }
}

async fn first_page(headers: HeaderMap) -> Response {
    file(Path("index.html".to_owned()), headers).await
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    static SITE: OnceCell<Site> = OnceCell::const_new();
    let made = SITE.get_or_try_init(async || {
        let made = tokio::task::spawn_blocking(site).await;
        made.map_err(|error| error.to_string())?
    });
    let site = match made.await {
        Ok(site) => site,
        Err(error) => return failure(&error),
    };
    match (site.get(&name), media_type(&name)) {
        (Some(content), Some(media_type)) => respond(&headers, media_type, content),
        _ => dashboard::error_page(Problem::not_found("such page")),
    }
}

/// Files by name.
type Site = HashMap<String, Cow<'static, [u8]>>;

/// What each page of the book leads to.
const LINKS: &[(&str, &str)] = &[("Dashboard", "/"), ("API", "../api/docs")];

/// The whole book. It is made when it is first asked for: most nodes are never asked.
fn site() -> Result<Site, String> {
    let book = embedded::book()?;
    let colours = dashboard::style_sheet();
    let pages = book.site(&colours, LINKS)?.into_iter();
    let mut site: Site = pages
        .map(|(name, content)| (name, Cow::Owned(content.into_bytes())))
        .collect();
    for path in book.pictures() {
        let content = embedded::file(&path).ok_or_else(|| format!("there is no {path}"))?;
        site.insert(book::picture_file(&path), Cow::Borrowed(content));
    }
    site.extend(dashboard::font());
    site.insert("api.css".to_owned(), api_page::STYLE.as_bytes().into());
    site.insert("api.js".to_owned(), api_page::SCRIPT.as_bytes().into());
    Ok(site)
}

fn failure(error: &str) -> Response {
    tracing::error!(error, "a page of the documentation could not be made");
    let detail = "the page could not be made; the log of the node has the error";
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    dashboard::error_page(Problem::new(status, "internal", detail))
}

fn respond(headers: &HeaderMap, media_type: &'static str, content: &[u8]) -> Response {
    let sum = Sha256::digest(content);
    let digits: String = sum.iter().take(8).map(|it| format!("{it:02x}")).collect();
    let tag = format!("\"{digits}\"");
    let known = headers.get(header::IF_NONE_MATCH);
    let is_fresh = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let tag = HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""));
    let head = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type)),
        // Another version of the node has other pages.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (header::ETAG, tag),
    ];
    if is_fresh {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, content.to_vec()).into_response()
}

fn media_type(file: &str) -> Option<&'static str> {
    match file.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        "png" => Some("image/png"),
        "woff2" => Some("font/woff2"),
        _ => None,
    }
}
