//! Failures by cause: a table of groups, and one of them in detail.

use askama::Template;
use axum::extract::State;
use serde_json::json;
use steadfast_api::{FailureQuery, TenantQuery};
use steadfast_core::FailureFingerprint;
use steadfast_store::FailureCursor;

use crate::{
    api,
    dashboard::{
        actions::redirect_back,
        parts::{
            failure_row::FailureRow,
            job_list_header::{JobListHeader, answer_failure_search},
            search::FAILURE_CONDITIONS,
        },
        viewer::{Editor, Viewer},
    },
    extract::body::{self, Body, Id, Params},
    http::{problem::Problem, query_fields},
    theme::{
        layout::{Layout, render},
        page_error::PageResult,
    },
};

#[derive(Template)]
#[template(path = "lists/failures.html")]
struct FailuresPage {
    layout: Layout,
    header: JobListHeader,
    rows: Vec<FailureRow>,
    shown: Option<FailureRow>,
    next: Option<String>,
    first: Option<String>,
    back: String,
    shows_tenants: bool,
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
    let filter = api::work::failures::filter(&query, &viewer.caller)?;
    let client = &viewer.app.client;
    let layout = viewer.layout("/failures", "Failures");
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
    let row = |group| FailureRow::of(group, &layout);
    let rows: Vec<FailureRow> = groups.into_iter().map(row).collect();
    let destinations = rows.iter().flat_map(|row| row.body.destinations.clone());
    render(&FailuresPage {
        header: JobListHeader::of_failures(&viewer, &conditions, destinations).await?,
        rows,
        shown: shown.map(row),
        next: next.map(|next| here(&[("after", &next.to_string())])),
        first: has_after.then(|| here(&[("after", "")])),
        back: here(&[]),
        shows_tenants: viewer.caller.tenant.is_none(),
        layout,
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
    api::work::failures::mark(app, writes, fingerprint, query, request).await?;
    let back = form.get("back").unwrap_or("/failures");
    Ok(redirect_back(back, "mark", None))
}
