//! Endpoints. The secret of an endpoint is shown once, on the page that created or rotated it.

use askama::Template;
use axum::extract::State;
use serde_json::json;
use steadfast_api::{EndpointBody, EndpointWithSecret, RotateSecretRequest};
use steadfast_core::{EndpointId, EventType};

use super::{
    credential::NewCredential,
    deletion::Deletion,
    frame::{Frame, redirect_back, render},
    page_error::PageResult,
    viewer::{Editor, Viewer},
};
use crate::{
    api,
    body::{Body, Id, MaybeBody},
    json::Json,
    problem::Problem,
};

#[derive(Template)]
#[template(path = "endpoints.html")]
struct EndpointsPage {
    frame: Frame,
    rows: Vec<EndpointBody>,
    events: &'static [EventType],
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
        frame: Frame::of(&viewer, "/endpoints", "Endpoints"),
        events: EventType::ALL,
        created: created.map(NewCredential::secret),
        shows_tenants: viewer.caller.tenant.is_none(),
    })
}

async fn confirm_deletion(viewer: &Viewer, id: EndpointId) -> PageResult {
    let tenant = viewer.caller.tenant.as_ref();
    let endpoints = viewer.app.client.endpoints(tenant).await?;
    let endpoint = endpoints.iter().find(|endpoint| endpoint.id == id);
    let endpoint = endpoint.ok_or_else(|| Problem::not_found(id))?;
    let deletion = Deletion {
        name: endpoint.url.clone(),
        consequence: "It receives no more webhooks, and its secrets are lost.",
        verb: "Delete endpoint",
        path: "/endpoints/act".to_owned(),
        id: id.to_string(),
        back: "/endpoints".to_owned(),
    };
    deletion.page(viewer, "/endpoints")
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
            let body = Body(crate::body::parse(body.to_string().as_bytes())?);
            let (_, Json(created)) = api::endpoints::create(app, writes, body).await?;
            created
        }
        Some("rotate") => {
            let id = Id(form.id("id")?);
            let body = MaybeBody(RotateSecretRequest::default());
            let Json(rotated) = api::endpoints::rotate(app, writes, id, body).await?;
            rotated
        }
        Some("delete") if form.get("confirmed").is_none() => {
            return confirm_deletion(&viewer, form.id("id")?).await;
        }
        Some("delete") => {
            let id = Id(form.id("id")?);
            api::endpoints::delete(app, writes, id).await?;
            return Ok(redirect_back("/endpoints", "delete", None));
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    page_with(viewer, Some(created)).await
}
