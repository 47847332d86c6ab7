//! Failures by cause: a table of groups, and one of them in detail.

use askama::Template;
use serde_json::json;
use steadfast_api::{FailureQuery, TenantQuery};
use steadfast_core::FailureFingerprint;
use steadfast_store::{FailureCursor, Page};

use crate::{
    api::work::failures,
    dashboard::{
        page::{Editor, Layout, List, PageResult, Viewer, done, render},
        parts::{
            FailureRow, JobListHeader, job_list_header::answer_failure_search,
            search::FAILURE_CONDITIONS,
        },
    },
    extract::{Id, Params, body::from_json},
    http::{Problem, query_fields},
};

#[derive(Template)]
#[template(path = "lists/failures.html")]
struct FailuresPage {
    layout: Layout,
    header: JobListHeader,
    list: List<FailureRow>,
    shown: Option<FailureRow>,
    back: String,
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
    let filter = failures::filter(&query, &viewer.caller)?;
    let client = &viewer.app.client;
    let layout = viewer.layout("/failures", "Failures");
    let shown = match fields.get("fingerprint") {
        Some(text) => {
            let fingerprint: FailureFingerprint = text.parse()?;
            let found = client.failures_of(fingerprint, filter.tenant.as_ref(), 1);
            let found = found.await?.pop();
            let found = found.ok_or_else(|| Problem::not_found(text.to_owned()))?;
            Some(viewer.caller.redact_group(found))
        }
        None => None,
    };
    let page = fields.page::<FailureCursor>();
    // One group is shown alone.
    let listed = match shown {
        Some(_) => Page {
            items: Vec::new(),
            next: None,
        },
        None => {
            viewer
                .caller
                .failures(&viewer.app, filter.clone(), page.clone())
                .await?
        }
    };
    let row = |group| FailureRow::of(group, &layout);
    let list = List::page(("/failures", fields), &page, listed, row);
    let rows = list.rows.iter();
    let destinations = rows.flat_map(|row| row.body.destinations.clone());
    render(&FailuresPage {
        header: JobListHeader::of_failures(&viewer, &conditions, filter, destinations).await?,
        list,
        shown: shown.map(row),
        back: fields.here("/failures", &[]),
        layout,
    })
}

/// Calls the API's own function, so that the same rules hold.
pub async fn act(editor: Editor) -> PageResult {
    let writes = editor.writes();
    let form = editor.form;
    let fingerprint = Id(form.value("fingerprint").to_owned());
    let query = Params(TenantQuery {
        tenant: form.get("tenant").map(str::to_owned),
    });
    let request = from_json(&json!({"state": form.value("action")}))?;
    failures::mark(writes, fingerprint, query, request).await?;
    done(form.get("back").unwrap_or("/failures"), "mark")
}
