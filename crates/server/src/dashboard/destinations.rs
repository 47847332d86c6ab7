//! Destinations: how the systems that jobs call are doing, held and released by hand.

use askama::Template;
use axum::extract::State;
use serde_json::{Map, json};
use steadfast_api::{DestinationBody, IncidentBody};
use steadfast_core::{Destination, HealthStatus, explain::brief};
use steadfast_engine::{DestinationFilter, DestinationState};

use super::{
    format::PageTime,
    frame::{Frame, redirect_back, render},
    page_error::PageResult,
    viewer::{Editor, Viewer},
};
use crate::{
    api::{self, destinations::body_of},
    body::{self, Id, MaybeBody},
    limits,
    problem::Problem,
};

#[derive(Template)]
#[template(path = "destinations.html")]
struct DestinationsPage {
    frame: Frame,
    rows: Vec<DestinationRow>,
    has_more: bool,
    shown: Option<DestinationRow>,
    /// A hold is for the jobs of all tenants.
    may_hold: bool,
}

struct DestinationRow {
    body: DestinationBody,
    chip: &'static str,
    is_healthy: bool,
    /// What is to say about it now.
    notes: Vec<String>,
    incidents: Vec<IncidentRow>,
    /// Its gate, in the addresses of the page of gates.
    gate: String,
}

struct IncidentRow {
    body: IncidentBody,
    began: PageTime,
    lasted: String,
}

pub async fn page(viewer: Viewer) -> PageResult {
    let client = &viewer.app.client;
    let tenant = viewer.caller.tenant.as_ref();
    let mut filter = DestinationFilter::default();
    filter.tenant = tenant.cloned();
    let most = limits::PAGE_DESTINATIONS_MAX;
    let mut found = client.destinations(&filter, None, most + 1).await?;
    let has_more = found.len() > most;
    found.truncate(most);
    let frame = Frame::of(&viewer, "/destinations", "Destinations");
    let row = |state: &DestinationState| row_of(body_of(state, &viewer.caller, frame.now), &frame);
    let shown = match viewer.fields.get("show") {
        Some(origin) => {
            let origin = Destination::new(origin)?;
            let state = client.destination(&origin, tenant).await?;
            Some(row(&state))
        }
        None => None,
    };
    render(&DestinationsPage {
        rows: found.iter().map(row).collect(),
        has_more,
        shown,
        may_hold: frame.may_write && tenant.is_none(),
        frame,
    })
}

fn row_of(body: DestinationBody, frame: &Frame) -> DestinationRow {
    let incidents = body.incident.iter().chain(&body.past_incidents);
    let incidents = incidents.map(|incident| {
        let end = incident.ended_at.unwrap_or(frame.now);
        let lasted = brief(end.since(incident.began_at));
        IncidentRow {
            began: frame.time(incident.began_at),
            lasted: match incident.ended_at {
                Some(_) => lasted,
                None => format!("{lasted} so far"),
            },
            body: incident.clone(),
        }
    });
    DestinationRow {
        chip: match body.status {
            HealthStatus::Healthy => "chip-succeeded",
            HealthStatus::Held => "chip-failed",
            HealthStatus::Probing | HealthStatus::Ramping => "chip-retrying",
        },
        is_healthy: body.status == HealthStatus::Healthy,
        notes: notes(&body, frame),
        incidents: incidents.collect(),
        gate: format!("destination  {}", body.destination),
        body,
    }
}

fn notes(body: &DestinationBody, frame: &Frame) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(incident) = &body.incident {
        notes.push(incident.cause.clone());
    }
    if let Some(told) = &body.retry_after {
        let left = brief(told.until.since(frame.now));
        notes.push(format!("asked with {} to wait {left} more", told.status));
    }
    if let Some(probe) = body.next_probe_at.filter(|at| *at > frame.now) {
        notes.push(format!("next probe in {}", brief(probe.since(frame.now))));
    }
    if body.given_up {
        notes.push("held for as long as it may be: jobs follow their policies again".to_owned());
    }
    notes
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let app = State(viewer.app.clone());
    let key = Id(form.value("destination").to_owned());
    let did = match form.get("action") {
        Some("hold") => {
            let mut fields = Map::new();
            for name in ["reason", "until"] {
                if let Some(text) = form.get(name) {
                    fields.insert(name.to_owned(), json!(text));
                }
            }
            let request = body::parse(json!(fields).to_string().as_bytes())?;
            api::destinations::hold(app, writes, key, MaybeBody(request)).await?;
            "hold"
        }
        Some("release") => {
            api::destinations::release(app, writes, key).await?;
            "release"
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    Ok(redirect_back("/destinations", did, None))
}
