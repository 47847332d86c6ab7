//! API keys. The token of a key is shown once, on the page that created it.

use askama::Template;
use axum::extract::State;
use serde_json::json;
use steadfast_api::{KeyBody, KeyWithToken};

use super::{
    credential::NewCredential,
    format::PageTime,
    frame::{Frame, redirect_back, render},
    page_error::PageResult,
    viewer::{Editor, Viewer},
};
use crate::{
    access::Writes,
    api,
    body::{Body, Id},
    json::Json,
    keys::Scope,
    problem::Problem,
};

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
    key: KeyBody,
    tenant: String,
    created: PageTime,
}

impl KeyRow {
    fn of(key: KeyBody, frame: &Frame) -> Self {
        let tenant = key.tenant.as_ref().map(ToString::to_string);
        Self {
            tenant: tenant.unwrap_or_else(|| "all".to_owned()),
            created: frame.time(key.created_at),
            key,
        }
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(viewer, None).await
}

async fn page_with(viewer: Viewer, created: Option<KeyWithToken>) -> PageResult {
    let frame = Frame::of(&viewer, "/keys", "API keys");
    let keys = if viewer.may_write() {
        let writes = Writes(viewer.caller.clone());
        let Json(list) = api::keys::list(State(viewer.app.clone()), writes).await?;
        list.keys
    } else {
        Vec::new()
    };
    let rows = keys.into_iter().map(|key| KeyRow::of(key, &frame));
    let rows: Vec<KeyRow> = rows.collect();
    render(&KeysPage {
        is_first: rows.is_empty() && viewer.session.is_none(),
        rows,
        scopes: Scope::ALL,
        created: created.map(NewCredential::token),
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
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
            let body = Body(crate::body::parse(body.to_string().as_bytes())?);
            let (_, Json(created)) = api::keys::create(app, writes, body).await?;
            page_with(viewer, Some(created)).await
        }
        Some("delete") => {
            let id = Id(form.id("id")?);
            api::keys::delete(app, writes, id).await?;
            Ok(redirect_back("/keys", "revoke", None))
        }
        _ => Err(Problem::invalid("action", "there is no such action").into()),
    }
}
