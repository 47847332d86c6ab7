//! Destinations: how the systems that jobs call are doing, held and released by hand.

use askama::Template;
use axum::extract::State;
use serde_json::{Map, json};
use steadfast_api::{DestinationBody, IncidentBody};
use steadfast_core::{
    Destination, HealthStatus, Tally, Tenant, Timestamp,
    explain::{brief, thousands},
};
use steadfast_engine::{DestinationFilter, DestinationState};
use steadfast_store::MinuteStats;

use super::{
    chart::{self, Marker, Svg, TimeBuckets},
    format::{PageTime, shorten},
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
    /// How attempts for it ended lately, if some failed.
    chart: Option<Svg>,
    /// A hold is for the jobs of all tenants.
    may_hold: bool,
}

pub struct DestinationRow {
    pub body: DestinationBody,
    pub chip: &'static str,
    pub status: &'static str,
    /// What is to say about it now.
    pub notes: Vec<String>,
    incidents: Vec<IncidentRow>,
    /// The tenant of the gate that its reader may change; empty for all.
    tenant: String,
}

struct IncidentRow {
    body: IncidentBody,
    began: PageTime,
    lasted: String,
    cost: String,
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
    let row = |state: &DestinationState| {
        let body = body_of(state, &viewer.caller, frame.now);
        row_of(body, tenant, &frame)
    };
    let shown = match viewer.fields.get("show") {
        Some(origin) => {
            let origin = Destination::new(origin)?;
            let found = api::destinations::find(&viewer.app, &viewer.caller, &origin, tenant);
            Some(row(&found.await?))
        }
        None => None,
    };
    let charted = shown.as_ref().map(|shown| &shown.body);
    let charted = charted.filter(|body| !body.minutes.is_empty());
    render(&DestinationsPage {
        chart: charted.map(|body| outcome_chart(body, frame.now)),
        rows: found.iter().map(row).collect(),
        has_more,
        shown,
        may_hold: frame.may_write && tenant.is_none(),
        frame,
    })
}

/// Of the last hour, with its incidents.
fn outcome_chart(body: &DestinationBody, now: Timestamp) -> Svg {
    let minutes = body.minutes.iter().map(|minute| {
        let (attempts, failures) = (minute.attempts.into(), minute.failed.into());
        MinuteStats {
            at: minute.at,
            tally: Tally {
                attempts,
                failures,
                successes: attempts.saturating_sub(failures),
                ..Tally::default()
            },
        }
    });
    let minutes: Vec<MinuteStats> = minutes.collect();
    let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
    chart::throughput(&buckets, &minutes, &incident_markers(body, now))
}

/// When it did not work, for charts.
pub fn incident_markers(body: &DestinationBody, now: Timestamp) -> Vec<Marker> {
    let incidents = body.incident.iter().chain(&body.past_incidents);
    incidents
        .map(|incident| Marker {
            class: "incident",
            at: incident.began_at,
            until: Some(incident.ended_at.unwrap_or(now)),
            text: shorten(
                &format!("{}: {}", body.destination, incident.cause),
                limits::CELL_CHARS_MAX,
            ),
        })
        .collect()
}

pub fn row_of(body: DestinationBody, tenant: Option<&Tenant>, frame: &Frame) -> DestinationRow {
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
            cost: incident.describe_cost(),
            body: incident.clone(),
        }
    });
    DestinationRow {
        chip: match body.status {
            HealthStatus::Healthy => "chip-succeeded",
            HealthStatus::Ramping => "chip-retrying",
            HealthStatus::Probing if body.holds_jobs => "chip-retrying",
            HealthStatus::Held | HealthStatus::Probing => "chip-failed",
        },
        status: body.describe_status(),
        notes: notes(&body, frame),
        incidents: incidents.collect(),
        tenant: tenant.map(Tenant::to_string).unwrap_or_default(),
        body,
    }
}

fn notes(body: &DestinationBody, frame: &Frame) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(tenant) = &body.tenant {
        notes.push(format!("for jobs of tenant {tenant} only"));
    }
    match (&body.held_by_hand, &body.incident) {
        (Some(hold), _) => notes.push(hold.describe(frame.now)),
        (None, Some(incident)) => notes.push(incident.cause.clone()),
        (None, None) => {}
    }
    if let Some(told) = &body.retry_after {
        let left = brief(told.until.since(frame.now));
        notes.push(format!("asked with {} to wait {left} more", told.status));
    }
    if let Some(probe) = body.next_probe_at.filter(|at| *at > frame.now) {
        notes.push(format!("next probe in {}", brief(probe.since(frame.now))));
    }
    notes.extend(body.describe_consequence().map(str::to_owned));
    if let Some(incident) = body.incident.as_ref().filter(|_| !body.holds_jobs)
        && incident.avoidable_attempts > 0
    {
        let avoidable = thousands(incident.avoidable_attempts);
        notes.push(format!("holding would have saved {avoidable} attempts"));
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
