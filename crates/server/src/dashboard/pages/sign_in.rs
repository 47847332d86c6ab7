//! Signing in with an API key, and signing out.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, StatusCode},
};
use steadfast_core::duration;

use crate::{
    app::App,
    auth::sessions,
    dashboard::{
        page::{Fields, Layout, PageResult, redirect_back, redirect_to, render},
        viewer::SameOriginForm,
    },
    extract::{Caller, access},
    http::{Problem, connections::Connection},
    limits,
};

#[derive(Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    layout: Layout,
    next: String,
    error: Option<String>,
    has_provider: bool,
    session_time: String,
}

impl SignInPage {
    pub fn new(app: &App, next: &str, error: Option<String>) -> Self {
        let key_time = duration::format(limits::SESSION_TIME_MAX);
        let oidc = app.settings.oidc.as_ref();
        let session_time = match oidc.map(|oidc| duration::format(oidc.settings.session_time)) {
            Some(time) if time != key_time => {
                format!("{time} with single sign-on, {key_time} with a key")
            }
            _ => key_time,
        };
        Self {
            layout: Layout::bare("Sign in"),
            next: next.to_owned(),
            error,
            has_provider: app.settings.oidc.is_some(),
            session_time,
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
    let mut response = redirect_back(next, "", None);
    let seconds = limits::SESSION_TIME_MAX.as_secs();
    let cookies = app.settings.cookies(&extensions);
    cookies.set(
        response.headers_mut(),
        sessions::COOKIE,
        &token,
        "Strict",
        seconds,
    );
    Ok(response)
}

pub async fn sign_out(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    extensions: Extensions,
    _form: SameOriginForm,
) -> PageResult {
    let cookies = app.settings.cookies(&extensions);
    if let Some(token) = cookies.get(&headers, sessions::COOKIE) {
        app.sessions.end(&token, &*app.keys.get().await?).await?;
    }
    let mut response = redirect_to("/sign-in");
    cookies.set(response.headers_mut(), sessions::COOKIE, "", "Strict", 0);
    Ok(response)
}

/// Refuses an address that has failed too often. A router of another program knows no addresses.
fn check_address(app: &App, extensions: &Extensions) -> Result<(), Problem> {
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

fn fail_address(app: &App, extensions: &Extensions) {
    if let Some(connection) = extensions.get::<Arc<Connection>>() {
        app.failed_sign_ins.add(connection.address);
        app.refused_keys.add(connection.address);
    }
}
