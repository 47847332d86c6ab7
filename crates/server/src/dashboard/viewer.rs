//! The caller of a page, and the check that every action passes.
//!
//! A browser adds the cookie to a request no matter which site caused it. `SameSite=Strict`
//! keeps the cookie out of requests that other sites cause, and the browser also names the
//! origin of a request; an action that does not come from a page of the dashboard is refused.

use std::sync::Arc;

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::{Method, request::Parts},
};

use steadfast_core::Tenant;

use crate::{
    api::query,
    app::App,
    auth::keys::Scope,
    dashboard::{
        actions::action_message, fields::Fields, page_caches::EditorSlot,
        refused_filters::RefusedFilters,
    },
    extract::{
        Caller, Writes,
        access::{self, RequestClass},
        body,
    },
    http::{Problem, base_path::own_url},
    limits,
    theme::{Layout, PageError, navigation::SectionCounts},
};

/// The caller of a page, who may read.
pub struct Viewer {
    pub app: Arc<App>,
    pub caller: Caller,
    /// The token of the session; `None` while no key is needed.
    pub session: Option<String>,
    /// The query string.
    pub fields: Fields,
    /// What is wrong with the fields that were left out of it.
    pub refused_filters: RefusedFilters,
    /// The address under which the browser sees this server.
    pub url: String,
    /// For the sections beside the page.
    pub counts: Arc<SectionCounts>,
}

impl Viewer {
    /// Whether the page would still be shown: the key is not revoked and the session goes on.
    pub async fn is_authorized(&self) -> Result<bool, Problem> {
        let has_session = match &self.session {
            Some(token) => self.app.sessions.has(token).await?,
            None => true,
        };
        Ok(has_session && self.caller.is_authorized(&self.app).await?)
    }

    pub fn may_write(&self) -> bool {
        self.caller.may_write()
    }

    /// The tenant that the page is about: the caller's own, or the one that the address names.
    pub fn tenant(&self) -> Result<Option<Tenant>, Problem> {
        query::tenant(self.fields.get("tenant"), &self.caller)
    }

    /// The layout of a page of this section.
    pub fn layout(&self, section: &'static str, title: impl Into<String>) -> Layout {
        let scope = self.caller.scope;
        let caller = match &self.caller.tenant {
            Some(tenant) => format!("tenant {tenant}, {scope}"),
            None => format!("all tenants, {scope}"),
        };
        let caller = match &self.caller.person {
            Some((person, _)) => format!("{}: {caller}", person.name),
            None => caller,
        };
        Layout {
            title: title.into(),
            section,
            signed_in_as: self.session.as_ref().map(|_| caller),
            may_write: self.may_write(),
            sees_all_tenants: self.caller.tenant.is_none(),
            message: action_message(&self.fields),
            refused_filters: self.refused_filters.0.clone(),
            now: self.app.client.now(),
            url: self.url.clone(),
            counts: self.counts.clone(),
        }
    }
}

impl FromRequestParts<Arc<App>> for Viewer {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, PageError> {
        let fields = Fields::parse(parts.uri.query().unwrap_or_default().as_bytes());
        let found = match access::anonymous(app).await? {
            Some(caller) => Some((caller, None)),
            None => {
                let found = access::session_caller(app, parts).await?;
                found.map(|(caller, token)| (caller, Some(token)))
            }
        };
        let Some((caller, session)) = found else {
            let path = parts.uri.path_and_query();
            let next = path.map_or("/", |path| path.as_str());
            return Err(PageError::SignIn(next.to_owned()));
        };
        let caller = caller.reads()?;
        let class = match parts.method {
            Method::GET | Method::HEAD => RequestClass::Read,
            _ => RequestClass::Write,
        };
        caller.enter(app, class).await?;
        // An action may lead to a question, which has the sections beside it like every page.
        let is_page = !parts.uri.path().starts_with("/ui/");
        let counts = if is_page {
            let tenant = caller.tenant.as_ref();
            app.dashboard.section_counts(&app.client, tenant).await
        } else {
            Arc::default()
        };
        Ok(Self {
            app: app.clone(),
            caller,
            session,
            fields,
            refused_filters: parts.extensions.get().cloned().unwrap_or_default(),
            url: own_url(parts),
            counts,
        })
    }
}

/// A caller who may change things, with a form from a page of the dashboard.
pub struct Editor {
    pub viewer: Viewer,
    pub form: Fields,
}

impl Editor {
    pub fn writes(&self) -> Writes {
        let Viewer { app, caller, .. } = &self.viewer;
        Writes {
            app: app.clone(),
            caller: caller.clone(),
        }
    }
}

impl FromRequest<Arc<App>> for Editor {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, PageError> {
        let (mut parts, body) = request.into_parts();
        app.own_hosts.require_own_page(&parts.headers)?;
        let mut viewer = Viewer::from_request_parts(&mut parts, app).await?;
        viewer.caller.way = "dashboard";
        viewer.caller.clone().may(&[Scope::Admin, Scope::Tenant])?;
        if let Some(slot) = parts.extensions.get::<EditorSlot>() {
            slot.set(viewer.caller.tenant.as_ref());
        }
        let bytes = body::collect(
            Request::from_parts(parts, body),
            app.settings.body_bytes_max,
        )
        .await?;
        let form = Fields::parse(&bytes);
        Ok(Self { viewer, form })
    }
}

/// A form from a page of the dashboard, for an action that needs no session.
pub struct SameOriginForm(pub Fields);

impl FromRequest<Arc<App>> for SameOriginForm {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, PageError> {
        app.own_hosts.require_own_page(request.headers())?;
        let bytes = body::collect(request, limits::SIGN_IN_BYTES_MAX).await?;
        Ok(Self(Fields::parse(&bytes)))
    }
}
