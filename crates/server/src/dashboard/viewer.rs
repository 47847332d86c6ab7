//! Who looks at a page, and the guard that every action passes.
//!
//! A cookie comes along whoever made the browser send the request. `SameSite=Strict` keeps it
//! away from requests of other sites, and the browser says where a request comes from; an
//! action that does not come from one of our own pages is refused.

use std::sync::Arc;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header, request::Parts},
};

use super::{fields::Fields, frame::PageError};
use crate::{
    App,
    access::{self, Caller, Writes},
    body,
    keys::Scope,
    problem::Problem,
};

pub const COOKIE: &str = "steadfast_session";

/// Someone who may look.
pub struct Viewer {
    pub app: Arc<App>,
    pub caller: Caller,
    /// The token of the session, where there is one to end.
    pub session: Option<String>,
    /// What stands after `?`.
    pub fields: Fields,
}

impl Viewer {
    /// Whether the page would still be shown: neither key nor session has ended.
    pub async fn is_authorized(&self) -> Result<bool, Problem> {
        let is_going_on = match &self.session {
            Some(token) => {
                let sessions = self.app.sessions.get().await?;
                sessions.find(token, self.app.client.now()).is_some()
            }
            None => true,
        };
        Ok(is_going_on && self.caller.is_authorized(&self.app).await?)
    }

    pub fn may_write(&self) -> bool {
        matches!(self.caller.scope, Scope::Admin | Scope::Tenant)
    }
}

impl FromRequestParts<Arc<App>> for Viewer {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let fields = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let known = match access::anonymous(app).await? {
            Some(anybody) => Some((anybody, None)),
            None => of_session(app, &parts.headers).await?,
        };
        let Some((caller, session)) = known else {
            let path = parts.uri.path_and_query();
            let next = path.map_or("/", |path| path.as_str());
            return Err(PageError::SignIn(next.to_owned()));
        };
        Ok(Self {
            app: app.clone(),
            caller,
            session,
            fields,
        })
    }
}

/// Who a session stands for, and its token. One that another node started a moment ago is looked
/// for.
async fn of_session(
    app: &App,
    headers: &HeaderMap,
) -> Result<Option<(Caller, Option<String>)>, Problem> {
    let Some(token) = token(headers) else {
        return Ok(None);
    };
    let now = app.client.now();
    let session = match app.sessions.get().await?.find(&token, now) {
        Some(session) => Some(session),
        None => app.sessions.refresh().await?.find(&token, now),
    };
    let keys = app.keys.get().await?;
    let key = session.and_then(|session| keys.get(session.key));
    Ok(key.map(|key| (Caller::of(&key), Some(token))))
}

pub fn token(headers: &HeaderMap) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'));
    let found = pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then(|| value.to_owned())
    });
    found.filter(|token| !token.is_empty())
}

/// Someone who may change things, asking from one of our own pages.
pub struct Editor {
    pub viewer: Viewer,
    pub form: Fields,
}

impl Editor {
    pub fn writes(&self) -> Writes {
        Writes(self.viewer.caller.clone())
    }
}

impl FromRequest<Arc<App>> for Editor {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, PageError> {
        let (mut parts, body) = request.into_parts();
        from_our_own_page(&parts.headers)?;
        let viewer = Viewer::from_request_parts(&mut parts, app).await?;
        viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
        let bytes = body::collect(Request::from_parts(parts, body)).await?;
        let form = Fields::parse(&bytes);
        Ok(Self { viewer, form })
    }
}

/// The form of an action that needs no session.
pub struct OwnForm(pub Fields);

impl FromRequest<Arc<App>> for OwnForm {
    type Rejection = PageError;

    async fn from_request(request: Request, _: &Arc<App>) -> Result<Self, PageError> {
        from_our_own_page(request.headers())?;
        let bytes = body::collect(request).await?;
        Ok(Self(Fields::parse(&bytes)))
    }
}

fn from_our_own_page(headers: &HeaderMap) -> Result<(), Problem> {
    let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_ours = match said("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => match (said("origin"), said("host")) {
            (Some(origin), Some(host)) => {
                let origin = origin.split_once("://").map(|(_, rest)| rest);
                origin == Some(host)
            }
            _ => false,
        },
    };
    if is_ours {
        return Ok(());
    }
    let detail = "this request does not come from a page of this dashboard, so nothing was done; go back and try again from there";
    Err(Problem::new(StatusCode::FORBIDDEN, "cross_site", detail))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn only_a_page_of_our_own_may_ask_for_an_action() {
        let cases: [(&[(&str, &str)], bool); 7] = [
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("origin", "http://a:1"), ("host", "a:1")], true),
            (&[("origin", "http://b"), ("host", "a")], false),
            (&[("origin", "null"), ("host", "a")], false),
            (&[("host", "a")], false),
        ];
        for (said, expected) in cases {
            let headers: HeaderMap = said
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            assert_eq!(from_our_own_page(&headers).is_ok(), expected, "{said:?}");
        }
    }
}
