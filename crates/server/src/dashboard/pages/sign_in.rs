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
    http::{Problem, base_path::arrived_with_tls},
    limits,
};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    layout: Layout,
    next: String,
    is_wrong: bool,
    session_hours: u64,
}

pub async fn page(State(app): State<Arc<App>>, query: axum::http::Uri) -> PageResult {
    if access::anonymous(&app).await?.is_some() {
        return Ok(redirect_to("/"));
    }
    let fields = Fields::parse(query.query().unwrap_or_default().as_bytes());
    render(&sign_in_page(fields.value("next"), false))
}

fn sign_in_page(next: &str, is_wrong: bool) -> SignInPage {
    SignInPage {
        layout: Layout::bare("Sign in"),
        next: next.to_owned(),
        is_wrong,
        session_hours: limits::SESSION_TIME_MAX.as_secs() / 3_600,
    }
}

pub async fn sign_in(
    State(app): State<Arc<App>>,
    extensions: Extensions,
    SameOriginForm(form): SameOriginForm,
) -> PageResult {
    let keys = app.keys.get().await?;
    let now = app.client.now();
    let known = keys.find(form.value("key"));
    let Some(known) = known.filter(|known| !known.key.has_expired(now)) else {
        let permit = app.dashboard.try_wrong_key();
        let _permit = permit.map_err(|_| {
            let detail = "too many wrong keys at once; try again in a moment";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail)
        })?;
        tokio::time::sleep(limits::WRONG_KEY_DELAY).await;
        let mut response = render(&sign_in_page(form.value("next"), true))?;
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
fn is_secure(app: &App, extensions: &Extensions) -> bool {
    arrived_with_tls(extensions) || app.settings.is_public_https()
}

fn with_cookie(mut response: Response, token: &str, seconds: u64, is_secure: bool) -> Response {
    let name = sessions::COOKIE;
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie =
        format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
