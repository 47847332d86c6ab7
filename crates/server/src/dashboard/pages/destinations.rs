//! Destinations: how the systems that jobs call are doing, held and released by hand.

use askama::Template;
use axum::extract::State;
use serde_json::{Map, json};
use steadfast_api::DestinationBody;
use steadfast_core::{Destination, Tally, Timestamp};
use steadfast_engine::{DestinationFilter, DestinationState};
use steadfast_store::MinuteStats;

use crate::{
    api::{self, flow::destinations::body_of},
    dashboard::{
        actions::redirect_back,
        charts::{
            series::{self, TimeBuckets},
            svg::Svg,
        },
        parts::destination_row::{DestinationRow, incident_markers},
        viewer::{Editor, Viewer},
    },
    extract::body::{self, Id, MaybeBody},
    http::problem::Problem,
    limits,
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/destinations.html")]
struct DestinationsPage {
    layout: Layout,
    rows: Vec<DestinationRow>,
    has_more: bool,
    shown: Option<DestinationRow>,
    /// How attempts for it ended lately, if some failed.
    chart: Option<Svg>,
    /// A hold is for the jobs of all tenants.
    may_hold: bool,
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
    let layout = viewer.layout("/destinations", "Destinations");
    let row = |state: &DestinationState| {
        let body = body_of(state, &viewer.caller, layout.now);
        DestinationRow::of(body, tenant, &layout)
    };
    let shown = match viewer.fields.get("show") {
        Some(origin) => {
            let origin = Destination::new(origin)?;
            let found = api::flow::destinations::find(&viewer.app, &viewer.caller, &origin, tenant);
            Some(row(&found.await?))
        }
        None => None,
    };
    let charted = shown.as_ref().map(|shown| &shown.body);
    let charted = charted.filter(|body| !body.minutes.is_empty());
    render(&DestinationsPage {
        chart: charted.map(|body| outcome_chart(body, layout.now)),
        rows: found.iter().map(row).collect(),
        has_more,
        shown,
        may_hold: layout.may_write && tenant.is_none(),
        layout,
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
    series::throughput(&buckets, &minutes, &incident_markers(body, now))
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
            api::flow::destinations::hold(app, writes, key, MaybeBody(request)).await?;
            "hold"
        }
        Some("release") => {
            api::flow::destinations::release(app, writes, key).await?;
            "release"
        }
        _ => return Err(Problem::invalid("action", "there is no such action").into()),
    };
    Ok(redirect_back("/destinations", did, None))
}
