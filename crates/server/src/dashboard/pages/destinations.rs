//! Destinations: the health of the systems that jobs call, and manual holds.

use askama::Template;
use steadfast_api::DestinationBody;
use steadfast_core::{Destination, Tally, Timestamp};
use steadfast_engine::{DestinationFilter, DestinationState};
use steadfast_store::MinuteStats;

use crate::{
    api::flow::destinations::{self, body_of},
    dashboard::{
        charts::{Svg, TimeBuckets, series},
        page::{Editor, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::{DestinationRow, incident_markers},
    },
    extract::{Body, Id, MaybeBody, body::from_json},
    limits,
};

#[derive(Template)]
#[template(path = "lists/destinations.html")]
struct DestinationsPage {
    layout: Layout,
    list: List<DestinationRow>,
    shown: Option<DestinationRow>,
    /// The outcomes of recent attempts, if some failed.
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
    let found = client.destinations(&filter, None, most + 1).await?;
    let layout = viewer.layout("/destinations", "Destinations");
    let row = |state: &DestinationState| {
        let body = body_of(state, &viewer.caller, layout.now);
        DestinationRow::of(body, tenant, &layout)
    };
    let shown = match viewer.fields.get("show") {
        Some(origin) => {
            let origin = Destination::new(origin)?;
            let found = destinations::find(&viewer.app, &viewer.caller, &origin, tenant);
            Some(row(&found.await?))
        }
        None => None,
    };
    let charted = shown.as_ref().map(|shown| &shown.body);
    let charted = charted.filter(|body| !body.minutes.is_empty());
    render(&DestinationsPage {
        chart: charted.map(|body| outcome_chart(body, layout.now)),
        list: List::first(found, most, |state| row(&state)),
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
    let form = editor.form;
    let key = Id(form.value("destination").to_owned());
    let did = match form.get("action") {
        Some("hold") => {
            let Body(request) = from_json(&form.json(&["reason", "until"]))?;
            destinations::hold(writes, key, MaybeBody(request)).await?;
            "hold"
        }
        Some("release") => {
            destinations::release(writes, key).await?;
            "release"
        }
        _ => return Err(no_such_action()),
    };
    done("/destinations", did)
}
