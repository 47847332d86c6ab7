//! Endpoints and API keys. A secret or token is shown once, on the page that created it.

use askama::Template;
use axum::extract::State;
use serde_json::{Value, json};
use steadfast_core::{EventType, KeyId};

use super::{
    frame::{Frame, redirect_back, render},
    page_error::{PageError, PageResult},
    viewer::{Editor, Viewer},
};
use crate::{
    api,
    body::{Body, Id, MaybeBody},
    json::Json,
    keys::Scope,
    limits,
    problem::Problem,
};

/// The secret of an endpoint or the token of a key, for the one page that shows it.
struct NewCredential {
    title: &'static str,
    advice: &'static str,
    value: String,
    /// Of the endpoint or key.
    id: String,
}

impl NewCredential {
    fn secret(response: &Value) -> Self {
        Self {
            title: "New signing secret",
            advice: "Copy it now into the receiver of the webhooks: it is not shown again. Steadfast keeps it to sign deliveries.",
            value: text(response, "secret").to_owned(),
            id: text(response, "id").to_owned(),
        }
    }

    fn token(response: &Value) -> Self {
        Self {
            title: "New API key",
            advice: "Copy the token now: it is not shown again. Steadfast keeps only its hash.",
            value: text(response, "token").to_owned(),
            id: text(response, "id").to_owned(),
        }
    }
}

fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[derive(Template)]
#[template(path = "endpoints.html")]
struct EndpointsPage {
    frame: Frame,
    rows: Vec<EndpointRow>,
    events: &'static [EventType],
    created: Option<NewCredential>,
    shows_tenants: bool,
}

struct EndpointRow {
    id: String,
    tenant: String,
    url: String,
    description: String,
    events: Vec<String>,
    format: String,
    live_secrets: usize,
    disabled: bool,
}

pub async fn endpoints(viewer: Viewer) -> PageResult {
    endpoints_page(viewer, None).await
}

async fn endpoints_page(viewer: Viewer, created: Option<NewCredential>) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let now = viewer.app.client.now();
    let endpoints = viewer.app.client.endpoints(tenant).await?;
    let rows = endpoints.into_iter().map(|endpoint| EndpointRow {
        id: endpoint.id.to_string(),
        tenant: endpoint.tenant.to_string(),
        live_secrets: endpoint.live_secrets(now).count(),
        url: endpoint.url,
        description: endpoint.description,
        events: endpoint.events.iter().map(EventType::to_string).collect(),
        format: endpoint.format.to_string(),
        disabled: endpoint.disabled,
    });
    render(&EndpointsPage {
        rows: rows.collect(),
        frame: Frame::of(&viewer, "/endpoints", "Endpoints"),
        events: EventType::ALL,
        created,
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn change_endpoint(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let app = State(viewer.app.clone());
    let created = match form.get("action") {
        Some("create") => {
            let mut body = json!({
                "url": form.value("url"),
                "description": form.value("description"),
                "format": form.get("format"),
                "tenant": form.get("tenant"),
            });
            let events: Vec<&str> = form.all("event").collect();
            if !events.is_empty() {
                body["events"] = json!(events);
            }
            let (_, Json(created)) = api::endpoints::create(app, writes, Body(read(body)?)).await?;
            NewCredential::secret(&json!(created))
        }
        Some("rotate") => {
            let id = id(form.value("id"))?;
            let body = MaybeBody(steadfast_api::RotateSecretRequest::default());
            let Json(rotated) = api::endpoints::rotate(app, writes, Id(id), body).await?;
            NewCredential::secret(&json!(rotated))
        }
        Some("delete") => {
            let id = id(form.value("id"))?;
            api::endpoints::delete(app, writes, Id(id)).await?;
            return Ok(redirect_back("/endpoints", "delete", None));
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    endpoints_page(viewer, Some(created)).await
}

fn read<T: serde::de::DeserializeOwned>(body: Value) -> Result<T, Problem> {
    crate::body::parse(body.to_string().as_bytes())
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T, Problem> {
    text.parse().map_err(|_| {
        let id: String = text.chars().take(limits::ID_CHARS_MAX).collect();
        Problem::not_found(id)
    })
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    rows: Vec<KeyRow>,
    scopes: &'static [Scope],
    created: Option<NewCredential>,
    is_first: bool,
    shows_tenants: bool,
}

struct KeyRow {
    id: String,
    name: String,
    scope: String,
    tenant: String,
    created_at: String,
}

pub async fn keys(viewer: Viewer) -> PageResult {
    keys_page(viewer, None).await
}

async fn keys_page(viewer: Viewer, created: Option<NewCredential>) -> PageResult {
    let rows = if viewer.may_write() {
        key_rows(&viewer).await?
    } else {
        Vec::new()
    };
    render(&KeysPage {
        frame: Frame::of(&viewer, "/keys", "API keys"),
        is_first: rows.is_empty() && viewer.session.is_none(),
        rows,
        scopes: Scope::ALL,
        created,
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

async fn key_rows(viewer: &Viewer) -> Result<Vec<KeyRow>, PageError> {
    let writes = crate::access::Writes(viewer.caller.clone());
    let Json(keys) = api::keys::list(State(viewer.app.clone()), writes).await?;
    let rows = keys.keys.iter().map(|key| {
        let body = json!(key);
        let text = |name: &str| text(&body, name).to_owned();
        KeyRow {
            id: text("id"),
            name: text("name"),
            scope: text("scope"),
            tenant: text("tenant"),
            created_at: text("createdAt"),
        }
    });
    Ok(rows.collect())
}

pub async fn change_key(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let app = State(viewer.app.clone());
    match form.get("action") {
        Some("create") => {
            let body = json!({
                "name": form.value("name"),
                "scope": form.value("scope"),
                "tenant": form.get("tenant"),
            });
            let (_, Json(created)) = api::keys::create(app, writes, Body(read(body)?)).await?;
            let created = NewCredential::token(&json!(created));
            keys_page(viewer, Some(created)).await
        }
        Some("delete") => {
            let id: KeyId = id(form.value("id"))?;
            api::keys::delete(app, writes, Id(id)).await?;
            Ok(redirect_back("/keys", "revoke", None))
        }
        _ => Err(Problem::invalid("action", "there is no such action").into()),
    }
}
