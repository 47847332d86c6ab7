//! Signing in with an API key, and out again.

use std::{sync::Arc, time::Duration};

use askama::Template;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};
use tokio::sync::Semaphore;

use super::{
    fields::Fields,
    frame::{Frame, HtmlPage, PageError, done, render, see},
    viewer::{COOKIE, OwnForm, token},
};
use crate::{App, access, limits, problem::Problem, sessions};

/// How long a wrong key takes, and how many are looked at together: a key cannot be guessed, but
/// nobody needs to try quickly.
const WRONG_KEY_TIME: Duration = Duration::from_millis(300);
const WRONG_KEYS_MAX: usize = 16;

pub struct SignInLimiter(Arc<Semaphore>);

impl Default for SignInLimiter {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WRONG_KEYS_MAX)))
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    frame: Frame,
    next: String,
    is_wrong: bool,
}

pub async fn page(State(app): State<Arc<App>>, query: axum::http::Uri) -> HtmlPage {
    if access::anonymous(&app).await?.is_some() {
        return Ok(see("/"));
    }
    let fields = Fields::parse(query.query().unwrap_or_default().as_bytes());
    render(&shown(fields.value("next"), false))
}

fn shown(next: &str, is_wrong: bool) -> SignInPage {
    SignInPage {
        frame: Frame::bare("Sign in"),
        next: next.to_owned(),
        is_wrong,
    }
}

pub async fn sign_in(State(app): State<Arc<App>>, OwnForm(form): OwnForm) -> HtmlPage {
    let keys = app.keys.get().await?;
    let Some(key) = keys.find(form.value("key")) else {
        let permit = app.sign_ins.0.clone().try_acquire_owned();
        let _permit = permit.map_err(|_| {
            let detail = "too many wrong keys at once; try again in a moment";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", detail)
        })?;
        tokio::time::sleep(WRONG_KEY_TIME).await;
        let mut response = render(&shown(form.value("next"), true))?;
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        return Ok(response);
    };
    let token = sessions::start(&*app.node.store(), key.id).await?;
    app.sessions.refresh().await?;
    let next = form.get("next").unwrap_or("/");
    Ok(with_cookie(
        done(next, "", None),
        &token,
        limits::SESSION_TIME_MAX.as_secs(),
    ))
}

pub async fn sign_out(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    _form: OwnForm,
) -> Result<Response, PageError> {
    if let Some(token) = token(&headers) {
        sessions::end(&*app.node.store(), &token).await?;
        app.sessions.refresh().await?;
    }
    Ok(with_cookie(see("/sign-in"), "", 0))
}

/// A node speaks plain HTTP, so the cookie cannot ask for more; behind a proxy that speaks
/// HTTPS, the browser and the proxy keep it from others.
fn with_cookie(mut response: Response, token: &str, seconds: u64) -> Response {
    let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
