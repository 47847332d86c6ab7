//! Endpoints. The secret of an endpoint is shown once, on the page that created or rotated it.

use askama::Template;
use axum::extract::Path;
use serde_json::json;
use steadfast_api::{EndpointBody, EndpointWithSecret, RotateSecretRequest};
use steadfast_core::{BodyFormat, EndpointId, EventType, Job, JobId};

use crate::{
    api::settings::endpoints,
    dashboard::{
        page::{
            Detail, Editor, Fields, Layout, List, PageError, PageResult, Viewer, done,
            no_such_action, parse_id, render,
        },
        parts::{Confirmation, JobRow, NewCredential},
    },
    extract::{Id, MaybeBody, body::from_json},
    http::Json,
};

#[derive(Template)]
#[template(path = "lists/endpoints.html")]
struct EndpointsPage {
    layout: Layout,
    list: List<EndpointBody>,
    events: Vec<EventType>,
    created: Option<NewCredential>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(viewer, None).await
}

async fn page_with(viewer: Viewer, created: Option<EndpointWithSecret>) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let listed = viewer.app.client.endpoints(tenant).await?;
    let layout = viewer.layout("/endpoints", "Endpoints");
    render(&EndpointsPage {
        list: List::first(listed, usize::MAX, |it| {
            endpoints::body_for(&viewer.caller, &it, layout.now)
        }),
        events: EventType::subscribable().collect(),
        created: created.map(NewCredential::secret),
        layout,
    })
}

#[derive(Template)]
#[template(path = "details/endpoint.html")]
struct EndpointPage {
    layout: Layout,
    detail: Detail,
    row: EndpointBody,
    /// Each event, and whether it is sent.
    events: Vec<(EventType, bool)>,
    formats: &'static [BodyFormat],
    list: List<DeliveryRow>,
}

/// A delivery on a page.
struct DeliveryRow {
    row: JobRow,
    event: String,
    /// It has ended, and can be sent again.
    has_ended: bool,
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: EndpointId = parse_id(&id)?;
    let endpoint = endpoints::find(&viewer.app, &viewer.caller, id).await?;
    let page = viewer.fields.page::<JobId>()?;
    let found = viewer.app.client.deliveries(&endpoint, page).await?;
    let layout = viewer.layout("/endpoints", "Endpoint");
    let delivery = |job: Job| DeliveryRow {
        row: JobRow::of(&job, &layout),
        event: job.tags.get("event").cloned().unwrap_or_default(),
        has_ended: job.progress.state.is_final(),
    };
    let row = endpoints::body_for(&viewer.caller, &endpoint, layout.now);
    let detail = Detail {
        act: "/endpoints/act".to_owned(),
        ..Detail::new("/endpoints", id, &row.url)
            .button(row.disabled, "main", ["enable", "Enable"])
            .button(!row.disabled, "main", ["test", "Send a test"])
            .button(!row.disabled, "", ["disable", "Disable"])
            .button(true, "", ["rotate", "Rotate secret"])
            .button(true, "danger", ["delete", "Delete"])
    };
    let events = EventType::subscribable();
    render(&EndpointPage {
        events: events
            .map(|it| (it, endpoint.events.contains(&it)))
            .collect(),
        formats: BodyFormat::ALL,
        list: List::page((&detail.path, &viewer.fields), &page, found, delivery),
        detail,
        row,
        layout,
    })
}

/// Enables or disables an endpoint, or sends something to it.
async fn halt_or_send(
    viewer: &Viewer,
    form: &Fields,
    action: &str,
) -> Result<&'static str, PageError> {
    let Viewer { app, caller, .. } = viewer;
    let by = caller.actor(app).await?;
    if action == "resend" {
        endpoints::resend_by(app, caller, form.id("id")?, by).await?;
        return Ok("resend");
    }
    let endpoint = endpoints::find(app, caller, form.id("id")?).await?;
    let (id, tenant) = (endpoint.id, caller.tenant.as_ref());
    let client = caller.client(app).await?;
    match action {
        "enable" => {
            let pace = Some(app.bulk_pace());
            client.enable_endpoint(id, tenant, by, pace).await?;
            Ok("enable")
        }
        "disable" => {
            client.disable_endpoint(id, tenant).await?;
            Ok("disable")
        }
        _ => {
            endpoints::send_test(app, caller, &endpoint).await?;
            Ok("test")
        }
    }
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let created = match form.get("action") {
        Some("create") => {
            let mut body = form.json(&["url", "description", "format", "tenant"]);
            let events: Vec<&str> = form.all("event").collect();
            if !events.is_empty() {
                body.insert("events".to_owned(), json!(events));
            }
            let (_, Json(created)) = endpoints::create(writes, from_json(&body)?).await?;
            created
        }
        Some("rotate") => {
            let body = MaybeBody(RotateSecretRequest::default());
            let Json(rotated) = endpoints::rotate(writes, Id(form.id("id")?), body).await?;
            rotated
        }
        Some("edit") => {
            let id: EndpointId = form.id("id")?;
            let events: Vec<&str> = form.all("event").collect();
            let body = json!({
                "url": form.value("url"),
                "description": form.value("description"),
                "format": form.get("format"),
                "events": events,
            });
            endpoints::edit(writes, Id(id), from_json(&body)?).await?;
            return done(&format!("/endpoints/{id}"), "saved");
        }
        Some(action @ ("enable" | "disable" | "test" | "resend")) => {
            let did = halt_or_send(&viewer, &form, action).await?;
            return done(form.get("back").unwrap_or("/endpoints"), did);
        }
        Some("delete") if !form.is_confirmed() => {
            let id: EndpointId = form.id("id")?;
            let endpoint = endpoints::find(&viewer.app, &viewer.caller, id).await?;
            let name = endpoint.url;
            return Confirmation::new("/endpoints", "Delete endpoint", name, id.to_string()).page(
                &viewer,
                "It receives no more webhooks, its secrets are deleted, and pending deliveries are \
                 cancelled. To stop it for a while, disable it instead.",
            );
        }
        Some("delete") => {
            endpoints::delete(writes, Id(form.id("id")?)).await?;
            return done("/endpoints", "delete");
        }
        _ => return Err(no_such_action()),
    };
    page_with(viewer, Some(created)).await
}
