//! `/docs`: the book, as it was when this program was built; `/api/docs`: the description of the
//! API. Both can be read without scripts and load nothing from elsewhere.
//!
//! Links within are relative; that to the dashboard gets the path at which it is mounted.

mod api_pages;
mod example;
mod operation;
mod schema;

use std::{
    collections::{BTreeMap, HashMap},
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
use serde_json::Value;
use steadfast_book::{book, embedded};
use tokio::sync::OnceCell;

use crate::{
    api,
    app::App,
    http::{Problem, base_path::own_url},
    theme::{
        assets::{self, EmbeddedFile, media_type},
        error_page::error_page,
        headers::with_security_headers,
    },
};

pub fn router() -> Router<Arc<App>> {
    Router::new()
        .route("/docs", get(async || redirect_to("docs/")))
        .route("/docs/", get(first_page))
        .route("/docs/{*file}", get(file))
        .route("/api/docs", get(async || redirect_to("docs/")))
        .route("/api/docs/", get(first_api_page))
        .route("/api/docs/{page}", get(api_page))
        .layer(middleware::map_response(async |response| {
            with_security_headers(response)
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

/// The description with the address under which its reader sees this server.
async fn description(request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let server = |url: &str| format!("\"url\": {}", Value::from(url));
    let own = server(&own_url(&parts));
    let text = DESCRIPTION.replacen(&server(api::EXAMPLE_SERVER), &own, 1);
    EmbeddedFile::new(text.into_bytes()).respond(&parts.headers, "application/json")
}

async fn first_api_page(request: Request) -> Response {
    api_page(Path(api_pages::FIRST.to_owned()), request).await
}

/// A page of the API with the address under which its reader sees this server.
async fn api_page(Path(name): Path<String>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    static PAGES: OnceCell<BTreeMap<String, String>> = OnceCell::const_new();
    let made = PAGES.get_or_try_init(async || {
        let made = tokio::task::spawn_blocking(|| api_pages::make(&DESCRIPTION)).await;
        made.map_err(|error| error.to_string())?
    });
    match made.await.map(|pages| pages.get(&name)) {
        Ok(Some(page)) => {
            let page = api_pages::with_url(page, &own_url(&parts));
            EmbeddedFile::new(page.into_bytes()).respond(&parts.headers, "text/html; charset=utf-8")
        }
        Ok(None) => error_page(Problem::not_found("such page")),
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
        (Some(file), Some(media_type)) => file.respond(&headers, media_type),
        _ => error_page(Problem::not_found("such page")),
    }
}

/// Files by name.
type Site = HashMap<String, EmbeddedFile>;

/// The links of each page of the book.
const LINKS: &[(&str, &str)] = &[("Dashboard", "/"), ("API", "../api/docs/")];

/// The whole book. It is made when it is first asked for: most nodes are never asked.
fn site() -> Result<Site, String> {
    let book = embedded::book()?;
    let colours = assets::style_sheet();
    let pages = book.site(&colours, LINKS)?.into_iter();
    let mut site: Site = pages
        .map(|(name, content)| (name, EmbeddedFile::new(content.into_bytes())))
        .collect();
    for path in book.pictures() {
        let content = embedded::file(&path).ok_or_else(|| format!("there is no {path}"))?;
        site.insert(book::picture_file(&path), EmbeddedFile::new(content));
    }
    site.extend(assets::font().map(|(name, content)| (name, EmbeddedFile::new(content))));
    for (name, content) in [("api.css", api_pages::STYLE), ("api.js", api_pages::SCRIPT)] {
        site.insert(name.to_owned(), EmbeddedFile::new(content.as_bytes()));
    }
    Ok(site)
}

fn failure(error: &str) -> Response {
    tracing::error!(error, "cannot render a page of the documentation");
    let detail = "cannot render the page; see the log of the node";
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    error_page(Problem::new(status, "internal", detail))
}
