//! API keys. The token of a key is shown once, on the page that created it.

use askama::Template;
use axum::extract::State;
use serde_json::json;
use steadfast_api::{KeyBody, KeyWithToken};
use steadfast_core::{KeyId, Timestamp, limits::DAY};

use crate::{
    api,
    auth::keys::Scope,
    dashboard::{
        actions::redirect_back,
        forms::fields::Fields,
        parts::{confirm::Confirmation, credential::NewCredential},
        viewer::{Editor, Viewer},
    },
    extract::{
        access::Writes,
        body::{Body, Id},
    },
    http::{json::Json, problem::Problem},
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
        page_time::PageTime,
    },
};

#[derive(Template)]
#[template(path = "lists/keys.html")]
struct KeysPage {
    layout: Layout,
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
    created_by: String,
    last_used: Option<PageTime>,
    expires: Option<PageTime>,
}

impl KeyRow {
    fn of(key: KeyBody, layout: &Layout) -> Self {
        let tenant = key.tenant.as_ref().map(ToString::to_string);
        Self {
            tenant: tenant.unwrap_or_else(|| "all".to_owned()),
            created: layout.time(key.created_at),
            created_by: key.created_by.map(|id| id.to_string()).unwrap_or_default(),
            last_used: key.last_used_at.map(|at| layout.time(at)),
            expires: key.expires_at.map(|at| layout.time(at)),
            key,
        }
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(viewer, None).await
}

async fn page_with(viewer: Viewer, created: Option<KeyWithToken>) -> PageResult {
    let layout = viewer.layout("/keys", "API keys");
    let keys = if viewer.may_write() {
        let keys = api::settings::keys::visible(&viewer.app, &viewer.caller).await?;
        keys.iter().map(KeyBody::from).collect()
    } else {
        Vec::new()
    };
    let rows = keys.into_iter().map(|key| KeyRow::of(key, &layout));
    let rows: Vec<KeyRow> = rows.collect();
    render(&KeysPage {
        is_first: rows.is_empty() && viewer.session.is_none(),
        rows,
        scopes: Scope::ALL,
        created: created.map(NewCredential::token),
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
    })
}

async fn confirm_revocation(viewer: Viewer, writes: Writes, id: KeyId) -> PageResult {
    let Writes(caller) = &writes;
    let keys = api::settings::keys::visible(&viewer.app, caller).await?;
    let key = keys.into_iter().find(|key| key.id == id);
    let key = key.ok_or_else(|| Problem::not_found(id))?;
    let confirmation = Confirmation {
        name: if key.name.is_empty() {
            format!("a key of scope {}", key.scope)
        } else {
            key.name
        },
        consequence: match key.scope {
            Scope::Tenant => {
                "Programs that use it are refused within seconds, its sessions end, and so do the \
                 keys that it created."
            }
            _ => "Programs that use it are refused within seconds, and its sessions end.",
        },
        verb: "Revoke key",
        action: "delete",
        path: "/keys/act".to_owned(),
        id: id.to_string(),
        back: "/keys".to_owned(),
    };
    confirmation.page(&viewer, "/keys")
}

/// When a key expires that is to be valid for a number of days.
fn expiry(form: &Fields, now: Timestamp) -> Result<Option<Timestamp>, Problem> {
    let Some(days) = form.get("days") else {
        return Ok(None);
    };
    let days = days.parse::<u32>().ok().filter(|days| *days > 0);
    let days = days.ok_or_else(|| Problem::invalid("days", "days must be a number above 0"))?;
    Ok(Some(now.plus(DAY * days)))
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
                "expiresAt": expiry(&form, viewer.app.client.now())?,
            });
            let body = Body(crate::extract::body::parse(body.to_string().as_bytes())?);
            let (_, Json(created)) = api::settings::keys::create(app, writes, body).await?;
            page_with(viewer, Some(created)).await
        }
        Some("delete") if form.get("confirmed").is_none() => {
            confirm_revocation(viewer, writes, form.id("id")?).await
        }
        Some("delete") => {
            let id = Id(form.id("id")?);
            api::settings::keys::delete(app, writes, id).await?;
            Ok(redirect_back("/keys", "revoke", None))
        }
        _ => Err(Problem::invalid("action", "there is no such action").into()),
    }
}
