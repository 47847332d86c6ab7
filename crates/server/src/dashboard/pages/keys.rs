//! API keys. The token of a key is shown once, on the page that created it.

use std::net::IpAddr;

use askama::Template;
use axum::{http::Uri, response::IntoResponse as _};
use serde_json::json;
use steadfast_api::{KeyBody, KeyWithToken};
use steadfast_core::{Job, KeyId, Kind, Timestamp, limits::DAY};
use steadfast_engine::{
    Client,
    http::{AddressPolicy, OutboundRules},
};
use steadfast_store::{JobFilter, JobPageRequest};

use crate::{
    api::settings::keys,
    auth::keys::Scope,
    dashboard::{
        page::{
            Editor, Fields, Layout, List, PageError, PageResult, Viewer, done, no_such_action,
            render,
        },
        parts::{Confirmation, NewCredential, thousands},
    },
    extract::{Id, Writes, body::from_json},
    http::{Json, Problem},
    limits,
};

#[derive(Template)]
#[template(path = "lists/keys.html")]
struct KeysPage {
    layout: Layout,
    list: List<KeyBody>,
    scopes: &'static [Scope],
    created: Option<NewCredential>,
    is_first: bool,
    /// After how many days a key expires if the form does not say.
    days_default: String,
    /// How many calls that wait go to addresses that are not public, if this would be the first key.
    blocked: String,
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
    let is_first = list.is_empty() && viewer.session.is_none();
    let blocked = match is_first {
        true => blocked_calls(&viewer.app.client).await?,
        false => String::new(),
    };
    let days = limits::PERSONS_KEY_TIME_MAX.as_secs() / DAY.as_secs();
    let days_default = match viewer.caller.person {
        Some(_) => days.to_string(),
        None => "never".to_owned(),
    };
    render(&KeysPage {
        is_first,
        days_default,
        blocked,
        list,
        scopes: Scope::ALL,
        form: form.unwrap_or_default(),
        error,
        created: created.map(NewCredential::token),
        layout,
    })
}

/// A sentence about the newest calls that wait and go to addresses that are not public. Names are not
/// looked up.
async fn blocked_calls(client: &Client) -> Result<String, PageError> {
    let (mut count, mut has_more) = (0_u64, false);
    for kind in [Kind::http(), Kind::webhook()] {
        let filter = JobFilter {
            kind: Some(kind),
            unfinished: true,
            ..JobFilter::default()
        };
        let page = JobPageRequest::first(limits::CALLS_EXAMINED_MAX);
        let found = client.jobs(filter, page).await?;
        let blocked = found.items.iter().filter(|job| is_blocked(job));
        count += u64::try_from(blocked.count()).unwrap_or(u64::MAX);
        has_more |= found.next.is_some();
    }
    let least = if has_more { "At least " } else { "" };
    Ok(match count {
        0 => String::new(),
        1 => format!("{least}1 waiting call would be blocked then."),
        count => format!(
            "{least}{} waiting calls would be blocked then.",
            thousands(count)
        ),
    })
}

/// Whether a job calls an address that is not public.
fn is_blocked(job: &Job) -> bool {
    let origin = job.destination.as_ref();
    let origin = origin.and_then(|origin| origin.as_str().parse::<Uri>().ok());
    let host = origin.as_ref().and_then(Uri::host).unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let rules = OutboundRules::new(AddressPolicy::Public);
    host == "localhost" || address.is_ok_and(|address| rules.check(address).is_err())
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
