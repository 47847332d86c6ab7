//! Failures by cause: a table of groups, and one of them in detail.

use std::fmt::Display;

use askama::Template;
use axum::extract::State;
use serde_json::json;
use steadfast_api::{FailureGroupBody, FailureQuery, TenantQuery};
use steadfast_core::{FailureFingerprint, FailureGroup, FailureState};
use steadfast_store::FailureCursor;

use super::{
    chart::{Svg, sparkline},
    format::{PageTime, shorten, thousands},
    frame::{Frame, redirect_back, render},
    list_head::{ListHead, answer_failure_search},
    page_error::PageResult,
    search::FAILURE_CONDITIONS,
    viewer::{Editor, Viewer},
};
use crate::{
    api,
    body::{self, Body, Id, Params},
    limits,
    problem::Problem,
    query_fields,
};

#[derive(Template)]
#[template(path = "failures.html")]
struct FailuresPage {
    frame: Frame,
    head: ListHead,
    rows: Vec<FailureRow>,
    shown: Option<FailureRow>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    shows_tenants: bool,
}

/// A group in a table.
pub struct FailureRow {
    pub body: FailureGroupBody,
    /// The query string by which jobs and this page find it.
    pub address: String,
    /// Class, status and pattern.
    pub sentence: String,
    pub count: String,
    /// How many jobs failed so, with their noun.
    pub jobs: String,
    pub dead_letters: String,
    pub chip: &'static str,
    pub hours: Svg,
    pub first_seen: PageTime,
    pub last_seen: PageTime,
    /// Kinds and destinations.
    pub origin: String,
}

/// The query string of the group of a failure.
pub fn failure_address(fingerprint: FailureFingerprint, tenant: impl Display) -> String {
    format!("fingerprint={fingerprint}&tenant={tenant}")
}

impl FailureRow {
    pub fn of(group: FailureGroup, frame: &Frame) -> Self {
        let body = FailureGroupBody::new(group, frame.now);
        let sentence = match body.fingerprint {
            FailureFingerprint::OTHER => "all other failures".to_owned(),
            _ => shorten(&body.sentence(), limits::CELL_CHARS_MAX),
        };
        let origins = body.kinds.iter().chain(&body.destinations);
        let origin: Vec<&str> = origins.map(String::as_str).collect();
        Self {
            address: failure_address(body.fingerprint, &body.tenant),
            sentence,
            count: thousands(body.count),
            jobs: match body.jobs {
                1 => "1 job".to_owned(),
                jobs => format!("{} jobs", thousands(jobs)),
            },
            dead_letters: thousands(body.dead_letters),
            chip: match body.state {
                FailureState::New => "chip-retrying",
                FailureState::Known => "chip-scheduled",
                FailureState::Fixed => "chip-succeeded",
                FailureState::Regressed => "chip-failed",
            },
            hours: sparkline(&body.hours),
            first_seen: frame.time(body.first_seen),
            last_seen: frame.time(body.last_seen),
            origin: shorten(&origin.join(", "), limits::CELL_CHARS_MAX),
            body,
        }
    }
}

pub async fn page(viewer: Viewer) -> PageResult {
    if let Some(answer) = answer_failure_search(&viewer).await? {
        return Ok(answer);
    }
    let fields = &viewer.fields;
    let conditions = fields.conditions(FAILURE_CONDITIONS);
    let filters = conditions.iter().cloned();
    let filters = filters.map(|(name, value)| (name.into(), value.into()));
    let query: FailureQuery = query_fields::read(filters).map_err(Problem::from)?;
    let filter = api::failures::filter(&query, &viewer.caller)?;
    let client = &viewer.app.client;
    let frame = Frame::of(&viewer, "/failures", "Failures");
    let shown = match fields.get("fingerprint") {
        Some(text) => {
            let fingerprint: FailureFingerprint = text.parse()?;
            let found = client.failures_of(fingerprint, filter.tenant.as_ref(), 1);
            let found = found.await?.pop();
            Some(found.ok_or_else(|| Problem::not_found(text.to_owned()))?)
        }
        None => None,
    };
    let page = fields.page::<FailureCursor>()?;
    let has_after = page.after.is_some();
    // One group is shown alone.
    let listed = match shown {
        Some(_) => None,
        None => Some(client.failures(filter, page).await?),
    };
    let here = |changes: &[(&str, &str)]| fields.here("/failures", changes);
    let (groups, next) = listed.map_or((Vec::new(), None), |page| (page.items, page.next));
    let row = |group| FailureRow::of(group, &frame);
    let rows: Vec<FailureRow> = groups.into_iter().map(row).collect();
    let destinations = rows.iter().flat_map(|row| row.body.destinations.clone());
    render(&FailuresPage {
        head: ListHead::of_failures(&viewer, &conditions, destinations).await?,
        rows,
        shown: shown.map(row),
        next: next.map(|next| here(&[("after", &next.to_string())])),
        first: has_after.then(|| here(&[("after", "")])),
        back: here(&[]),
        shows_tenants: viewer.caller.tenant.is_none(),
        frame,
    })
}

/// Calls the API's own function, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let Editor { viewer, form } = editor;
    let app = State(viewer.app.clone());
    let fingerprint = Id(form.value("fingerprint").to_owned());
    let query = Params(TenantQuery {
        tenant: form.get("tenant").map(str::to_owned),
    });
    let request = json!({"state": form.value("action")}).to_string();
    let request = Body(body::parse(request.as_bytes())?);
    api::failures::mark(app, writes, fingerprint, query, request).await?;
    let back = form.get("back").unwrap_or("/failures");
    Ok(redirect_back(back, "mark", None))
}
