//! API keys. The token of a key is shown once, on the page that created it.

use askama::Template;
use axum::response::IntoResponse as _;
use serde_json::json;
use steadfast_api::{KeyBody, KeyWithToken};
use steadfast_core::{KeyId, Timestamp, limits::DAY};

use crate::{
    api::settings::keys,
    auth::keys::Scope,
    dashboard::{
        page::{Editor, Fields, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::{Confirmation, NewCredential},
    },
    extract::{Id, Writes, body::from_json},
    http::{Json, Problem},
};

#[derive(Template)]
#[template(path = "lists/keys.html")]
struct KeysPage {
    layout: Layout,
    list: List<KeyBody>,
    scopes: &'static [Scope],
    created: Option<NewCredential>,
    is_first: bool,
    /// The form. One that was refused holds what was entered.
    form: Fields,
    error: Option<String>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(&viewer, None, None).await
}

async fn page_with(
    viewer: &Viewer,
    created: Option<KeyWithToken>,
    refused: Option<(Fields, String)>,
) -> PageResult {
    let (form, error) = refused.unzip();
    let layout = viewer.layout("/keys", "API keys");
    let visible = match viewer.may_write() {
        true => keys::visible(&viewer.app, &viewer.caller).await?,
        false => Vec::new(),
    };
    let list = List::first(visible, usize::MAX, |key| KeyBody::from(&key));
    render(&KeysPage {
        is_first: list.is_empty() && viewer.session.is_none(),
        list,
        scopes: Scope::ALL,
        form: form.unwrap_or_default(),
        error,
        created: created.map(NewCredential::token),
        layout,
    })
}

async fn confirm_revocation(viewer: &Viewer, id: KeyId) -> PageResult {
    let visible = keys::visible(&viewer.app, &viewer.caller).await?;
    let key = visible.into_iter().find(|key| key.id == id);
    let key = key.ok_or_else(|| Problem::not_found(id))?;
    let name = match key.name.is_empty() {
        true => format!("a key of scope {}", key.scope),
        false => key.name,
    };
    let consequence = match key.scope {
        Scope::Tenant => {
            "Programs that use it are refused within seconds. Its sessions and the keys that it \
             created are revoked with it."
        }
        _ => "Programs that use it are refused within seconds, and its sessions end.",
    };
    Confirmation::new("/keys", "Revoke key", name, id.to_string()).page(viewer, consequence)
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

async fn create(writes: Writes, form: &Fields, now: Timestamp) -> Result<KeyWithToken, Problem> {
    let body = json!({
        "name": form.value("name"),
        "scope": form.value("scope"),
        "tenant": form.get("tenant"),
        "expiresAt": expiry(form, now)?,
    });
    let (_, Json(created)) = keys::create(writes, from_json(&body)?).await?;
    Ok(created)
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    match form.get("action") {
        Some("create") => match create(writes, &form, viewer.app.client.now()).await {
            Ok(created) => page_with(&viewer, Some(created), None).await,
            Err(problem) => {
                let status = problem.status;
                let page = page_with(&viewer, None, Some((form, problem.detail))).await?;
                Ok((status, page).into_response())
            }
        },
        Some("delete") if !form.is_confirmed() => confirm_revocation(&viewer, form.id("id")?).await,
        Some("delete") => {
            keys::delete(writes, Id(form.id("id")?)).await?;
            done("/keys", "revoke")
        }
        _ => Err(no_such_action()),
    }
}
