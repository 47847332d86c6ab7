//! Endpoints. The secret of an endpoint is shown once, on the page that created or rotated it.

use std::{collections::HashMap, time::Duration};

use askama::Template;
use axum::extract::Path;
use serde_json::json;
use steadfast_api::{EndpointBody, EndpointWithSecret, RotateSecretRequest};
use steadfast_core::{
    BodyFormat, Endpoint, EndpointId, EventType, Job, JobId, JobState, explain::brief,
};
use steadfast_store::JobPageRequest;

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
    limits,
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
    /// How many of the newest deliveries that have ended succeeded; `None` if none has ended.
    success: Option<String>,
    /// The labels by which deliveries can be listed, each with its address and whether it is.
    labels: Vec<(&'static str, String, bool)>,
}

/// A delivery on a page.
struct DeliveryRow {
    row: JobRow,
    event: String,
    /// The job that it is about.
    about: Option<JobId>,
    /// The status of the last response, if it was a failure.
    status: Option<u16>,
    /// How long the last attempt took.
    duration: Option<String>,
    /// It has ended, and can be sent again.
    has_ended: bool,
}

pub async fn detail_page(viewer: Viewer, Path(id): Path<String>) -> PageResult {
    let id: EndpointId = parse_id(&id)?;
    let endpoint = endpoints::find(&viewer.app, &viewer.caller, id).await?;
    let page = viewer.fields.page::<JobId>();
    let label = viewer.fields.get("label").map(str::parse).transpose()?;
    let client = &viewer.app.client;
    let found = client.deliveries(&endpoint, label, page).await?;
    let layout = viewer.layout("/endpoints", "Endpoint");
    let durations = last_durations(&viewer, &found.items).await?;
    let delivery = |job: Job| DeliveryRow {
        row: JobRow::of(&viewer.caller.redact_job(job.clone()), &layout),
        event: job.tags.get("event").cloned().unwrap_or_default(),
        about: job.tags.get("job").and_then(|id| id.parse().ok()),
        status: job.progress.failure.as_ref().and_then(|it| it.http_status),
        duration: durations.get(&job.id).map(|it| brief(*it)),
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
    let chosen = viewer.fields.value("label");
    let labels = ["", "succeeded", "failed", "retrying", "ready"].map(|name| {
        let address = viewer
            .fields
            .here(&detail.path, &[("label", name), ("after", "")]);
        let shown = if name.is_empty() { "all" } else { name };
        (shown, address, chosen == name)
    });
    render(&EndpointPage {
        success: success_share(&viewer, &endpoint).await?,
        labels: labels.to_vec(),
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

/// How long the last attempt of each delivery took.
async fn last_durations(
    viewer: &Viewer,
    deliveries: &[Job],
) -> Result<HashMap<JobId, Duration>, PageError> {
    let ids = deliveries.iter().map(|job| job.id).collect();
    let store = viewer.app.node.store();
    let attempts = store.attempts_of_jobs(ids, limits::DELIVERY_ATTEMPTS_MAX);
    let attempts = attempts.await?.items.into_iter();
    Ok(attempts.map(|it| (it.job, it.duration())).collect())
}

/// How many of the newest deliveries that have ended succeeded.
async fn success_share(viewer: &Viewer, endpoint: &Endpoint) -> Result<Option<String>, PageError> {
    let newest = JobPageRequest::first(limits::PAGE_MAX);
    let found = viewer.app.client.deliveries(endpoint, None, newest);
    let states = found.await?.items.into_iter().map(|it| it.progress.state);
    let ended: Vec<JobState> = states.filter(|state| state.is_final()).collect();
    let succeeded = ended
        .iter()
        .filter(|it| **it == JobState::Succeeded)
        .count();
    Ok((!ended.is_empty()).then(|| format!("{succeeded} of the last {}", ended.len())))
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
