//! Endpoints and keys. What is secret is shown once, on the page that made it.

use askama::Template;
use axum::extract::State;
use serde_json::{Value, json};
use steadfast_core::{EventType, KeyId};

use super::{
    frame::{Frame, HtmlPage, PageError, done, render},
    viewer::{Editor, Viewer},
};
use crate::{
    api,
    body::{Body, Id, MaybeBody},
    json::Json,
    keys::Scope,
    problem::Problem,
};

/// A secret, for the one time it is shown.
struct Made {
    what: &'static str,
    id: String,
    secret: String,
}

impl Made {
    fn of(what: &'static str, field: &str, answer: &Value) -> Self {
        let text = |name: &str| answer.get(name).and_then(Value::as_str);
        Self {
            what,
            id: text("id").unwrap_or_default().to_owned(),
            secret: text(field).unwrap_or_default().to_owned(),
        }
    }
}

#[derive(Template)]
#[template(path = "endpoints.html")]
struct EndpointsPage {
    frame: Frame,
    rows: Vec<Endpoint>,
    events: &'static [EventType],
    made: Option<Made>,
    shows_tenants: bool,
}

struct Endpoint {
    id: String,
    tenant: String,
    url: String,
    description: String,
    events: Vec<String>,
    format: String,
    live: usize,
    disabled: bool,
}

pub async fn endpoints(viewer: Viewer) -> HtmlPage {
    endpoints_page(viewer, None).await
}

async fn endpoints_page(viewer: Viewer, made: Option<Made>) -> HtmlPage {
    let tenant = viewer.caller.tenant.as_ref();
    let now = viewer.app.client.now();
    let endpoints = viewer.app.client.endpoints(tenant).await?;
    let rows = endpoints.into_iter().map(|endpoint| Endpoint {
        id: endpoint.id.to_string(),
        tenant: endpoint.tenant.to_string(),
        live: endpoint.live_secrets(now).count(),
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
        made,
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

/// Through the API's own functions, so that the same rules hold.
pub async fn change_endpoint(editor: Editor) -> HtmlPage {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let app = State(viewer.app.clone());
    let made = match form.get("action") {
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
            let (_, Json(made)) = api::endpoints::create(app, writes, Body(read(body)?)).await?;
            Made::of("endpoint", "secret", &json!(made))
        }
        Some("rotate") => {
            let id = id(form.value("id"))?;
            let body = MaybeBody(steadfast_api::RotateSecretRequest::default());
            let Json(made) = api::endpoints::rotate(app, writes, Id(id), body).await?;
            Made::of("endpoint", "secret", &json!(made))
        }
        Some("delete") => {
            let id = id(form.value("id"))?;
            api::endpoints::delete(app, writes, Id(id)).await?;
            return Ok(done("/endpoints", "delete", None));
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    endpoints_page(viewer, Some(made)).await
}

fn read<T: serde::de::DeserializeOwned>(body: Value) -> Result<T, Problem> {
    crate::body::parse(body.to_string().as_bytes())
}

fn id<T: std::str::FromStr>(text: &str) -> Result<T, Problem> {
    let shown: String = text.chars().take(64).collect();
    text.parse().map_err(|_| Problem::not_found(shown))
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    frame: Frame,
    rows: Vec<Value>,
    scopes: &'static [Scope],
    made: Option<Made>,
    is_first: bool,
    shows_tenants: bool,
}

impl KeysPage {
    fn text<'a>(&self, row: &'a Value, name: &str) -> &'a str {
        row.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

pub async fn keys(viewer: Viewer) -> HtmlPage {
    keys_page(viewer, None).await
}

async fn keys_page(viewer: Viewer, made: Option<Made>) -> HtmlPage {
    let rows = match viewer.may_write() {
        true => listed(&viewer).await?,
        false => Vec::new(),
    };
    render(&KeysPage {
        frame: Frame::of(&viewer, "/keys", "API keys"),
        is_first: rows.is_empty() && viewer.session.is_none(),
        rows,
        scopes: Scope::ALL,
        made,
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

async fn listed(viewer: &Viewer) -> Result<Vec<Value>, PageError> {
    let writes = crate::access::Writes(viewer.caller.clone());
    let Json(keys) = api::keys::list(State(viewer.app.clone()), writes).await?;
    Ok(keys.keys.iter().map(|key| json!(key)).collect())
}

pub async fn change_key(editor: Editor) -> HtmlPage {
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
            let (_, Json(made)) = api::keys::create(app, writes, Body(read(body)?)).await?;
            let made = Made::of("key", "token", &json!(made));
            keys_page(viewer, Some(made)).await
        }
        Some("delete") => {
            let id: KeyId = id(form.value("id"))?;
            api::keys::delete(app, writes, Id(id)).await?;
            Ok(done("/keys", "delete", None))
        }
        _ => Err(Problem::invalid("action", "there is no such action").into()),
    }
}
