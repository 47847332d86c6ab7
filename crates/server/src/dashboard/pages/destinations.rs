//! Destinations: the health of the systems that jobs call, and manual holds.

use askama::Template;
use axum::response::IntoResponse as _;
use serde_json::json;
use steadfast_api::{LearnedPaceBody, TenantQuery};
use steadfast_core::{Destination, GateScope, HoldMode, Timestamp, explain::thousands};
use steadfast_engine::{DestinationFilter, DestinationState};
use steadfast_store::JobFilter;

use crate::{
    api::flow::{
        destinations::{self, body_of},
        gates::{self, GatePath},
    },
    dashboard::{
        charts::{Svg, TimeBuckets, series},
        page::{Editor, Fields, Layout, List, PageResult, Viewer, done, no_such_action, render},
        parts::{Confirmation, DestinationRow, outcome_chart},
    },
    extract::{Body, Id, MaybeBody, Params, Writes, body::from_json},
    http::Problem,
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
    /// Learned paces, drawn over the last hour.
    paces: Vec<PaceView>,
    /// A hold is for the jobs of all tenants.
    may_hold: bool,
    /// The form of a hold. One that was refused holds what was entered.
    form: Fields,
    error: Option<String>,
}

struct PaceView {
    title: String,
    sentence: String,
    chart: Option<Svg>,
}

pub async fn page(viewer: Viewer) -> PageResult {
    page_with(&viewer, None).await
}

/// The page; if a form was refused, with what was entered and why.
async fn page_with(viewer: &Viewer, refused: Option<(Fields, String)>) -> PageResult {
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
    let paces = shown.iter().flat_map(|shown| &shown.body.learned);
    let paces = paces
        .map(|learned| pace_view(learned, layout.now))
        .collect();
    let charted = shown.as_ref().map(|shown| &shown.body);
    let charted = charted.filter(|body| !body.minutes.is_empty());
    let (form, error) = refused.unzip();
    render(&DestinationsPage {
        form: form.unwrap_or_default(),
        error,
        chart: charted.map(|body| {
            let buckets = TimeBuckets::new(layout.now, limits::CHART_HOUR);
            outcome_chart(body, &buckets, layout.now)
        }),
        paces,
        list: List::first(found, most, |state| row(&state)),
        shown,
        may_hold: layout.may_write && tenant.is_none(),
        layout,
    })
}

fn pace_view(learned: &LearnedPaceBody, now: Timestamp) -> PaceView {
    let buckets = TimeBuckets::new(now, limits::CHART_HOUR);
    PaceView {
        title: match &learned.tenant {
            Some(tenant) => format!("Learned pace of tenant {tenant}"),
            None => "Learned pace".to_owned(),
        },
        sentence: learned.sentence.clone(),
        chart: (!learned.minutes.is_empty()).then(|| series::pace(&buckets, learned)),
    }
}

/// Calls the API's own functions, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let key = Id(form.value("destination").to_owned());
    let back = form.get("back").unwrap_or("/destinations");
    let did = match form.get("action") {
        Some("hold") if !form.is_confirmed() => {
            let destination = Destination::new(form.value("destination"))?;
            return confirm_hold(&viewer, &destination, back).await;
        }
        Some("auto") => {
            let path = GatePath {
                scope: GateScope::Destination.to_string(),
                key: key.0,
            };
            let changes = from_json(&json!({"hold": HoldMode::Auto}))?;
            gates::edit(writes, path, Params(TenantQuery::default()), changes).await?;
            "set"
        }
        Some("hold") => match hold(writes, key, &form).await {
            Ok(()) => "hold",
            Err(problem) => {
                let status = problem.status;
                let page = page_with(&viewer, Some((form, problem.detail))).await?;
                return Ok((status, page).into_response());
            }
        },
        Some("release") => {
            destinations::release(writes, key).await?;
            "release"
        }
        _ => return Err(no_such_action()),
    };
    done(back, did)
}

async fn hold(writes: Writes, key: Id<String>, form: &Fields) -> Result<(), Problem> {
    let Body(request) = from_json(&form.json(&["reason", "until"]))?;
    destinations::hold(writes, key, MaybeBody(request)).await?;
    Ok(())
}

/// Says what a hold stops, and what it would have saved.
async fn confirm_hold(viewer: &Viewer, destination: &Destination, back: &str) -> PageResult {
    let client = &viewer.app.client;
    let filter = JobFilter {
        destination: Some(destination.clone()),
        unfinished: true,
        ..JobFilter::default()
    };
    let waiting = client.count(filter, limits::HELD_JOBS_COUNTED_MAX).await?;
    let found = destinations::find(&viewer.app, &viewer.caller, destination, None).await?;
    let body = body_of(&found, &viewer.caller, client.now());
    let at_least = if waiting.at_least { "At least " } else { "" };
    let jobs = match waiting.count {
        1 => "1 unfinished job calls it.".to_owned(),
        number => format!("{at_least}{} unfinished jobs call it.", thousands(number)),
    };
    let saved = body.avoidable_attempts().map_or(String::new(), |attempts| {
        format!(
            " Since it began to fail, holding would have saved {} attempts.",
            thousands(attempts)
        )
    });
    let name = destination.to_string();
    let mut confirmation = Confirmation::new("/destinations", "Hold", name.clone(), String::new());
    confirmation.hidden = vec![("destination", name)];
    confirmation.asks_reason = true;
    confirmation.action("hold", back).page(
        viewer,
        format!("No job of any tenant starts for this destination until it is released. Waiting jobs use no attempts. {jobs}{saved}"),
    )
}
