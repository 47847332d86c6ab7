//! Signing in with the provider: to it, and back.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::Response,
};

use super::sign_in::{self, SignInPage, check_address, fail_address};
use crate::{
    app::App,
    auth::{
        oidc::{Oidc, STATE_COOKIE, SignInError},
        sessions,
    },
    dashboard::{
        actions::is_own_path,
        page::{Fields, Layout, PageResult, redirect_to, render},
    },
    http::{Problem, base_path::MountPath},
    limits::SIGN_IN_TIME_MAX,
};

/// The page after a sign-in. A redirect would not do: the browser came from another site, and
/// would leave out the cookie of the session.
#[derive(Template)]
#[template(path = "signed_in.html")]
struct SignedInPage {
    layout: Layout,
    next: String,
}

/// Sends the browser to the provider.
pub async fn start(State(app): State<Arc<App>>, extensions: Extensions, uri: Uri) -> PageResult {
    check_address(&app, &extensions)?;
    let oidc = oidc(&app)?;
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
    let next = fields.get("next").unwrap_or("/");
    match oidc.start(next, &redirect_uri(&app)).await {
        Ok(start) => {
            let response = redirect_to(&start.location);
            Ok(state_cookie(&app, &extensions, response, &start.cookie))
        }
        Err(error) => refuse(&app, &extensions, &error),
    }
}

/// The provider has sent the browser back.
pub async fn callback(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    extensions: Extensions,
    uri: Uri,
) -> PageResult {
    check_address(&app, &extensions)?;
    let oidc = oidc(&app)?;
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
    let answer = |name: &str| fields.get(name).map(str::to_owned);
    let cookie = sessions::cookie(&headers, STATE_COOKIE);
    let now = app.client.now();
    let redirect_uri = redirect_uri(&app);
    let finished = oidc.finish(&answer, cookie.as_deref(), &redirect_uri, now);
    let (person, next) = match finished.await {
        Ok(finished) => finished,
        Err(error) => return refuse(&app, &extensions, &error),
    };
    tracing::info!(person = person.name, scope = %person.scope, "a person has signed in");
    let time = oidc.settings.session_time;
    let token = app.sessions.start_person(person, time).await?;
    let next = if is_own_path(&next) {
        next
    } else {
        "/".to_owned()
    };
    let layout = Layout::bare("Signed in");
    let prefix = extensions.get::<MountPath>().map_or("", |path| &path.0);
    let refresh = HeaderValue::from_str(&format!("0; url={prefix}{next}"));
    let mut page = render(&SignedInPage { layout, next })?;
    if let Ok(refresh) = refresh {
        page.headers_mut().insert(header::REFRESH, refresh);
    }
    let page = state_cookie(&app, &extensions, page, "");
    let is_secure = sign_in::is_secure(&app, &extensions);
    Ok(sign_in::with_cookie(
        page,
        &token,
        time.as_secs(),
        is_secure,
    ))
}

fn oidc(app: &App) -> Result<&Oidc, Problem> {
    let oidc = app.settings.oidc.as_deref();
    oidc.ok_or_else(|| Problem::not_found("such page"))
}

fn redirect_uri(app: &App) -> String {
    let url = app.settings.public_url.as_deref().unwrap_or_default();
    format!("{url}/sign-in/callback")
}

/// The sign-in page with the reason. There is no session.
fn refuse(app: &App, extensions: &Extensions, error: &SignInError) -> PageResult {
    tracing::warn!("sign-in failed: {error}");
    if error.is_suspicious() {
        fail_address(app, extensions);
    }
    let status = match error {
        SignInError::ProviderAway { .. } => StatusCode::SERVICE_UNAVAILABLE,
        SignInError::NoRole { .. } => StatusCode::FORBIDDEN,
        _ => StatusCode::UNAUTHORIZED,
    };
    let mut response = render(&SignInPage::new(app, "/", Some(error.to_string())))?;
    *response.status_mut() = status;
    Ok(state_cookie(app, extensions, response, ""))
}

/// Sets the cookie of a sign-in, or ends it. Unlike that of a session it comes back when the
/// provider sends the browser here.
fn state_cookie(app: &App, extensions: &Extensions, response: Response, value: &str) -> Response {
    let seconds = if value.is_empty() {
        0
    } else {
        SIGN_IN_TIME_MAX.as_secs()
    };
    let is_secure = sign_in::is_secure(app, extensions);
    let attributes = format!("HttpOnly; SameSite=Lax; Max-Age={seconds}");
    sign_in::add_cookie(response, STATE_COOKIE, value, &attributes, is_secure)
}
