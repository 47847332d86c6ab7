//! Signing in with the provider: to it, and back.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{Extensions, HeaderMap, HeaderValue, StatusCode, Uri, header},
};

use super::sign_in::SignInPage;
use crate::{
    app::App,
    auth::{
        oidc::{Oidc, STATE_COOKIE, SignInError, state_cookie},
        sessions,
    },
    dashboard::{
        actions::is_own_path,
        page::{Fields, Layout, PageResult, redirect_to, render},
    },
    http::{Problem, base_path::MountPath, connections::Connection},
    limits::{SIGN_IN_TIME_MAX, SIGN_INS_PENDING_MAX},
};

/// The page after a sign-in. A redirect would not do: the browser came from another site, and
/// would leave out the cookie of the session.
#[derive(Template)]
#[template(path = "signed_in.html")]
struct SignedInPage {
    layout: Layout,
    next: String,
}

/// Sends the browser to the provider. Its cookie comes back, unlike that of a session, when the
/// provider sends the browser here.
pub async fn start(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    extensions: Extensions,
    uri: Uri,
) -> PageResult {
    let oidc = oidc(&app)?;
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
    let next = fields.get("next").unwrap_or("/");
    let start = match oidc.start(next, &redirect_uri(&app)).await {
        Ok(start) => start,
        Err(error) => return refuse(&app, &extensions, &error),
    };
    let mut response = redirect_to(&start.location);
    let cookies = app.settings.cookies(&extensions);
    let pending = cookies.names(&headers, STATE_COOKIE);
    let excess = (pending.len() + 1).saturating_sub(SIGN_INS_PENDING_MAX);
    for oldest in pending.iter().take(excess) {
        cookies.set(response.headers_mut(), oldest, "", "Lax", 0);
    }
    if let Some(name) = state_cookie(&start.state) {
        let seconds = SIGN_IN_TIME_MAX.as_secs();
        cookies.set(response.headers_mut(), &name, &start.cookie, "Lax", seconds);
    }
    Ok(response)
}

/// The provider has sent the browser back.
pub async fn callback(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    extensions: Extensions,
    uri: Uri,
) -> PageResult {
    let oidc = oidc(&app)?;
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes());
    let answer = |name: &str| fields.get(name).map(str::to_owned);
    let cookies = app.settings.cookies(&extensions);
    let name = fields.get("state").and_then(state_cookie);
    let carried = name.as_ref().and_then(|name| cookies.get(&headers, name));
    let redirect_uri = redirect_uri(&app);
    let now = app.client.now();
    let finished = oidc.finish(&answer, carried.as_deref(), &redirect_uri, now);
    let finished = finished.await;
    // A forged callback does not end the sign-in of another tab.
    let is_over = finished != Err(SignInError::WrongState);
    let mut page = match finished {
        Ok((person, next)) => {
            tracing::info!(person = person.name, "a person has signed in");
            let time = oidc.settings.session_time;
            let token = app.sessions.start_person(person, time).await?;
            let mut page = signed_in(&extensions, next)?;
            let (headers, seconds) = (page.headers_mut(), time.as_secs());
            cookies.set(headers, sessions::COOKIE, &token, "Strict", seconds);
            page
        }
        Err(error) => refuse(&app, &extensions, &error)?,
    };
    if let Some(name) = name.filter(|_| is_over) {
        cookies.set(page.headers_mut(), &name, "", "Lax", 0);
    }
    Ok(page)
}

fn signed_in(extensions: &Extensions, next: String) -> PageResult {
    let next = match is_own_path(&next) {
        true => next,
        false => "/".to_owned(),
    };
    let prefix = extensions.get::<MountPath>().map_or("", |path| &path.0);
    let refresh = HeaderValue::from_str(&format!("0; url={prefix}{next}"));
    let layout = Layout::bare("Signed in");
    let mut page = render(&SignedInPage { layout, next })?;
    if let Ok(refresh) = refresh {
        page.headers_mut().insert(header::REFRESH, refresh);
    }
    Ok(page)
}

fn oidc(app: &App) -> Result<&Oidc, Problem> {
    let oidc = app.settings.oidc.as_deref();
    oidc.ok_or_else(|| Problem::not_found("such page"))
}

fn redirect_uri(app: &App) -> String {
    let url = app.settings.public_url.as_deref().unwrap_or_default();
    format!("{url}/sign-in/callback")
}

/// The sign-in page with the reason. There is no session. It does not count against the address:
/// a code cannot be guessed, and everybody can send a wrong one.
fn refuse(app: &App, extensions: &Extensions, error: &SignInError) -> PageResult {
    let connection = extensions.get::<Arc<Connection>>();
    let failed = &app.failed_provider_sign_ins;
    if !connection.is_some_and(|connection| failed.is_blocked(connection.address)) {
        tracing::warn!("sign-in failed: {error}");
    }
    if let Some(connection) = connection {
        failed.add(connection.address);
    }
    let status = match error {
        SignInError::ProviderAway { .. } => StatusCode::SERVICE_UNAVAILABLE,
        SignInError::NoRole { .. } => StatusCode::FORBIDDEN,
        _ => StatusCode::UNAUTHORIZED,
    };
    let mut response = render(&SignInPage::new(app, "/", Some(error.to_string())))?;
    *response.status_mut() = status;
    Ok(response)
}
