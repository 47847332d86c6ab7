//! Endpoints. The secret of an endpoint is shown once, on the page that created or rotated it.

use askama::Template;
use axum::extract::{Path, State};
use serde_json::json;
use steadfast_api::{EndpointBody, EndpointWithSecret, RotateSecretRequest};
use steadfast_core::{BodyFormat, EndpointId, EventType, Job, JobId};

use crate::{
    api,
    dashboard::{
        actions::redirect_back,
        forms::fields::{Fields, parse_id},
        parts::{confirm::Confirmation, credential::NewCredential, job_row::JobRow},
        viewer::{Editor, Viewer},
    },
    extract::body::{Body, Id, MaybeBody},
    http::{json::Json, problem::Problem},
    theme::{
        layout::{Layout, render},
        page_error::{PageError, PageResult},
    },
};

#[derive(Template)]
#[template(path = "lists/endpoints.html")]
struct EndpointsPage {
    layout: Layout,
    rows: Vec<EndpointBody>,
    events: Vec<EventType>,
    created: Option<NewCredential>,
    shows_tenants: bool,
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(viewer, None).await
}

async fn page_with(viewer: Viewer, created: Option<EndpointWithSecret>) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let now = viewer.app.client.now();
    let endpoints = viewer.app.client.endpoints(tenant).await?;
    let rows = endpoints.iter().map(|it| {
        let mut body = EndpointBody::new(it, now);
        body.url = viewer.caller.endpoint_url(&body.url);
        body
    });
    render(&EndpointsPage {
        rows: rows.collect(),
        layout: viewer.layout("/endpoints", "Endpoints"),
        events: EventType::subscribable().collect(),
        created: created.map(NewCredential::secret),
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

#[derive(Template)]
#[template(path = "details/endpoint.html")]
struct EndpointPage {
    layout: Layout,
    row: EndpointBody,
    /// Each event, and whether it is sent.
    events: Vec<(EventType, bool)>,
    formats: &'static [BodyFormat],
    deliveries: Vec<DeliveryRow>,
    next: Option<String>,
    first: Option<String>,
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
    let endpoint = api::settings::endpoints::find(&viewer.app, &viewer.caller, id).await?;
    let page = viewer.fields.page::<JobId>()?;
    let found = viewer.app.client.deliveries(&endpoint, page).await?;
    let layout = viewer.layout("/endpoints", "Endpoint");
    let delivery = |job: &Job| DeliveryRow {
        row: JobRow::of(job, &layout),
        event: job.tags.get("event").cloned().unwrap_or_default(),
        has_ended: job.progress.state.is_final(),
    };
    let mut row = EndpointBody::new(&endpoint, layout.now);
    row.url = viewer.caller.endpoint_url(&row.url);
    let path = format!("/endpoints/{id}");
    let events = EventType::subscribable();
    render(&EndpointPage {
        events: events
            .map(|it| (it, endpoint.events.contains(&it)))
            .collect(),
        formats: BodyFormat::ALL,
        deliveries: found.items.iter().map(delivery).collect(),
        next: found
            .next
            .map(|next| viewer.fields.here(&path, &[("after", &next.to_string())])),
        first: page
            .after
            .map(|_| viewer.fields.here(&path, &[("after", "")])),
        row,
        layout,
    })
}

async fn confirm_deletion(viewer: &Viewer, id: EndpointId) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let endpoints = viewer.app.client.endpoints(tenant).await?;
    let endpoint = endpoints.iter().find(|endpoint| endpoint.id == id);
    let endpoint = endpoint.ok_or_else(|| Problem::not_found(id))?;
    let confirmation = Confirmation {
        name: endpoint.url.clone(),
        consequence: "It receives no more webhooks, its secrets are lost, and deliveries that wait for it are cancelled. To halt it for a while, disable it.",
        verb: "Delete endpoint",
        action: "delete",
        path: "/endpoints/act".to_owned(),
        id: id.to_string(),
        back: "/endpoints".to_owned(),
    };
    confirmation.page(viewer, "/endpoints")
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
        api::settings::endpoints::resend_by(app, caller, form.id("id")?, by).await?;
        return Ok("resend");
    }
    let endpoint = api::settings::endpoints::find(app, caller, form.id("id")?).await?;
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
            api::settings::endpoints::send_test(app, caller, &endpoint).await?;
            Ok("test")
        }
    }
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
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
            let body = Body(crate::extract::body::parse(body.to_string().as_bytes())?);
            let (_, Json(created)) = api::settings::endpoints::create(app, writes, body).await?;
            created
        }
        Some("rotate") => {
            let id = Id(form.id("id")?);
            let body = MaybeBody(RotateSecretRequest::default());
            let Json(rotated) = api::settings::endpoints::rotate(app, writes, id, body).await?;
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
            let body = Body(crate::extract::body::parse(body.to_string().as_bytes())?);
            api::settings::endpoints::edit(app, writes, Id(id), body).await?;
            return Ok(redirect_back(&format!("/endpoints/{id}"), "saved", None));
        }
        Some(action @ ("enable" | "disable" | "test" | "resend")) => {
            let did = halt_or_send(&viewer, &form, action).await?;
            let back = form.get("back").unwrap_or("/endpoints");
            return Ok(redirect_back(back, did, None));
        }
        Some("delete") if form.get("confirmed").is_none() => {
            return confirm_deletion(&viewer, form.id("id")?).await;
        }
        Some("delete") => {
            let id = Id(form.id("id")?);
            api::settings::endpoints::delete(app, writes, id).await?;
            return Ok(redirect_back("/endpoints", "delete", None));
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    page_with(viewer, Some(created)).await
}
