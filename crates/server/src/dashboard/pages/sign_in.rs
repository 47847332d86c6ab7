//! Signing in with an API key, and signing out.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use crate::{
    app::App,
    auth::sessions,
    dashboard::{
        page::{Fields, Layout, PageResult, redirect_back, redirect_to, render},
        viewer::SameOriginForm,
    },
    extract::{Caller, access},
    http::{Problem, base_path::arrived_with_tls, connections::Connection},
    limits,
};

#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    layout: Layout,
    next: String,
    error: Option<String>,
    has_provider: bool,
    session_hours: u64,
}

impl SignInPage {
    pub fn new(app: &App, next: &str, error: Option<String>) -> Self {
        Self {
            layout: Layout::bare("Sign in"),
            next: next.to_owned(),
            error,
            has_provider: app.settings.oidc.is_some(),
            session_hours: limits::SESSION_TIME_MAX.as_secs() / 3_600,
        }
    }
}

pub async fn page(State(app): State<Arc<App>>, query: axum::http::Uri) -> PageResult {
    if access::anonymous(&app).await?.is_some() {
        return Ok(redirect_to("/"));
    }
    let fields = Fields::parse(query.query().unwrap_or_default().as_bytes());
    render(&SignInPage::new(&app, fields.value("next"), None))
}

pub async fn sign_in(
    State(app): State<Arc<App>>,
    extensions: Extensions,
    SameOriginForm(form): SameOriginForm,
) -> PageResult {
    check_address(&app, &extensions)?;
    let keys = app.keys.get().await?;
    let now = app.client.now();
    let known = keys.find(form.value("key"));
    let Some(known) = known.filter(|known| !known.key.has_expired(now)) else {
        let permit = app.dashboard.try_wrong_key();
        let _permit = permit.map_err(|_| {
            let detail = "too many wrong keys at once; try again in a moment";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail)
        })?;
        fail_address(&app, &extensions);
        tokio::time::sleep(limits::WRONG_KEY_DELAY).await;
        let error = "Unknown or expired API key.".to_owned();
        let mut response = render(&SignInPage::new(&app, form.value("next"), Some(error)))?;
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(response);
    };
    Caller::of(&known.key).reads()?;
    let token = app.sessions.start(known.key.id).await?;
    let next = form.get("next").unwrap_or("/");
    let is_secure = is_secure(&app, &extensions);
    Ok(with_cookie(
        redirect_back(next, "", None),
        &token,
        limits::SESSION_TIME_MAX.as_secs(),
        is_secure,
    ))
}

pub async fn sign_out(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    extensions: Extensions,
    _form: SameOriginForm,
) -> PageResult {
    if let Some(token) = sessions::token_of(&headers) {
        app.sessions.end(&token, &*app.keys.get().await?).await?;
    }
    let is_secure = is_secure(&app, &extensions);
    Ok(with_cookie(redirect_to("/sign-in"), "", 0, is_secure))
}

/// Whether the cookie may only travel over HTTPS. Over plain HTTP a browser would not send such a
/// cookie back, so a proxy with HTTPS needs the public address in the settings.
pub fn is_secure(app: &App, extensions: &Extensions) -> bool {
    arrived_with_tls(extensions) || app.settings.is_public_https()
}

/// The cookie of a session.
pub fn with_cookie(response: Response, token: &str, seconds: u64, is_secure: bool) -> Response {
    let attributes = format!("HttpOnly; SameSite=Strict; Max-Age={seconds}");
    add_cookie(response, sessions::COOKIE, token, &attributes, is_secure)
}

pub fn add_cookie(
    mut response: Response,
    name: &str,
    value: &str,
    attributes: &str,
    is_secure: bool,
) -> Response {
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; {attributes}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Refuses an address that has failed too often. A router of another program knows no addresses.
pub fn check_address(app: &App, extensions: &Extensions) -> Result<(), Problem> {
    match extensions.get::<Arc<Connection>>() {
        Some(connection) if app.failed_sign_ins.is_blocked(connection.address) => {
            let detail = "too many failed sign-ins from your address; try again in a few minutes";
            Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many",
                detail,
            ))
        }
        _ => Ok(()),
    }
}

pub fn fail_address(app: &App, extensions: &Extensions) {
    if let Some(connection) = extensions.get::<Arc<Connection>>() {
        app.failed_sign_ins.add(connection.address);
    }
}
